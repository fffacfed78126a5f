//! Clients that do not take their answers.

use super::http2::{begin, frame, get, literal, status};
use super::stage::{Stage, answer, ask, mirror, read_frame};
use serde_json::json;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const PING: u8 = 6;
/// SETTINGS_INITIAL_WINDOW_SIZE is 0.
const NO_WINDOW: &[u8] = &[0, 4, 0, 0, 0, 0];

/// Returns the beginning of a connection with these requests, whose client takes no answer.
fn requests_without_a_window(ids: impl IntoIterator<Item = u32>) -> Vec<u8> {
    let mut bytes = begin(NO_WINDOW);
    let block: Vec<u8> = get(&[], &[]).iter().flat_map(literal).collect();
    for id in ids {
        bytes.extend(frame(HEADERS, 5, id, &block));
    }
    bytes
}

#[tokio::test]
async fn a_window_of_zero_is_given_up_stream_by_stream_and_pings_do_not_help() {
    let limits = json!({ "stall_timeout": "300ms" });
    let keys = json!({ "workers": 2, "limits": limits });
    let stage = Stage::before(mirror().await, keys, json!({ "limits": limits })).await;
    for (name, at) in stage.both() {
        let mut stream = TcpStream::connect(at).await.expect("a listener");
        let bytes = requests_without_a_window([1, 3]);
        stream.write_all(&bytes).await.expect("sent");
        let mut reset = Vec::new();
        // The client answers pings, and sends some itself, until both streams are reset.
        while reset.len() < 2 {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await.expect("a frame");
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            stream.read_exact(&mut payload).await.expect("a frame");
            match head[3] {
                RST_STREAM => reset.push(head[8]),
                PING if head[4] & 1 == 0 => {
                    let pong = frame(PING, 1, 0, &payload);
                    stream.write_all(&pong).await.expect("sent");
                }
                _ => {}
            }
            let ping = frame(PING, 0, 0, &[0; 8]);
            stream.write_all(&ping).await.expect("sent");
        }
        reset.sort_unstable();
        assert_eq!(reset, [1, 3], "{name}");
        let found = ask(at, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert_eq!(found.status(), 200, "{name}");
    }
}

#[tokio::test]
async fn pings_keep_no_connection_open_without_requests() {
    let limits = json!({ "idle_timeout": "300ms" });
    let keys = json!({ "limits": limits });
    let stage = Stage::before(mirror().await, keys.clone(), keys).await;
    for (name, at) in stage.both() {
        let mut stream = TcpStream::connect(at).await.expect("a listener");
        let mut bytes = begin(&[]);
        let block: Vec<u8> = get(&[], &[]).iter().flat_map(literal).collect();
        bytes.extend(frame(1, 5, 1, &block));
        bytes.extend(frame(PING, 0, 0, &[0; 8]));
        stream.write_all(&bytes).await.expect("sent");
        let mut pongs = 0;
        let mut head = [0; 9];
        // The client sends the next ping when the last one is answered, until the connection ends.
        while stream.read_exact(&mut head).await.is_ok() {
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            if stream.read_exact(&mut payload).await.is_err() {
                break;
            }
            if (head[3], head[4]) == (PING, 1) {
                pongs += 1;
                if stream.write_all(&frame(PING, 0, 0, &[0; 8])).await.is_err() {
                    break;
                }
            }
        }
        assert!(pongs > 0, "{name}");
    }
}

/// A client reads nothing of a long answer over HTTP/1.1. Its worker serves another client afterwards.
#[tokio::test]
async fn a_client_that_does_not_read_gives_its_worker_back() {
    let limits = json!({ "stall_timeout": "300ms" });
    let keys = json!({ "workers": 1, "limits": limits });
    let stage = Stage::before(mirror().await, keys, json!({ "limits": limits })).await;
    // The answer is as long as the request, and longer than the buffers of all sockets.
    let long = "x".repeat(32 << 20);
    for (name, at) in stage.both() {
        let mut stream = TcpStream::connect(at).await.expect("a listener");
        let head = format!(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
            long.len()
        );
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream.write_all(long.as_bytes()).await.expect("sent");
        // The first byte shows that the worker sends its answer.
        assert_eq!(stream.read_u8().await.expect("an answer"), b'H', "{name}");
        let found = ask(at, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert_eq!(found.status(), 200, "{name}");
        drop(stream);
    }
}

/// A client takes all places of a gateway and none of its answers. Another client gets a place immediately.
#[tokio::test]
async fn a_client_that_takes_all_places_loses_one_when_another_client_comes() {
    let gateway = json!({ "limits": { "pending": 8 } });
    let stage = Stage::before(mirror().await, json!({}), gateway).await;
    let mut stream = connect_from_elsewhere(stage.gateway).await;
    let bytes = requests_without_a_window((1..16).step_by(2));
    stream.write_all(&bytes).await.expect("sent");
    // Each answer begins, since a head needs no window.
    let mut begun = 0;
    while begun < 8 {
        let (kind, ..) = read_frame(&mut stream).await;
        begun += usize::from(kind == HEADERS);
    }
    for number in 0..4 {
        let found = ask(stage.gateway, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert_eq!(found.status(), 200, "{number}");
    }
    while read_frame(&mut stream).await.0 != RST_STREAM {}
}

/// A client begins more requests with a body than a guard reads at the same time.
/// The guard still reads the body of another client.
#[tokio::test]
async fn bodies_that_do_not_come_keep_no_other_client_from_its_request() {
    let stage = Stage::mirror().await;
    let block: Vec<u8> = get(&[(":method", "POST")], &[])
        .iter()
        .flat_map(literal)
        .collect();
    let mut flood = Vec::new();
    for _ in 0..2 {
        let mut stream = connect_from_elsewhere(stage.guard).await;
        let mut bytes = begin(&[]);
        for number in 0..600 {
            bytes.extend(frame(1, 4, 2 * number + 1, &block));
        }
        stream.write_all(&bytes).await.expect("sent");
        flood.push(stream);
    }
    // The first refusal shows that all places are taken.
    let refused = loop {
        let (kind, _, payload) = read_frame(&mut flood[1]).await;
        if kind == HEADERS {
            break status(&payload);
        }
    };
    assert_eq!(refused, 503);
    let request = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy";
    for number in 0..4 {
        assert_eq!(ask(stage.guard, request).await.status(), 200, "{number}");
    }
}

/// 50 clients take all workers of a guard, wait for further ones, and take none of their answers.
/// Another client still gets a worker when its turn comes.
#[tokio::test]
async fn clients_that_take_no_answer_give_their_workers_to_another_client() {
    let guard = json!({ "yield_timeout": "50ms" });
    let stage = Stage::before(mirror().await, guard, json!({})).await;
    let mut flood = Vec::new();
    for number in 0..50 {
        let mut stream = connect_from(2 + number, stage.guard).await;
        let bytes = requests_without_a_window((1..16).step_by(2));
        stream.write_all(&bytes).await.expect("sent");
        flood.push(stream);
    }
    // The first answer shows that workers are taken.
    while read_frame(&mut flood[0]).await.0 != HEADERS {}
    for number in 0..3 {
        let found = ask(stage.guard, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert_eq!(found.status(), 200, "{number}: {found:?}");
    }
}

/// A client occupies the only worker with a body that does not come. Another client gets the worker.
#[tokio::test]
async fn a_body_that_stops_gives_its_worker_to_another_client() {
    let guard = json!({ "workers": 1, "buffer": 0, "yield_timeout": "50ms" });
    let stage = Stage::before(mirror().await, guard, json!({})).await;
    let mut silent = connect_from_elsewhere(stage.guard).await;
    let request = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nx";
    silent.write_all(request).await.expect("sent");
    let requests = async {
        loop {
            let found = ask(stage.guard, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert_eq!(found.status(), 200);
        }
    };
    tokio::select! {
        refused = answer(&mut silent) => assert_eq!(refused.status(), 503),
        () = requests => {}
    }
}

/// Connects from another address than the other clients of these tests.
async fn connect_from_elsewhere(to: SocketAddr) -> TcpStream {
    connect_from(2, to).await
}

/// Connects from an address of this machine that ends with `last`.
async fn connect_from(last: u8, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    let address = SocketAddr::from(([127, 0, 0, last], 0));
    socket.bind(address).expect("an address");
    socket.connect(to).await.expect("a listener")
}
