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
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tower_service::Service;

/// Digest that the origin sends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SentDigest {
    Nothing,
    Right,
    Wrong,
}

/// Server of one object. It sends the object as a whole or in ranges.
#[derive(Clone)]
struct Origin {
    digest: SentDigest,
    object: Bytes,
    takes_ranges: bool,
    /// Value of `Accept-Encoding` in each request.
    received: Arc<Mutex<Vec<Option<String>>>>,
}

impl Origin {
    fn new(digest: SentDigest) -> Self {
        Self {
            digest,
            object: object(),
            takes_ranges: true,
            received: Arc::default(),
        }
    }
}

/// Returns an object of 200,000 bytes.
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
        let all = self.object.clone();
        let field = |name| {
            let value = request.headers().get(name)?.to_str();
            value.ok().map(str::to_owned)
        };
        let encoding = field(header::ACCEPT_ENCODING);
        self.received.lock().expect("a lock").push(encoding);
        let range = request.headers().get(header::RANGE);
        let range = range.filter(|_| self.takes_ranges);
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
        let digest = match self.digest {
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
                serve(Version::One, Origin::new(told)).await,
                serve(Version::One, Origin::new(told)).await,
            ];
            let keys = json!({ "ranges": "64KiB", "verify": verify, "purges": "yes" });
            let gateway = Running::start(&replicas, keys).await;
            let answer = gateway.send(version, get("/object")).await;
            assert_eq!(answer.status(), StatusCode::OK);
            let body = answer.into_body().collect().await;
            let body = body.map(|body| body.to_bytes() == object());
            assert_eq!(body.ok(), arrives.then_some(true), "{verify} {told:?}");
        }
        let replicas = [serve(Version::One, Origin::new(SentDigest::Nothing)).await];
        let keys = json!({ "ranges": "64KiB", "verify": "required" });
        let gateway = Running::start(&replicas, keys).await;
        let answer = gateway.send(version, get("/object")).await;
        assert_eq!(answer.status(), StatusCode::BAD_GATEWAY);
    }
}

#[tokio::test]
async fn a_digest_that_any_replica_offers_is_checked() {
    for version in VERSIONS {
        for told in [SentDigest::Right, SentDigest::Wrong] {
            let origins = [SentDigest::Nothing, told].map(Origin::new);
            let mut replicas = Vec::new();
            for origin in &origins {
                replicas.push(serve(Version::One, origin.clone()).await);
            }
            // The gateway chooses the replica of the first piece, so several objects have both orders.
            let keys = json!({ "ranges": "64KiB", "verify": "offered" });
            let gateway = Running::start(&replicas, keys).await;
            for _ in 0..8 {
                let answer = gateway.send(version, get("/object")).await;
                assert_eq!(answer.status(), StatusCode::OK);
                let body = answer.into_body().collect().await;
                let is_right = told == SentDigest::Right;
                assert_eq!(body.is_ok(), is_right, "{told:?}");
            }
            for origin in &origins {
                assert!(!origin.received.lock().expect("a lock").is_empty());
            }
        }
    }
}

#[tokio::test]
async fn small_objects_and_servers_without_ranges_get_each_request_once() {
    const REQUESTS: usize = 50;
    for (takes_ranges, size) in [(true, 1_000), (true, 65_536), (false, 200_000)] {
        let origins = [(); 2].map(|()| Origin {
            object: object().slice(..size),
            takes_ranges,
            ..Origin::new(SentDigest::Right)
        });
        let mut replicas = Vec::new();
        for origin in &origins {
            replicas.push(serve(Version::One, origin.clone()).await);
        }
        let keys = json!({
            "ranges": "64KiB",
            "verify": "required",
            "duplicates": "off",
            "elsewhere": "off",
        });
        let gateway = Running::start(&replicas, keys).await;
        let mut client = gateway.connect(Version::One).await;
        for number in 0..REQUESTS {
            let mut request = get(&format!("/{number}"));
            let coding = "gzip, br".parse().expect("a value");
            request
                .headers_mut()
                .insert(header::ACCEPT_ENCODING, coding);
            let answer = client.call(request).await.expect("an answer");
            assert_eq!(answer.status(), StatusCode::OK);
            assert_eq!(answer.headers()["content-length"], size.to_string());
            let says = answer.headers().get(header::ACCEPT_RANGES);
            assert_eq!(says.is_some(), takes_ranges);
            let body = answer.into_body().collect().await.expect("a body");
            assert!(body.to_bytes() == object().slice(..size));
        }
        let received = origins.iter().flat_map(|origin| {
            let received = origin.received.lock().expect("a lock");
            received.clone()
        });
        let received: Vec<_> = received.collect();
        assert_eq!(received, vec![Some("gzip, br".to_owned()); REQUESTS]);
    }
}
