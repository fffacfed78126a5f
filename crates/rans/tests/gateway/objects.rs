//! Tests of objects in ranges whose origin sends digests: a client must never receive wrong bytes.

use super::common::{VERSIONS, Version, get, serve};
use super::running::Running;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};
use tower_service::Service;

/// Digest that the origin sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SentDigest {
    Nothing,
    Right,
    Wrong,
}

/// Server of one object of 200,000 bytes. It sends the object as a whole or in ranges.
#[derive(Clone)]
struct Origin(SentDigest);

fn object() -> Bytes {
    (0..200_000_u32).map(|at| (at % 251) as u8).collect()
}

impl Service<Request<Incoming>> for Origin {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        let all = object();
        let range = request.headers().get(header::RANGE);
        let range = range.and_then(|range| range.to_str().ok()?.strip_prefix("bytes="));
        let (from, to) = match range.and_then(|range| range.split_once('-')) {
            None => (0, all.len()),
            Some(("", last)) => (all.len() - last.parse::<usize>().expect("one"), all.len()),
            Some((first, last)) => {
                let [first, last] = [first, last].map(|text| text.parse::<usize>());
                (first.expect("one"), (last.expect("one") + 1).min(all.len()))
            }
        };
        let mut answer = Response::builder().header(header::ETAG, "\"one\"");
        if range.is_some() {
            let told = format!("bytes {from}-{}/{}", to - 1, all.len());
            answer = answer
                .status(StatusCode::PARTIAL_CONTENT)
                .header(header::CONTENT_RANGE, told);
        }
        let digest = match self.0 {
            SentDigest::Nothing => None,
            SentDigest::Right => Some(Sha256::digest(&all)),
            SentDigest::Wrong => Some(Sha256::digest(b"another object")),
        };
        if let Some(digest) = digest {
            let told = format!("sha-256=:{}:", STANDARD.encode(digest));
            answer = answer.header("repr-digest", told);
        }
        let body = Full::from(all.slice(from..to));
        ready(Ok(answer.body(body).expect("an answer")))
    }
}

#[tokio::test]
async fn an_object_is_refused_without_a_digest_that_is_required_and_cut_where_it_is_wrong() {
    for version in VERSIONS {
        for (verify, told, arrives) in [
            ("off", SentDigest::Wrong, true),
            ("offered", SentDigest::Nothing, true),
            ("offered", SentDigest::Right, true),
            ("offered", SentDigest::Wrong, false),
            ("required", SentDigest::Right, true),
            ("required", SentDigest::Wrong, false),
        ] {
            let replicas = [
                serve(Version::One, Origin(told)).await,
                serve(Version::One, Origin(told)).await,
            ];
            let keys = json!({ "ranges": "64KiB", "verify": verify, "purges": "yes" });
            let gateway = Running::start(&replicas, keys).await;
            let answer = gateway.send(version, get("/object")).await;
            assert_eq!(answer.status(), StatusCode::OK);
            let body = answer.into_body().collect().await;
            let body = body.map(|body| body.to_bytes() == object());
            assert_eq!(body.ok(), arrives.then_some(true), "{verify} {told:?}");
        }
        let replicas = [serve(Version::One, Origin(SentDigest::Nothing)).await];
        let keys = json!({ "ranges": "64KiB", "verify": "required" });
        let gateway = Running::start(&replicas, keys).await;
        let answer = gateway.send(version, get("/object")).await;
        assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    }
}
