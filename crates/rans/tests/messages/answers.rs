//! Answers of a service as bytes, and the answers that clients get.

use super::stage::{Stage, ask, fixed};
use serde_json::json;

#[tokio::test]
async fn an_answer_that_is_chunked_and_has_a_length_arrives_whole() {
    // RFC 9112, section 6.3: Transfer-Encoding overrides Content-Length.
    for length in ["3", "10"] {
        let answer = match length {
            "3" => {
                "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
            }
            _ => {
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 10\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
            }
        };
        let stage = Stage::before(fixed(answer).await, json!({}), json!({})).await;
        for (name, at) in stage.both() {
            let found = ask(at, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
            assert_eq!(found.status(), 200, "{name} {length}");
            assert!(found.body.contains("hello"), "{name} {length}: {found:?}");
            assert_eq!(
                found.field("content-length"),
                None,
                "{name} {length}: {found:?}"
            );
        }
    }
}
