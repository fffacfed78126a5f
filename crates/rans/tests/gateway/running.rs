//! Gateway on its own ports, and clients that use no code of this project.

use super::common::{Version, get};
use super::plain_client::PlainClient;
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use tailcut_proxy::Running as _;
use tailcut_proxy::config::Draft;
use tailcut_rans::gateway::{Gateway, GatewayConfig};
use tower_service::Service;

/// Returns a configuration with one route, "test", to these replicas. `more` contains further keys of the route.
pub fn config(replicas: &[SocketAddr], more: &Value) -> GatewayConfig {
    let replicas: Vec<String> = replicas.iter().map(SocketAddr::to_string).collect();
    let mut route = json!({ "name": "test", "listen": "127.0.0.1:0", "replicas": replicas });
    for (key, value) in more.as_object().expect("a table") {
        route[key] = value.clone();
    }
    let whole = json!({ "routes": [route], "admin": false });
    let draft = Draft::of_text("a test", Path::new(""), &whole.to_string());
    GatewayConfig::read(&draft.expect("JSON")).expect("a configuration")
}

/// Running gateway with one route.
pub struct Running {
    pub gateway: Gateway,
    pub address: SocketAddr,
}

impl Running {
    pub async fn start(replicas: &[SocketAddr], more: Value) -> Self {
        let gateway = Gateway::start(&config(replicas, &more)).await;
        let gateway = gateway.expect("a gateway");
        let address = gateway.address("test").expect("a route");
        Self { gateway, address }
    }

    pub async fn connect(&self, version: Version) -> PlainClient {
        PlainClient::to(version, self.address).await
    }

    pub async fn send(
        &self,
        version: Version,
        request: Request<Full<Bytes>>,
    ) -> Response<Incoming> {
        let mut client = self.connect(version).await;
        client.call(request).await.expect("an answer")
    }

    /// Returns the body of an answer with status 200.
    pub async fn text(&self, version: Version, path: &str) -> String {
        let answer = self.send(version, get(path)).await;
        assert_eq!(answer.status(), StatusCode::OK);
        text(answer).await
    }

    /// Returns the value of a metric. `name` is the text before the value, with labels.
    pub fn metric(&self, name: &str) -> f64 {
        let page = self.gateway.metrics();
        let line = page.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|rest| rest.trim().parse().ok());
        value.unwrap_or_else(|| panic!("no {name} in {page}"))
    }
}

pub async fn text(answer: Response<Incoming>) -> String {
    let body = answer.into_body().collect().await.expect("a body");
    String::from_utf8(body.to_bytes().to_vec()).expect("text")
}
