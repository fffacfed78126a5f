//! Tests of requests through a gateway: the bytes that replicas receive, and the bytes that clients receive.

use super::common::{BlockingService, VERSIONS, Version, get, serve};
use super::plain_client::PlainClient;
use super::running::{Running, text};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Incoming;
use serde_json::json;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use tower_service::Service;

type Frames = StreamBody<tokio_stream::Iter<std::vec::IntoIter<Result<Frame<Bytes>, Infallible>>>>;

/// Service that answers with a description of the request: method, address, fields and body.
#[derive(Clone)]
struct Mirror;

impl Service<Request<Incoming>> for Mirror {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.expect("a body").to_bytes();
            let mut told = format!("{} {}\n", parts.method, parts.uri);
            for (name, value) in &parts.headers {
                told += &format!("{name}: {}\n", value.to_str().expect("text"));
            }
            told += &format!("{} bytes\n", body.len());
            let mut answer = Response::new(Full::from(told));
            answer
                .headers_mut()
                .insert("x-mine", "kept".parse().expect("a value"));
            Ok(answer)
        })
    }
}

async fn mirrors(version: Version) -> [SocketAddr; 2] {
    [serve(version, Mirror).await, serve(version, Mirror).await]
}

fn word(version: Version) -> &'static str {
    match version {
        Version::One => "http1",
        Version::Two => "http2",
    }
}

#[tokio::test]
async fn every_protocol_at_either_side_carries_the_host_the_fields_and_the_body() {
    for behind in VERSIONS {
        let keys = json!({ "protocol": word(behind), "forwarded": "forwarded" });
        let gateway = Running::start(&mirrors(behind).await, keys).await;
        for before in VERSIONS {
            let request = Request::put("http://shop.example/a%20b?c=d")
                .header("host", "shop.example")
                .header("x-more", "1")
                .body(Full::from("body"))
                .expect("a request");
            let answer = gateway.send(before, request).await;
            assert_eq!(answer.status(), StatusCode::OK);
            assert_eq!(answer.headers()["x-mine"], "kept");
            let told = text(answer).await;
            let first = match behind {
                Version::One => "PUT /a%20b?c=d\nhost: shop.example\n",
                Version::Two => "PUT http://shop.example/a%20b?c=d\n",
            };
            assert!(told.starts_with(first), "{told}");
            for part in [
                "x-more: 1\n",
                "forwarded: for=127.0.0.1;proto=http\n",
                "4 bytes\n",
            ] {
                assert!(told.contains(part), "{part:?} in {told}");
            }
        }
    }
}

#[tokio::test]
async fn a_large_upload_is_handed_on_as_it_comes_and_asked_once() {
    for version in VERSIONS {
        let gateway = Running::start(
            &mirrors(version).await,
            json!({ "protocol": word(version) }),
        )
        .await;
        let body = Full::from(vec![7; 1 << 20]);
        let request = Request::post("http://a/")
            .header("host", "a")
            .body(body)
            .expect("a request");
        let told = text(gateway.send(version, request).await).await;
        assert!(told.contains("1048576 bytes"), "{told}");
        let page = gateway.gateway.metrics();
        assert!(
            page.contains("tailcut_gateway_copies_total{route=\"test\"} 0\n"),
            "{page}"
        );
    }
}

#[tokio::test]
async fn the_answer_to_head_tells_a_length_and_has_no_body() {
    for version in VERSIONS {
        let gateway = Running::start(
            &mirrors(version).await,
            json!({ "protocol": word(version) }),
        )
        .await;
        for before in VERSIONS {
            let mut request = get("/");
            *request.method_mut() = Method::HEAD;
            let answer = gateway.send(before, request).await;
            let length = answer.headers()["content-length"].to_str().expect("text");
            assert!(length.parse::<u64>().expect("a number") > 10, "{length}");
            assert_eq!(text(answer).await, "");
        }
    }
}

/// Service whose answers end with trailers.
#[derive(Clone)]
struct Trailing;

impl Service<Request<Incoming>> for Trailing {
    type Response = Response<Frames>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<Incoming>) -> Self::Future {
        let mut trailers = HeaderMap::new();
        trailers.insert("x-sum", "42".parse().expect("a value"));
        let frames = vec![
            Ok(Frame::data(Bytes::from_static(b"data"))),
            Ok(Frame::trailers(trailers)),
        ];
        let mut answer = Response::new(StreamBody::new(tokio_stream::iter(frames)));
        answer
            .headers_mut()
            .insert("trailer", "x-sum".parse().expect("a value"));
        std::future::ready(Ok(answer))
    }
}

#[tokio::test]
async fn trailers_arrive() {
    for behind in VERSIONS {
        let replicas = [serve(behind, Trailing).await, serve(behind, Trailing).await];
        let gateway = Running::start(&replicas, json!({ "protocol": word(behind) })).await;
        for before in VERSIONS {
            let mut request = get("/");
            request
                .headers_mut()
                .insert("te", "trailers".parse().expect("a value"));
            let answer = gateway.send(before, request).await;
            let body = answer.into_body().collect().await.expect("a body");
            let sum = body.trailers().and_then(|trailers| trailers.get("x-sum"));
            assert_eq!(sum.expect("a trailer"), "42", "{behind:?} {before:?}");
        }
    }
}

/// Sends a request to both replicas, and lets the first one answer.
async fn answered_while_both_have_it(
    client: &mut PlainClient,
    fast: &BlockingService,
    slow: &BlockingService,
) {
    let answer = tokio::spawn(client.call(get("/both")));
    fast.until(|seen| seen.began.len() == 1).await;
    slow.until(|seen| seen.began.len() == 1).await;
    fast.allow(1);
    let answer = answer.await.expect("no panic").expect("an answer");
    assert_eq!(text(answer).await, "/both");
}

#[tokio::test]
async fn a_request_is_answered_by_the_faster_replica_and_dropped_at_the_other() {
    for version in VERSIONS {
        let (fast, slow) = (BlockingService::new(), BlockingService::new());
        let replicas = [
            serve(version, fast.clone()).await,
            serve(version, slow.clone()).await,
        ];
        let keys = json!({ "protocol": word(version), "purges": "yes" });
        let gateway = Running::start(&replicas, keys).await;
        let mut client = gateway.connect(version).await;
        answered_while_both_have_it(&mut client, &fast, &slow).await;
        slow.until(|seen| seen.dropped == ["/both"]).await;
    }
}

#[tokio::test]
async fn with_http1_the_slower_replica_may_end_its_answer_for_as_long_as_linger_says() {
    for (linger, ends) in [("0ms", false), ("1h", true)] {
        let (fast, slow) = (BlockingService::new(), BlockingService::new());
        let replicas = [
            serve(Version::One, fast.clone()).await,
            serve(Version::One, slow.clone()).await,
        ];
        let keys = json!({ "purges": "yes", "linger": linger });
        let gateway = Running::start(&replicas, keys).await;
        let mut client = gateway.connect(Version::One).await;
        answered_while_both_have_it(&mut client, &fast, &slow).await;
        if ends {
            slow.allow(1);
            slow.until(|seen| seen.ended == ["/both"]).await;
        } else {
            slow.until(|seen| seen.dropped == ["/both"]).await;
        }
    }
}

#[tokio::test]
async fn a_client_that_leaves_takes_its_request_and_its_copy_along() {
    for version in VERSIONS {
        let (one, other) = (BlockingService::new(), BlockingService::new());
        let replicas = [
            serve(version, one.clone()).await,
            serve(version, other.clone()).await,
        ];
        let keys = json!({ "protocol": word(version), "purges": "yes" });
        let gateway = Running::start(&replicas, keys).await;
        let mut client = gateway.connect(version).await;
        let answer = tokio::spawn(client.call(get("/left")));
        one.until(|seen| seen.began.len() == 1).await;
        other.until(|seen| seen.began.len() == 1).await;
        answer.abort();
        one.until(|seen| seen.dropped == ["/left"]).await;
        other.until(|seen| seen.dropped == ["/left"]).await;
    }
}

#[tokio::test]
async fn a_request_of_low_urgency_is_not_copied() {
    let gateway = Running::start(&mirrors(Version::One).await, json!({ "purges": "yes" })).await;
    let mut request = get("/");
    request
        .headers_mut()
        .insert("priority", "u=6".parse().expect("a value"));
    let told = text(gateway.send(Version::One, request).await).await;
    assert!(told.contains("priority: u=6\n"), "{told}");
    let page = gateway.gateway.metrics();
    assert!(
        page.contains("tailcut_gateway_copies_total{route=\"test\"} 0\n"),
        "{page}"
    );
}
