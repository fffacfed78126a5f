//! Tests of replicas whose names cannot be resolved.

use super::common::{BlockingService, Version, serve};
use super::programs::{Logged, dir};
use http::StatusCode;
use serde_json::json;

/// The domain `invalid` has no names (RFC 6761, section 6.4).
const NOWHERE: &str = "nowhere.invalid:80";

#[tokio::test]
async fn a_gateway_starts_although_a_name_cannot_be_resolved_and_the_other_replica_answers() {
    let service = BlockingService::new();
    service.allow(1_000);
    let works = serve(Version::One, service).await.to_string();
    let gateway = Logged::gateway(dir(), &[NOWHERE.to_owned(), works], json!({})).await;
    for _ in 0..5 {
        assert_eq!(gateway.get("/").await.status(), StatusCode::OK);
    }
    let unresolved = format!("replica_unresolved{{route=\"test\",replica=\"{NOWHERE}\"}} 1");
    assert!(gateway.program.metrics().contains(&unresolved));
    let is_it =
        |line: &serde_json::Value| line["message"] == "the name of a replica cannot be resolved";
    // The first line comes from the start, and the next ones from the attempts that follow.
    let first = gateway.until_error(is_it).await;
    assert_eq!(first["replica"], NOWHERE);
    assert!(first["error"].is_string());
    let time = first["timestamp"].clone();
    gateway
        .until_error(|line| is_it(line) && line["timestamp"] != time)
        .await;
}

#[tokio::test]
async fn a_gateway_without_any_address_answers_that_no_replica_can_be_reached() {
    let gateway = Logged::gateway(dir(), &[NOWHERE.to_owned()], json!({})).await;
    let answer = gateway.get("/").await;
    assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    let (access, _) = gateway.stop().await;
    assert_eq!(access[0]["reason"], "unreachable");
}
