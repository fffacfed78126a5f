//! A gateway on ports of its own, and clients without anything of ours.

use super::common::{Version, get};
use super::way::Way;
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

/// A configuration of one route, named "test", to some replicas. `more` has other keys.
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

/// A gateway of one route.
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

    pub async fn way(&self, version: Version) -> Way {
        Way::to(version, self.address).await
    }

    pub async fn ask(&self, version: Version, request: Request<Full<Bytes>>) -> Response<Incoming> {
        let mut way = self.way(version).await;
        way.call(request).await.expect("an answer")
    }

    /// The body of an answer with 200.
    pub async fn text(&self, version: Version, path: &str) -> String {
        let answer = self.ask(version, get(path)).await;
        assert_eq!(answer.status(), StatusCode::OK);
        text(answer).await
    }

    /// The value of a metric, by the text before it.
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
