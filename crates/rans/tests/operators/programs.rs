//! Guards and gateways with their logs in files.

use super::common::{Version, get};
use super::plain_client::PlainClient;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;
use tailcut_proxy::Running;
use tailcut_proxy::config::Draft;
use tailcut_rans::gateway::{Gateway, GatewayConfig};
use tailcut_rans::guard::program::{Program, ProgramConfig};
use tempfile::TempDir;
use tower_service::Service as _;

/// Time after which an expected event counts as missing. It is far beyond the delays of a busy machine.
const LONGEST: Duration = Duration::from_secs(60);

/// Program with its logs.
pub struct Logged<P> {
    pub program: P,
    pub address: SocketAddr,
    pub dir: TempDir,
}

fn with(mut keys: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().expect("a table") {
        keys[key] = value.clone();
    }
    keys
}

fn draft(dir: &Path, keys: Value) -> Draft {
    let log = json!({
        "access": "access.log", "errors": "errors.log", "format": "json", "level": "debug",
    });
    let whole = with(json!({ "admin": false, "log": log }), &keys);
    Draft::of_text("a test", dir, &whole.to_string()).expect("JSON")
}

/// Returns the configuration of a gateway with the routes `routes`.
pub fn routes(dir: &Path, routes: &Value) -> GatewayConfig {
    let draft = draft(dir, json!({ "routes": routes }));
    GatewayConfig::read(&draft).expect("a configuration")
}

impl Logged<Gateway> {
    /// Starts a gateway with one route that listens at the address in `keys`.
    pub async fn gateway_with(
        dir: TempDir,
        replicas: &[String],
        keys: Value,
    ) -> (Gateway, TempDir) {
        let route = json!([with(json!({ "name": "test", "replicas": replicas }), &keys)]);
        let config = routes(dir.path(), &route);
        (Gateway::start(&config).await.expect("a gateway"), dir)
    }

    /// Starts a gateway with one route, "test". Paths in `keys` are relative to `dir`.
    pub async fn gateway(dir: TempDir, replicas: &[String], keys: Value) -> Self {
        let route = json!({ "name": "test", "listen": "127.0.0.1:0", "replicas": replicas });
        Self::with_routes(dir, json!([with(route, &keys)])).await
    }

    /// Starts a gateway whose first route is "test".
    pub async fn with_routes(dir: TempDir, all: Value) -> Self {
        let config = routes(dir.path(), &all);
        let program = Gateway::start(&config).await.expect("a gateway");
        let address = program.address("test").expect("a route");
        Self {
            program,
            address,
            dir,
        }
    }
}

impl Logged<Program> {
    /// Starts a guard that listens at the address in `keys`.
    pub async fn guard_with(dir: TempDir, keys: Value) -> (Program, TempDir) {
        let draft = draft(dir.path(), with(json!({ "workers": 1 }), &keys));
        let config = ProgramConfig::read(&draft).expect("a configuration");
        (Program::start(&config).await.expect("a guard"), dir)
    }

    /// Starts a guard in front of a service.
    pub async fn guard(dir: TempDir, service: SocketAddr, keys: Value) -> Self {
        let all = json!({ "listen": "127.0.0.1:0", "to": service.to_string(), "workers": 1 });
        let draft = draft(dir.path(), with(all, &keys));
        let config = ProgramConfig::read(&draft).expect("a configuration");
        let program = Program::start(&config).await.expect("a guard");
        let lines = program.addresses(&config);
        let address = lines[0].split(' ').next().and_then(|at| at.parse().ok());
        let address = address.expect("an address");
        Self {
            program,
            address,
            dir,
        }
    }
}

impl<P: Running> Logged<P> {
    /// Sends a request, and reads its answer to the end.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Response<String> {
        let mut client = PlainClient::to(Version::One, self.address).await;
        let answer = client.call(request).await.expect("an answer");
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        Response::from_parts(parts, String::from_utf8_lossy(&body).into_owned())
    }

    pub async fn get(&self, path: &str) -> Response<String> {
        self.send(get(path)).await
    }

    /// Waits until the error log contains a line that fulfils a condition.
    pub async fn until_error(&self, is_it: impl Fn(&Value) -> bool) -> Value {
        until(|| {
            lines(self.dir.path(), "errors.log")
                .into_iter()
                .find(&is_it)
        })
        .await
    }

    /// Stops the program. Returns the lines of its access log and of its error log.
    pub async fn stop(self) -> (Vec<Value>, Vec<Value>) {
        self.program.stop().await;
        let [access, errors] =
            ["access.log", "errors.log"].map(|name| lines(self.dir.path(), name));
        (access, errors)
    }
}

/// Waits for a value.
pub async fn until<T>(look: impl Fn() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = look() {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let found = tokio::time::timeout(LONGEST, looking).await;
    found.expect("the expected event")
}

/// Returns the whole lines of a log.
pub fn lines(dir: &Path, name: &str) -> Vec<Value> {
    let text = fs::read_to_string(dir.join(name)).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let lines = whole
        .lines()
        .map(|line| serde_json::from_str(line).expect(line));
    lines.collect()
}

pub fn dir() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

/// Writes the files `NAME.pem` and `NAME.key`, with a certificate for the host `host`.
pub fn write_certificate(dir: &Path, name: &str, host: &str, is_expired: bool) {
    let mut params = rcgen::CertificateParams::new(vec![host.to_owned()]).expect("a name");
    if is_expired {
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    }
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    fs::write(dir.join(format!("{name}.pem")), certificate.pem()).expect("written");
    let path = dir.join(format!("{name}.key"));
    fs::write(&path, key.serialize_pem()).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("set");
}
