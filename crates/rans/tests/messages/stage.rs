//! Guard and gateway in front of one service, and clients that write bytes.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tailcut_proxy::Running as _;
use tailcut_proxy::config::Draft;
use tailcut_rans::gateway::{Gateway, GatewayConfig};
use tailcut_rans::guard::program::{Program, ProgramConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Time after which a request counts as not answered. It is far beyond the delays of a busy machine.
const LONGEST: Duration = Duration::from_secs(30);

/// Guard and gateway in front of one service.
pub struct Stage {
    pub guard: SocketAddr,
    pub gateway: SocketAddr,
    _running: (Program, Gateway),
}

impl Stage {
    /// Starts a guard and a gateway in front of a service. `guard` and `gateway` contain keys of their configurations.
    pub async fn before(service: SocketAddr, guard: Value, gateway: Value) -> Self {
        let draft = |whole: Value| {
            Draft::of_text("a test", Path::new(""), &whole.to_string()).expect("JSON")
        };
        let with = |mut keys: Value, more: Value| {
            for (key, value) in more.as_object().expect("a table") {
                keys[key] = value.clone();
            }
            keys
        };
        let keys = json!({
            "listen": "127.0.0.1:0", "to": service.to_string(), "workers": 8, "admin": false,
        });
        let config = ProgramConfig::read(&draft(with(keys, guard))).expect("a configuration");
        let program = Program::start(&config).await.expect("a guard");
        let lines = program.addresses(&config);
        let guard = lines[0].split(' ').next().and_then(|at| at.parse().ok());
        let route = json!({
            "name": "test", "listen": "127.0.0.1:0", "replicas": [service.to_string()],
        });
        let whole = json!({ "admin": false, "routes": [with(route, gateway)] });
        let config = GatewayConfig::read(&draft(whole)).expect("a configuration");
        let gateway = Gateway::start(&config).await.expect("a gateway");
        Self {
            guard: guard.expect("an address"),
            gateway: gateway.address("test").expect("a route"),
            _running: (program, gateway),
        }
    }

    /// Starts a guard and a gateway in front of a service that answers with its request.
    pub async fn mirror() -> Self {
        Self::before(mirror().await, json!({}), json!({})).await
    }

    /// Addresses of guard and gateway.
    pub fn both(&self) -> [(&'static str, SocketAddr); 2] {
        [("guard", self.guard), ("gateway", self.gateway)]
    }
}

/// Starts a service that answers with its request: method, target, fields, body and trailers.
pub async fn mirror() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let serving = hyper::server::conn::http1::Builder::new();
            let connection = serving.serve_connection(TokioIo::new(stream), service_fn(reflect));
            tokio::spawn(connection);
        }
    });
    address
}

async fn reflect(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let mut text = format!("{} {}\n", parts.method, parts.uri);
    for (name, value) in &parts.headers {
        text += &format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()));
    }
    if let Ok(body) = body.collect().await {
        for (name, value) in body.trailers().into_iter().flatten() {
            text += &format!(
                "trailer {name}: {}\n",
                String::from_utf8_lossy(value.as_bytes())
            );
        }
        text += &format!("body {:?}\n", String::from_utf8_lossy(&body.to_bytes()));
    }
    Ok(Response::new(Full::from(text)))
}

/// Starts a service that reads a head, sends these bytes, and closes the connection when its client does.
pub async fn fixed(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                if read_head(&mut stream).await.is_some() {
                    let _ = stream.write_all(answer.as_bytes()).await;
                    let _ = stream.read_to_end(&mut Vec::new()).await;
                }
            });
        }
    });
    address
}

/// Reads a head to its empty line. Returns `None` if the connection ends before.
pub async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    // Single bytes are read, so that the bytes after the head stay unread.
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// Answer as bytes: head and body, or what arrived of them before the connection ended.
#[derive(Default, Debug)]
pub struct RawAnswer {
    pub head: String,
    pub body: String,
}

impl RawAnswer {
    pub fn status(&self) -> u16 {
        let status = self.head.split(' ').nth(1);
        status.and_then(|status| status.parse().ok()).unwrap_or(0)
    }

    pub fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.find_map(|(known, value)| known.eq_ignore_ascii_case(name).then_some(value))
    }
}

/// Sends bytes on a new connection and reads one answer.
pub async fn ask(at: SocketAddr, request: &[u8]) -> RawAnswer {
    let mut stream = TcpStream::connect(at).await.expect("a listener");
    // A server may refuse a request before all of it was sent.
    let _ = stream.write_all(request).await;
    // An empty answer fails the case. Without a limit, the test would never end.
    let answering = tokio::time::timeout(LONGEST, answer(&mut stream)).await;
    answering.unwrap_or_default()
}

/// Reads one answer. A body without a length ends with the connection.
pub async fn answer(stream: &mut TcpStream) -> RawAnswer {
    let Some(head) = read_head(stream).await else {
        return RawAnswer::default();
    };
    if head.starts_with("HTTP/1.1 1") {
        return Box::pin(answer(stream)).await;
    }
    let mut answer = RawAnswer {
        head,
        body: String::new(),
    };
    let mut body = Vec::new();
    let length = answer.field("content-length").map(str::parse);
    match (length, answer.field("transfer-encoding")) {
        (Some(Ok(length)), _) => {
            body.resize(length, 0);
            let _ = stream.read_exact(&mut body).await;
        }
        (_, Some("chunked")) => {
            while !body.ends_with(b"0\r\n\r\n") {
                match stream.read_u8().await {
                    Ok(byte) => body.push(byte),
                    Err(_) => break,
                }
            }
        }
        _ => {
            let _ = stream.read_to_end(&mut body).await;
        }
    }
    answer.body = String::from_utf8_lossy(&body).into_owned();
    answer
}

/// Reads the next HTTP/2 frame. Returns its kind, its stream, and its payload.
pub async fn read_frame(stream: &mut TcpStream) -> (u8, u32, Vec<u8>) {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.expect("a frame");
    let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
    stream.read_exact(&mut payload).await.expect("a frame");
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    (head[3], stream, payload)
}
