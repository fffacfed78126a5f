//! Tests of unary gRPC calls that are hedged.

use super::common::{Version, serve};
use super::programs::{Logged, dir};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt as _;
use http_body_util::combinators::BoxBody;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use tailcut_rans::gateway::Gateway;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tower_service::Service;

/// Message of gRPC with three bytes.
const MESSAGE: &[u8] = b"\0\0\0\0\x03abc";

/// Body without a length. It ends when its sender is dropped.
struct Parts(mpsc::UnboundedReceiver<Frame<Bytes>>);

impl Parts {
    /// Returns a body that begins with a message, and its sender.
    fn begin() -> (mpsc::UnboundedSender<Frame<Bytes>>, Self) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let sent = sender.send(Frame::data(Bytes::from_static(MESSAGE)));
        sent.expect("a receiver");
        (sender, Self(receiver))
    }
}

impl Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|frame| frame.map(Ok))
    }
}

/// Server of gRPC that answers each call in the same way.
#[derive(Clone)]
struct Server {
    /// Code of an answer without a message. `None`: the answer has a message and trailers.
    code: Option<(&'static str, Option<&'static str>)>,
    /// Fields of the calls that arrived.
    calls: Arc<Mutex<Vec<HeaderMap>>>,
}

impl Service<Request<Incoming>> for Server {
    type Response = Response<BoxBody<Bytes, hyper::Error>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Incoming>) -> Self::Future {
        self.calls
            .lock()
            .expect("a lock")
            .push(request.headers().clone());
        let code = self.code;
        Box::pin(async move {
            let answer = Response::builder().header("content-type", "application/grpc");
            let Some((code, pushback)) = code else {
                // The answer is the message of the call.
                let (sender, receiver) = mpsc::unbounded_channel();
                let mut body = request.into_body();
                tokio::spawn(async move {
                    while let Some(Ok(frame)) = body.frame().await {
                        let _ = sender.send(frame);
                    }
                    let fields = [("grpc-status", "0"), ("x-cost", "7")];
                    let trailers = fields.map(|(name, value)| {
                        (
                            name.parse().expect("a name"),
                            HeaderValue::from_static(value),
                        )
                    });
                    let _ = sender.send(Frame::trailers(trailers.into_iter().collect()));
                });
                let body = Parts(receiver).map_err(|never| match never {}).boxed();
                return Ok(answer.body(body).expect("an answer"));
            };
            let mut answer = answer.header("grpc-status", code);
            if let Some(pushback) = pushback {
                answer = answer.header("grpc-retry-pushback-ms", pushback);
            }
            let nothing = http_body_util::Empty::new().map_err(|never| match never {});
            Ok(answer.body(nothing.boxed()).expect("an answer"))
        })
    }
}

/// Starts servers with these codes, and a gateway that may repeat their calls.
async fn start(
    codes: [Option<(&'static str, Option<&'static str>)>; 2],
    more: Value,
) -> ([Server; 2], Logged<Gateway>) {
    let servers = codes.map(|code| Server {
        code,
        calls: Arc::default(),
    });
    let mut replicas = Vec::new();
    for server in &servers {
        replicas.push(serve(Version::Two, server.clone()).await.to_string());
    }
    let mut keys = json!({
        "protocol": "http2", "methods": "all", "elsewhere": "after-percentile", "budget": 100,
    });
    for (key, value) in more.as_object().expect("a table") {
        keys[key] = value.clone();
    }
    (servers, Logged::gateway(dir(), &replicas, keys).await)
}

async fn call(gateway: &Logged<Gateway>, body: Parts) -> Response<Incoming> {
    let stream = TcpStream::connect(gateway.address)
        .await
        .expect("a gateway");
    // Clients of gRPC switch Nagle's algorithm off. With it the end of the body would come much later than the message.
    stream.set_nodelay(true).expect("set");
    let opening = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (mut client, connection) = opening.expect("a connection");
    tokio::spawn(connection);
    let request = Request::post("http://a/shop.Orders/Get")
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(body);
    let answering = client.send_request(request.expect("a request"));
    answering.await.expect("an answer")
}

/// Makes a unary call. Returns its message, and its code and cost from the head or the trailers.
async fn unary(gateway: &Logged<Gateway>) -> (Bytes, String) {
    let (_, body) = Parts::begin();
    let answer = call(gateway, body).await;
    assert_eq!(answer.status(), 200);
    let head = answer.headers().clone();
    let whole = answer.into_body().collect().await.expect("a body");
    let trailers = whole.trailers().cloned().unwrap_or(head);
    let code = trailers["grpc-status"].to_str().expect("text").to_owned();
    assert_eq!(trailers.contains_key("x-cost"), code == "0");
    (whole.to_bytes(), code)
}

fn calls(servers: &[Server]) -> Vec<HeaderMap> {
    let calls = servers
        .iter()
        .flat_map(|server| server.calls.lock().expect("a lock").clone());
    calls.collect()
}

#[tokio::test]
async fn a_unary_call_that_one_server_cannot_process_is_answered_by_the_other() {
    let (servers, gateway) = start([Some(("14", None)), None], json!({})).await;
    for _ in 0..4 {
        assert_eq!(
            unary(&gateway).await,
            (Bytes::from_static(MESSAGE), "0".to_owned())
        );
    }
    let (access, _) = gateway.stop().await;
    let repeated = access.iter().filter(|line| line["copies"] == 1).count();
    assert_eq!(calls(&servers).len(), 4 + repeated);
    // Each later attempt says how many came before it.
    let later = calls(&servers).into_iter().filter(|call| {
        call.get("grpc-previous-rpc-attempts")
            .is_some_and(|earlier| earlier == "1")
    });
    assert_eq!(later.count(), repeated);
    let failed = access.iter().filter_map(|line| line["failures"].as_str());
    assert!(
        failed
            .into_iter()
            .all(|failure| failure.ends_with(" grpc-code"))
    );
}

#[tokio::test]
async fn copies_at_once_are_sent_for_a_unary_call_and_not_for_a_stream() {
    let keys = json!({ "purges": "yes", "duplicates": "at-once" });
    let (servers, gateway) = start([None, None], keys).await;
    let (sender, body) = Parts::begin();
    let answer = call(&gateway, body).await;
    // The answer has begun, and the stream goes on.
    assert_eq!(calls(&servers).len(), 1);
    sender
        .send(Frame::data(Bytes::from_static(MESSAGE)))
        .expect("an open stream");
    drop(sender);
    let whole = answer.into_body().collect().await.expect("a body");
    assert_eq!(whole.to_bytes(), [MESSAGE, MESSAGE].concat());
    assert_eq!(unary(&gateway).await.1, "0");
    let (access, _) = gateway.stop().await;
    assert_eq!(
        access
            .iter()
            .map(|line| line["copies"].as_u64())
            .collect::<Vec<_>>(),
        [Some(0), Some(1)]
    );
}

#[tokio::test]
async fn a_fatal_code_and_a_server_that_wants_no_copies_end_the_call() {
    for code in [("5", None), ("14", Some("-1"))] {
        let (servers, gateway) = start([Some(code), Some(code)], json!({})).await;
        assert_eq!(unary(&gateway).await.1, code.0);
        assert_eq!(calls(&servers).len(), 1);
    }
}

#[tokio::test]
async fn copies_stop_while_no_server_processes_calls() {
    let unavailable = Some(("14", None));
    let (servers, gateway) = start([unavailable, unavailable], json!({})).await;
    for _ in 0..10 {
        assert_eq!(unary(&gateway).await.1, "14");
    }
    // Three calls with a copy each take six of the ten tokens.
    assert_eq!(calls(&servers).len(), 13);
}
