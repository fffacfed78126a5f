//! HTTP/2 requests as frames.

use super::stage::Stage;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// End of an exchange, as the client sees it.
#[derive(PartialEq, Eq, Debug)]
enum Outcome {
    /// Answer with this status.
    Status(u16),
    /// The stream was reset.
    Reset,
    /// The connection ended.
    Ended,
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Returns the beginning of a connection: the preface and the settings of the client.
pub fn begin(settings: &[u8]) -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, settings));
    bytes
}

/// Returns a field as a literal without an index (RFC 7541, section 6.2.2).
pub fn literal((name, value): &(&str, &str)) -> Vec<u8> {
    let mut field = vec![0, name.len() as u8];
    field.extend(name.as_bytes());
    field.push(value.len() as u8);
    field.extend(value.as_bytes());
    field
}

/// Returns the status at the start of a block of fields.
pub fn status(block: &[u8]) -> u16 {
    match block {
        // Entries 8 to 14 of the static table (RFC 7541, appendix A).
        [index @ 0x88..=0x8e, ..] => [200, 204, 206, 304, 400, 404, 500][usize::from(index - 0x88)],
        // A literal with the name `:status` and three characters, with Huffman code or without.
        [0x08 | 0x48, 3, digits @ ..] => {
            let text = String::from_utf8_lossy(&digits[..3]);
            text.parse().expect("digits")
        }
        [0x08 | 0x48, 0x82 | 0x83, one, two, three, ..] => {
            huffman(u32::from_be_bytes([*one, *two, *three, 0]))
        }
        _ => panic!("no status in {block:x?}"),
    }
}

/// Decodes three digits of 5 or 6 bits (RFC 7541, appendix B).
fn huffman(mut bits: u32) -> u16 {
    let mut number = 0;
    for _ in 0..3 {
        let (digit, length) = match bits >> 27 {
            digit @ 0..=2 => (digit, 5),
            _ => ((bits >> 26) - 0b01_1001 + 3, 6),
        };
        number = number * 10 + digit as u16;
        bits <<= length;
    }
    number
}

async fn ask(at: SocketAddr, fields: &[(&str, &str)], body: &[u8]) -> (Outcome, String) {
    let mut stream = TcpStream::connect(at).await.expect("a listener");
    let block: Vec<u8> = fields.iter().flat_map(literal).collect();
    let end = u8::from(body.is_empty());
    let mut bytes = begin(&[]);
    bytes.extend(frame(1, 4 | end, 1, &block));
    if end == 0 {
        bytes.extend(frame(0, 1, 1, body));
    }
    stream.write_all(&bytes).await.expect("sent");
    let mut data = Vec::new();
    let mut found = None;
    loop {
        let mut head = [0; 9];
        if stream.read_exact(&mut head).await.is_err() {
            return (Outcome::Ended, String::new());
        }
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        stream.read_exact(&mut payload).await.expect("a frame");
        match head[3] {
            0 => data.extend(&payload),
            1 => found = found.or_else(|| Some(status(&payload))),
            3 => return (Outcome::Reset, String::new()),
            7 => return (Outcome::Ended, String::new()),
            _ => continue,
        }
        if head[4] & 1 == 1 {
            let text = String::from_utf8_lossy(&data).into_owned();
            return (Outcome::Status(found.expect("a head")), text);
        }
    }
}

const GET: [(&str, &str); 4] = [
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/a"),
    (":authority", "good"),
];

/// Returns the fields of a GET. `other` replaces its fields, and the value "none" removes one. `more` is added.
pub fn get<'a>(
    other: &[(&'a str, &'a str)],
    more: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let value = |name: &str| other.iter().find(|(known, _)| *known == name);
    let pseudo = GET.iter().map(|field| *value(field.0).unwrap_or(field));
    pseudo
        .filter(|(_, value)| *value != "none")
        .chain(more.iter().copied())
        .collect()
}

type Case<'a> = (
    &'a str,
    Vec<(&'a str, &'a str)>,
    Outcome,
    &'a [&'a str],
    &'a [&'a str],
);

async fn check(cases: &[Case<'_>]) {
    let stage = Stage::mirror().await;
    let mut wrong = Vec::new();
    for (name, at) in stage.both() {
        for (rfc, fields, expected, sees, lacks) in cases {
            let (found, text) = ask(at, fields, b"").await;
            if found != *expected
                || !sees.iter().all(|line| text.contains(line))
                || lacks.iter().any(|line| text.contains(line))
            {
                wrong.push(format!(
                    "{name}, RFC {rfc}: {fields:?} expected {expected:?}, found {found:?} {text}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn an_http1_service_gets_one_cookie_field() {
    let pieces = [
        ("cookie", "a=1"),
        ("cookie", "b=2"),
        ("x-a", "1"),
        ("cookie", "c=3"),
    ];
    check(&[(
        "9113 8.2.3",
        get(&[], &pieces),
        Outcome::Status(200),
        &["cookie: a=1; b=2; c=3\n", "x-a: 1\n"],
        &["cookie: b=2", "cookie: c=3"],
    )])
    .await;
}

#[tokio::test]
async fn a_request_has_one_authority_and_a_path() {
    use Outcome::{Ended, Reset, Status};
    check(&[
        (
            "9113 8.3.1",
            get(&[], &[]),
            Status(200),
            &["GET /a\n", "host: good\n"],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[(":authority", "none")], &[("host", "h")]),
            Status(200),
            &["host: h\n"],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[], &[("host", "good")]),
            Status(200),
            &["host: good\n"],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[], &[("host", "GOOD:80")]),
            Status(200),
            &["host: good\n"],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[], &[("host", "evil")]),
            Status(400),
            &[],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[], &[("host", "good:81")]),
            Status(400),
            &[],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[], &[("host", "good"), ("host", "good")]),
            Status(400),
            &[],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[(":authority", "none")], &[]),
            Status(400),
            &[],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[(":authority", "u:p@good")], &[]),
            Status(400),
            &[],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[(":authority", "good:x")], &[]),
            Status(400),
            &[],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[(":authority", "good/x?y")], &[]),
            Reset,
            &[],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[(":scheme", "ftp")], &[]),
            Status(400),
            &[],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[(":path", "*")], &[]),
            Status(400),
            &[],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[(":path", "*"), (":method", "OPTIONS")], &[]),
            Status(200),
            &["OPTIONS *\n"],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[(":path", "none")], &[]),
            Reset,
            &[],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[(":scheme", "none")], &[]),
            Reset,
            &[],
            &[],
        ),
        (
            "9113 8.3.1",
            get(&[(":method", "none")], &[]),
            Reset,
            &[],
            &[],
        ),
        ("9113 8.3.1", get(&[(":path", "")], &[]), Reset, &[], &[]),
        (
            "9113 8.5",
            vec![(":method", "CONNECT"), (":authority", "a:1")],
            Status(405),
            &[],
            &[],
        ),
        (
            "9113 8.2.2",
            get(&[], &[("connection", "close")]),
            Reset,
            &[],
            &[],
        ),
        (
            "9113 8.2.2",
            get(&[], &[("transfer-encoding", "chunked")]),
            Reset,
            &[],
            &[],
        ),
        (
            "9113 8.2.2",
            get(&[], &[("upgrade", "websocket")]),
            Reset,
            &[],
            &[],
        ),
        ("9113 8.2.2", get(&[], &[("te", "gzip")]), Reset, &[], &[]),
        (
            "9113 8.2.2",
            get(&[], &[("te", "trailers")]),
            Status(200),
            &["te: trailers\n"],
            &[],
        ),
        ("9113 8.2.1", get(&[], &[("X-Up", "1")]), Ended, &[], &[]),
        (
            "9113 8.2.1",
            get(&[], &[("x", "a\r\nevil: 1")]),
            Ended,
            &[],
            &[],
        ),
        ("9113 8.2.1", get(&[], &[("x", "a\0b")]), Ended, &[], &[]),
        ("9113 8.3", get(&[], &[(":path", "/b")]), Reset, &[], &[]),
        (
            "9113 8.1.1",
            get(&[(":method", "POST")], &[("content-length", "5")]),
            Reset,
            &[],
            &[],
        ),
    ])
    .await;
}
