//! Tests of connections to servers: they are kept, replaced and reopened, and no request is lost when one ends.
#![cfg(feature = "connections")]

mod common;

use bytes::Bytes;
use common::{BlockingService, Version, get, serve};
use http::uri::Authority;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tailcut_rans::client::Once;
use tailcut_rans::connections::{
    CONNECT_TIME, ConnectionBody, ConnectionConfig, ConnectionError, Connections, Connector,
    Protocol,
};
use tailcut_rans::socket::SocketOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tower_service::Service;

type Body = Full<Bytes>;
type TcpConnections = Connections<Connector, Body>;

fn client(version: Version, to: SocketAddr, config: ConnectionConfig) -> TcpConnections {
    let to = Authority::try_from(to.to_string()).expect("an address");
    let connector = Connector::new(to.clone(), SocketOptions::default(), CONNECT_TIME);
    let protocol = match version {
        Version::One => Protocol::One,
        Version::Two => Protocol::Two,
    };
    let config = ConnectionConfig { protocol, ..config };
    Connections::new(connector.expect("a port"), to, config)
}

async fn text(answer: Result<Response<ConnectionBody<Body>>, ConnectionError>) -> String {
    let answer = answer.expect("an answer");
    assert_eq!(answer.status(), StatusCode::OK);
    let body = answer.into_body().collect().await.expect("a body");
    String::from_utf8(body.to_bytes().to_vec()).expect("text")
}

/// Starts a server on a free port. Returns its address and the number of its connections.
async fn counted(version: Version, service: BlockingService) -> (SocketAddr, Arc<AtomicUsize>) {
    let behind = serve(version, service).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let count = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            counting.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let mut far = tokio::net::TcpStream::connect(behind).await.expect("it");
                let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
            });
        }
    });
    (address, count)
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_request() {
    for version in common::VERSIONS {
        let work = BlockingService::new();
        work.allow(20);
        let (address, connections) = counted(version, work).await;
        let mut client = client(version, address, ConnectionConfig::default());
        for number in 0..20 {
            let path = format!("/{number}");
            assert_eq!(text(client.call(get(&path)).await).await, path);
        }
        assert_eq!(connections.load(Ordering::Relaxed), 1, "{version:?}");
    }
}

/// Reads a request from a connection, and returns the request's path.
fn asked_for(stream: &mut BufReader<std::net::TcpStream>) -> String {
    let mut lines = stream.lines().map(|line| line.expect("a line"));
    let first = lines.next().expect("a request");
    assert!(lines.any(|line| line.is_empty()));
    first.split(' ').nth(1).expect("a path").to_owned()
}

fn answer_to(path: &str) -> String {
    let length = path.len();
    format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{path}")
}

#[tokio::test]
async fn a_second_answer_that_came_meanwhile_is_not_taken_for_the_next_ones() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (again, told) = mpsc::channel();
    let (written, has_written) = mpsc::channel();
    let server = std::thread::spawn(move || {
        let mut accepted = listener
            .incoming()
            .map(|stream| BufReader::new(stream.expect("one")));
        let mut first = accepted.next().expect("a connection");
        let path = asked_for(&mut first);
        first
            .get_mut()
            .write_all(answer_to(&path).as_bytes())
            .expect("sent");
        told.recv().expect("a word");
        first
            .get_mut()
            .write_all(answer_to(&path).as_bytes())
            .expect("sent");
        written.send(()).expect("a listener");
        let mut second = accepted.next().expect("a connection");
        let path = asked_for(&mut second);
        second
            .get_mut()
            .write_all(answer_to(&path).as_bytes())
            .expect("sent");
        // The first connection must receive no second request.
        assert_eq!(first.read(&mut [0; 1]).unwrap_or(0), 0);
    });
    let mut client = client(Version::One, address, ConnectionConfig::default());
    assert_eq!(text(client.call(get("/first")).await).await, "/first");
    again.send(()).expect("a server");
    // The receiver blocks this thread without an `await`, so no task can read from the connection meanwhile.
    has_written.recv().expect("a word");
    assert_eq!(text(client.call(get("/second")).await).await, "/second");
    assert_eq!(client.counts().opened, 2);
    server.join().expect("no panic");
}

#[tokio::test]
async fn two_answers_at_once_are_told_apart_at_once() {
    for length in [1, 1_000, 8_000, 20_000] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            let mut number = 0;
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    stream.read_buf(&mut head).await.expect("a request");
                }
                let body = format!("{number}").repeat(length);
                let size = body.len();
                let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {size}\r\n\r\n{body}");
                stream
                    .write_all(text.repeat(2).as_bytes())
                    .await
                    .expect("sent");
                number += 1;
                // The task keeps the connection open.
                tokio::spawn(async move { stream.read(&mut [0; 1_000]).await });
            }
        });
        let mut client = client(Version::One, address, ConnectionConfig::default());
        for number in 0..10 {
            let found = text(client.call(get("/")).await).await;
            assert_eq!(found, format!("{number}").repeat(length));
        }
    }
}

#[tokio::test]
async fn a_loser_whose_answer_is_small_and_comes_in_time_keeps_its_connection() {
    let work = BlockingService::new();
    let (address, connections) = counted(Version::One, work.clone()).await;
    let config = ConnectionConfig {
        linger: Duration::from_secs(3_600),
        ..ConnectionConfig::default()
    };
    let mut client = client(Version::One, address, config);
    for number in 1..=10 {
        let loser = tokio::spawn(client.call(get("/loser")));
        work.until(|seen| seen.began.len() == number).await;
        loser.abort();
        work.allow(1);
        while client.counts().kept < number as u64 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(connections.load(Ordering::Relaxed), 1);
    assert_eq!(client.counts().opened, 1);
    assert!(work.seen.borrow().dropped.is_empty());
}

#[tokio::test]
async fn a_loser_whose_answer_does_not_come_in_time_is_dropped_by_the_server() {
    let work = BlockingService::new();
    let (address, _) = counted(Version::One, work.clone()).await;
    for linger in [Duration::ZERO, Duration::from_millis(1)] {
        let config = ConnectionConfig {
            linger,
            ..ConnectionConfig::default()
        };
        let mut client = client(Version::One, address, config);
        let before = work.seen.borrow().dropped.len();
        let loser = tokio::spawn(client.call(get("/loser")));
        work.until(|seen| seen.began.len() == before + 1).await;
        loser.abort();
        work.until(|seen| seen.dropped.len() == before + 1).await;
        assert_eq!(client.counts().kept, 0);
    }
}

#[tokio::test]
async fn a_large_answer_that_is_left_in_the_middle_costs_its_connection() {
    let body = Body::from(Bytes::from(vec![7; 1 << 26]));
    let service = hyper::service::service_fn(move |_| {
        let answer = Response::new(body.clone());
        async move { Ok::<_, std::convert::Infallible>(answer) }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let config = ConnectionConfig {
        linger: Duration::from_secs(3_600),
        ..ConnectionConfig::default()
    };
    let mut client = client(Version::One, address, config);
    let asked = tokio::spawn(client.call(get("/")));
    let (stream, _) = listener.accept().await.expect("a connection");
    let serving = hyper::server::conn::http1::Builder::new();
    let serving = tokio::spawn(serving.serve_connection(TokioIo::new(stream), service));
    let answer = asked.await.expect("no panic").expect("an answer");
    drop(answer);
    assert!(serving.await.expect("no panic").is_err());
    assert_eq!(client.counts().kept, 0);
}

#[tokio::test]
async fn a_connection_that_was_reset_often_is_replaced_and_what_is_on_it_ends_there() {
    let work = BlockingService::new();
    let (address, connections) = counted(Version::Two, work.clone()).await;
    let config = ConnectionConfig {
        resets: 3,
        ..ConnectionConfig::default()
    };
    let mut client = client(Version::Two, address, config);
    let first = tokio::spawn(client.call(get("/first")));
    work.until(|seen| seen.began.len() == 1).await;
    for purged in 1..=7 {
        let asked = tokio::spawn(client.call(get("/purged")));
        work.until(|seen| seen.began.len() == 1 + purged).await;
        asked.abort();
        work.until(|seen| seen.dropped.len() == purged).await;
    }
    work.allow(2);
    assert_eq!(text(first.await.expect("no panic")).await, "/first");
    assert_eq!(text(client.call(get("/last")).await).await, "/last");
    assert_eq!(connections.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_request_that_is_purged_while_the_connection_opens_leaves_it_to_others() {
    let work = BlockingService::new();
    work.allow(1);
    let (address, connections) = counted(Version::Two, work).await;
    let mut client = client(Version::Two, address, ConnectionConfig::default());
    let purged = tokio::spawn(client.call(get("/purged")));
    let kept = tokio::spawn(client.call(get("/kept")));
    purged.abort();
    assert_eq!(text(kept.await.expect("no panic")).await, "/kept");
    assert_eq!(connections.load(Ordering::Relaxed), 1);
}

/// Starts a server that answers `each` requests on a connection and then sends a GOAWAY.
async fn forgetful(each: usize) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let connections = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            counting.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.expect("HTTP/2");
                let mut count = 0;
                while let Some(Ok((_, mut respond))) = connection.accept().await {
                    count += 1;
                    if count == each {
                        connection.graceful_shutdown();
                    }
                    let answer = Response::new(());
                    let mut body = respond.send_response(answer, false).expect("open");
                    body.send_data(Bytes::from_static(b"here"), true)
                        .expect("open");
                }
            });
        }
    });
    (address, connections)
}

#[tokio::test]
async fn a_goodbye_of_the_server_loses_no_request() {
    let (address, connections) = forgetful(10).await;
    let client = client(Version::Two, address, ConnectionConfig::default());
    let mut asked = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let mut client = client.clone();
        asked.spawn(async move {
            for _ in 0..50 {
                assert_eq!(text(client.call(get("/")).await).await, "here");
            }
        });
    }
    while let Some(ended) = asked.join_next().await {
        ended.expect("no request is lost");
    }
    assert!(connections.load(Ordering::Relaxed) > 10);
}

/// Starts a server that refuses the first stream of each connection.
async fn refusing() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.expect("HTTP/2");
                let mut is_first = true;
                while let Some(Ok((_, mut respond))) = connection.accept().await {
                    if std::mem::take(&mut is_first) {
                        respond.send_reset(h2::Reason::REFUSED_STREAM);
                    } else {
                        respond
                            .send_response(Response::new(()), true)
                            .expect("open");
                    }
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn what_a_server_refuses_unseen_is_sent_again_whatever_it_is() {
    let address = refusing().await;
    let mut client = client(Version::Two, address, ConnectionConfig::default());
    let mut request = get("/");
    *request.method_mut() = http::Method::POST;
    let answer = client.call(request).await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_server_that_answers_no_ping_loses_the_connection_and_its_requests() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let mut silent = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            let mut connection = h2::server::handshake(stream).await.expect("HTTP/2");
            let asked = connection.accept().await.expect("one").expect("a request");
            // The connection stays open, but no task reads from it.
            silent.push((connection, asked));
        }
    });
    let config = ConnectionConfig {
        ping: Duration::from_millis(20),
        ping_time: Duration::from_millis(20),
        ..ConnectionConfig::default()
    };
    let mut client = client(Version::Two, address, config);
    // An idempotent request is sent once more, on another connection.
    for (method, opened) in [
        (http::Method::GET, 2),
        (http::Method::POST, 3),
        (http::Method::GET, 5),
    ] {
        let mut request = get("/");
        *request.method_mut() = method;
        let error = client.call(request).await.expect_err("no answer comes");
        assert!(matches!(error, ConnectionError::Http(_)), "{error}");
        assert_eq!(client.counts().opened, opened);
    }
}

/// Body that sends one part and then stalls.
struct Unfinished(Option<Bytes>);

impl http_body::Body for Unfinished {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        match self.0.take() {
            Some(bytes) => std::task::Poll::Ready(Some(Ok(http_body::Frame::data(bytes)))),
            None => std::task::Poll::Pending,
        }
    }
}

#[tokio::test]
async fn a_server_may_answer_before_it_has_the_whole_request() {
    // The longer body is larger than the window that a server grants before it reads.
    for length in [1, 1 << 20] {
        let work = BlockingService::new();
        work.allow(1);
        let address = serve(Version::Two, work).await;
        let to = Authority::try_from(address.to_string()).expect("an address");
        let connector = Connector::new(to.clone(), SocketOptions::default(), CONNECT_TIME);
        let config = ConnectionConfig {
            protocol: Protocol::Two,
            ..ConnectionConfig::default()
        };
        let mut client = Connections::new(connector.expect("a port"), to, config);
        let body = Once(Unfinished(Some(vec![7; length].into())));
        let request = Request::post("http://service/early").body(body);
        let answer = client.call(request.expect("a request")).await;
        let body = answer.expect("an answer").into_body().collect().await;
        assert_eq!(body.expect("a body").to_bytes(), "/early");
    }
}

#[tokio::test]
async fn nobody_there_is_an_error_and_the_next_request_tries_again() {
    for version in common::VERSIONS {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let mut client = client(version, address, ConnectionConfig::default());
        for _ in 0..2 {
            let error = client.call(get("/")).await.expect_err("no server listens");
            assert!(matches!(error, ConnectionError::Connect(_)), "{error}");
            assert!(error.to_string().starts_with("no connection to the server"));
        }
    }
}

/// Service that answers with the host name in the request.
#[derive(Clone)]
struct Host;

impl Service<Request<hyper::body::Incoming>> for Host {
    type Response = Response<Full<Bytes>>;
    type Error = std::convert::Infallible;
    type Future = std::future::Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<hyper::body::Incoming>) -> Self::Future {
        let told = request.headers().get(http::header::HOST);
        let told = told.map(|host| host.to_str().expect("text").to_owned());
        let authority = request.uri().authority().map(ToString::to_string);
        let said = format!(
            "{} {}",
            told.or(authority).unwrap_or_default(),
            request.uri().path()
        );
        std::future::ready(Ok(Response::new(Full::from(said))))
    }
}

#[tokio::test]
async fn a_request_keeps_its_host_whoever_is_asked() {
    for version in common::VERSIONS {
        let address = serve(version, Host).await;
        let mut client = client(version, address, ConnectionConfig::default());
        let asked = [
            (
                "/a",
                Some("shop.example:81"),
                "shop.example:81 /a".to_owned(),
            ),
            (
                "http://other.example/b?c",
                None,
                "other.example /b".to_owned(),
            ),
            ("/", None, format!("{address} /")),
        ];
        for (uri, host, said) in asked {
            let mut request = Request::get(uri);
            if let Some(host) = host {
                request = request.header(http::header::HOST, host);
            }
            let request = request.body(Full::default()).expect("a request");
            assert_eq!(text(client.call(request).await).await, said, "{version:?}");
        }
    }
}
