//! Tests of routes that share a listener.

use super::common::{BlockingService, Version, get, serve};
use super::plain_client::PlainClient;
use super::programs::{Logged, dir, routes};
use http::{Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use tailcut_proxy::Running as _;
use tailcut_proxy::config::Draft;
use tailcut_rans::gateway::GatewayConfig;
use tower_service::Service as _;

/// Returns an address whose port is free at this moment.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address")
}

async fn replica() -> (BlockingService, String) {
    let service = BlockingService::new();
    let address = serve(Version::One, service.clone()).await;
    (service, address.to_string())
}

fn began(services: &[&BlockingService]) -> usize {
    let counts = services
        .iter()
        .map(|service| service.seen.borrow().began.len());
    counts.sum()
}

#[tokio::test]
async fn each_path_has_its_own_policy_of_copies() {
    let ((one, one_at), (two, two_at)) = (replica().await, replica().await);
    let listen = free().to_string();
    let replicas = json!([one_at, two_at]);
    let all = json!([
        {
            "name": "orders", "listen": listen, "replicas": replicas, "match": { "path": "/orders" },
            "purges": "yes", "duplicates": "off",
        },
        { "name": "test", "listen": listen, "replicas": replicas, "purges": "yes" },
    ]);
    let gateway = Logged::with_routes(dir(), all).await;
    one.allow(100);
    two.allow(100);
    for _ in 0..10 {
        assert_eq!(gateway.get("/orders/7").await.status(), StatusCode::OK);
    }
    assert_eq!(began(&[&one, &two]), 10);
    let (access, _) = gateway.stop().await;
    assert!(
        access
            .iter()
            .all(|line| line["route"] == "orders" && line["copies"] == 0)
    );
}

#[tokio::test]
async fn a_request_goes_to_the_first_route_whose_conditions_it_fulfils() {
    let mut services = Vec::new();
    let listen = free().to_string();
    let mut all = Vec::new();
    for (name, matching) in [
        ("tenant", json!({ "header": "x-tenant: blue" })),
        ("host", json!({ "host": "*.shop.example", "method": "GET" })),
        ("test", json!({ "path": "/all" })),
    ] {
        let (service, at) = replica().await;
        service.allow(100);
        services.push(service);
        all.push(json!({ "name": name, "listen": listen, "replicas": [at], "match": matching }));
    }
    let gateway = Logged::with_routes(dir(), Value::from(all)).await;
    let ask = |method: &str, host: &str, path: &str, tenant: &str| {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", host);
        request
            .header("x-tenant", tenant)
            .body(Full::default())
            .expect("a request")
    };
    for (request, route, status) in [
        (ask("GET", "a.shop.example", "/all", "blue"), "tenant", 200),
        (ask("GET", "a.shop.example:80", "/all", "red"), "host", 200),
        (ask("POST", "a.shop.example", "/all", "red"), "test", 200),
        (ask("GET", "other.example", "/all/a", "red"), "test", 200),
        (ask("GET", "other.example", "/allow", "red"), "none", 404),
    ] {
        assert_eq!(gateway.send(request).await.status(), status, "{route}");
    }
    let page = gateway.program.metrics();
    for route in ["tenant", "host"] {
        let metric = format!("requests_total{{route=\"{route}\",status=\"2xx\"}} 1");
        assert!(page.contains(&metric), "{page}");
    }
    let (access, _) = gateway.stop().await;
    let found: Vec<_> = access.iter().map(|line| line["route"].as_str()).collect();
    let expected = ["tenant", "host", "test", "test", "none"].map(Some);
    assert_eq!(found, expected);
    assert_eq!(access[4]["reason"], "no-route");
}

#[tokio::test]
async fn a_reload_changes_the_routes_of_an_open_listener() {
    let ((one, one_at), (two, two_at)) = (replica().await, replica().await);
    one.allow(100);
    two.allow(100);
    let listen = free().to_string();
    let of_all = json!({ "name": "test", "listen": listen, "replicas": [one_at] });
    let mut gateway = Logged::with_routes(dir(), json!([of_all])).await;
    let mut client = PlainClient::to(Version::Two, gateway.address).await;
    client.call(get("/new")).await.expect("an answer");
    let new = json!({
        "name": "new", "listen": listen, "replicas": [two_at], "match": { "path": "/new" },
    });
    let both = routes(gateway.dir.path(), &json!([new, of_all]));
    gateway.program.reload(&both).await.expect("reloaded");
    // The same connection uses the new route.
    client.call(get("/new")).await.expect("an answer");
    client.call(get("/old")).await.expect("an answer");
    assert_eq!(one.seen.borrow().began, ["/new", "/old"]);
    assert_eq!(two.seen.borrow().began, ["/new"]);
    assert_eq!(
        gateway.program.address("test"),
        gateway.program.address("new")
    );
}

#[test]
fn a_route_that_would_never_be_chosen_and_a_second_tls_are_refused() {
    let read = |first: &str, second: &str| {
        let text = format!(
            "[[routes]]\nname = \"a\"\nlisten = 1\nreplicas = [2]\n{first}\n\
             [[routes]]\nname = \"b\"\nlisten = 1\nreplicas = [2]\n{second}\n"
        );
        let draft = Draft::of_text("f", Path::new(""), &text).expect("TOML");
        GatewayConfig::read(&draft).map_err(|error| error.to_string())
    };
    let matching = "match.path = \"/a\"";
    assert!(read(matching, "").is_ok());
    let never = read("", matching).expect_err("never chosen");
    assert!(
        never.starts_with("f:8:10: \"routes[1].listen\" is 1"),
        "{never}"
    );
    let limits = read(matching, "limits.streams = 5").expect_err("a second limit");
    assert!(
        limits.contains("\"routes[1].limits.streams\" is 5"),
        "{limits}"
    );
    assert!(
        limits.contains("only in the first route of an address"),
        "{limits}"
    );
    for key in ["proxy_protocol = true", "listen_mode = \"660\""] {
        let refused = read(matching, key).expect_err("a key of the listener");
        assert!(
            refused.contains("only in the first route of an address"),
            "{refused}"
        );
    }
    assert!(read("proxy_protocol = true\nmatch.path = \"/a\"", "").is_ok());
    assert!(read(matching, "limits.pending = 5").is_ok());
}
