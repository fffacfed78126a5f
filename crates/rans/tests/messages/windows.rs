//! Clients that do not take their answers.

use super::http2::{frame, get, literal};
use super::stage::{Stage, ask, mirror};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const RST_STREAM: u8 = 3;
const PING: u8 = 6;

#[tokio::test]
async fn a_window_of_zero_is_given_up_stream_by_stream_and_pings_do_not_help() {
    let limits = json!({ "stall_timeout": "300ms" });
    let keys = json!({ "workers": 2, "limits": limits });
    let stage = Stage::before(mirror().await, keys, json!({ "limits": limits })).await;
    for (name, at) in stage.both() {
        let mut stream = TcpStream::connect(at).await.expect("a listener");
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        // SETTINGS_INITIAL_WINDOW_SIZE is 0.
        bytes.extend(frame(4, 0, 0, &[0, 4, 0, 0, 0, 0]));
        let block: Vec<u8> = get(&[], &[]).iter().flat_map(literal).collect();
        for id in [1, 3] {
            bytes.extend(frame(1, 5, id, &block));
        }
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
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
        bytes.extend(frame(4, 0, 0, &[]));
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
