//! Servers of one object over connections in memory. Each server can have a fault.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body::{Body, Frame};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tower_service::Service;

/// Fault of a server.
#[derive(Clone, PartialEq, Debug)]
pub enum Trouble {
    None,
    /// Each answer begins after this time.
    Late(Duration),
    NeverAnswers,
    /// Each body ends with a reset after this number of bytes.
    Resets(usize),
    /// Each body stops after this number of bytes.
    Stalls(usize),
    /// Each body ends after this number of bytes, as if it were complete.
    Short(usize),
    /// Each body contains this number of bytes in addition to the requested range.
    Long(usize),
    Weak,
    NoTag,
    OtherTag,
    IgnoresRanges,
    Compresses,
    /// Value of `Content-Range`.
    Says(&'static str),
    Status(u16),
    /// Tag of one object with the bytes of another object. Digests match the sent bytes.
    OtherBytes,
    /// One wrong bit in each part. Digests match the correct bytes.
    Flips,
    /// Another object, beginning with the request that has this number.
    Replaced(usize),
    /// Bytes that are not HTTP. The server sends only these.
    Raw(Vec<u8>),
}

#[derive(Clone, Debug, Default)]
pub struct ReceivedRequest {
    pub range: Option<String>,
    pub priority: Option<HeaderValue>,
    pub if_match: bool,
}

/// Server of one object.
#[derive(Clone, Debug)]
pub struct Origin {
    pub object: Bytes,
    pub trouble: Trouble,
    /// Whether the server sends digests.
    pub digests: bool,
    pub is_http2: bool,
    pub requests: Arc<Mutex<Vec<ReceivedRequest>>>,
    /// Number of bytes of bodies that clients have received.
    pub sent: Arc<Mutex<usize>>,
}

impl Origin {
    pub fn new(object: &Bytes, is_http2: bool, trouble: Trouble) -> Self {
        Self {
            object: object.clone(),
            trouble,
            digests: false,
            is_http2,
            requests: Arc::default(),
            sent: Arc::default(),
        }
    }

    pub fn sent(&self) -> usize {
        *self.sent.lock().expect("a lock")
    }

    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.requests.lock().expect("a lock").clone()
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Sends>, Infallible> {
        let field = |name| request.headers().get(name).cloned();
        let range = field(header::RANGE).map(|value| value.to_str().expect("text").to_owned());
        let received = ReceivedRequest {
            range: range.clone(),
            priority: field(http::HeaderName::from_static("priority")),
            if_match: field(header::IF_MATCH).is_some(),
        };
        let count = {
            let mut all = self.requests.lock().expect("a lock");
            all.push(received);
            all.len()
        };
        match self.trouble {
            Trouble::Late(by) => tokio::time::sleep(by).await,
            Trouble::NeverAnswers => std::future::pending().await,
            _ => {}
        }
        let is_replaced = matches!(self.trouble, Trouble::Replaced(from) if count >= from);
        let is_other = is_replaced || self.trouble == Trouble::OtherTag;
        let mut bytes = self.object.to_vec();
        if is_other || self.trouble == Trouble::OtherBytes {
            bytes.iter_mut().for_each(|byte| *byte ^= 0x55);
        }
        let bytes = Bytes::from(bytes);
        let tag = match &self.trouble {
            Trouble::Weak => "W/\"one\"",
            _ if is_other => "\"two\"",
            _ => "\"one\"",
        };
        let mut answer = Response::new(());
        let headers = answer.headers_mut();
        if self.trouble != Trouble::NoTag {
            headers.insert(header::ETAG, HeaderValue::from_static(tag));
        }
        if self.digests {
            add_digest(headers, "repr-digest", &bytes);
        }
        if self.trouble == Trouble::Compresses {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        let if_match = field(header::IF_MATCH);
        if if_match.is_some_and(|wanted| wanted != tag || self.trouble == Trouble::Weak) {
            *answer.status_mut() = StatusCode::PRECONDITION_FAILED;
            return Ok(answer.map(|()| Sends::new(Bytes::new(), self)));
        }
        if let Trouble::Status(status) = self.trouble {
            *answer.status_mut() = StatusCode::from_u16(status).expect("a status");
            return Ok(answer.map(|()| Sends::new(Bytes::from_static(b"no\n"), self)));
        }
        let ignores = self.trouble == Trouble::IgnoresRanges;
        let (from, to) = match range.filter(|_| !ignores) {
            None => (0, bytes.len()),
            Some(range) if begins_after(&range, bytes.len()) => {
                *answer.status_mut() = StatusCode::RANGE_NOT_SATISFIABLE;
                return Ok(answer.map(|()| Sends::new(Bytes::new(), self)));
            }
            Some(range) => {
                let (first, last) = range
                    .strip_prefix("bytes=")
                    .and_then(|range| range.split_once('-'))
                    .expect("a range");
                let number = |text: &str| text.parse::<usize>().expect("a number");
                let (from, to) = match first {
                    "" => (bytes.len().saturating_sub(number(last)), bytes.len()),
                    _ => (number(first), (number(last) + 1).min(bytes.len())),
                };
                *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
                let content_range = format!("bytes {from}-{}/{}", to - 1, bytes.len());
                let content_range = match self.trouble {
                    Trouble::Says(content_range) => content_range,
                    _ => &content_range,
                };
                let content_range = HeaderValue::from_str(content_range).expect("a value");
                answer
                    .headers_mut()
                    .insert(header::CONTENT_RANGE, content_range);
                (from, to)
            }
        };
        let mut part = bytes.slice(from..to);
        if self.digests {
            add_digest(answer.headers_mut(), "content-digest", &part);
        }
        if self.trouble == Trouble::Flips && !part.is_empty() {
            let mut flipped = part.to_vec();
            let middle = flipped.len() / 2;
            flipped[middle] ^= 1;
            part = flipped.into();
        }
        if let Trouble::Long(by) = self.trouble {
            part = [&part[..], &vec![0; by][..]].concat().into();
        }
        Ok(answer.map(|()| Sends::new(part, self)))
    }
}

/// Returns whether a range begins after the end of an object.
fn begins_after(range: &str, length: usize) -> bool {
    let range = range.strip_prefix("bytes=");
    let first = range.and_then(|range| range.split_once('-')?.0.parse::<usize>().ok());
    length == 0 || first.is_some_and(|first| first >= length)
}

fn add_digest(headers: &mut HeaderMap, name: &'static str, bytes: &[u8]) {
    let digest = STANDARD.encode(Sha256::digest(bytes));
    let digest = format!("sha-256=:{digest}:");
    headers.insert(name, HeaderValue::from_str(&digest).expect("a value"));
}

/// Body in pieces of 1,000 bytes. It announces no length, so its real length can be wrong.
pub struct Sends {
    pieces: VecDeque<Bytes>,
    done: usize,
    of: Origin,
}

impl Sends {
    fn new(bytes: Bytes, of: Origin) -> Self {
        let pieces = bytes.chunks(1_000).map(Bytes::copy_from_slice).collect();
        let done = 0;
        Self { pieces, done, of }
    }
}

impl Body for Sends {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.of.trouble {
            Trouble::Resets(after) if self.done >= after => {
                return Poll::Ready(Some(Err("a reset")));
            }
            Trouble::Short(after) if self.done >= after => return Poll::Ready(None),
            // A stalled body never wakes its reader.
            Trouble::Stalls(after) if self.done >= after => return Poll::Pending,
            _ => {}
        }
        let piece = self.pieces.pop_front();
        let length = piece.as_ref().map_or(0, Bytes::len);
        self.done += length;
        *self.of.sent.lock().expect("a lock") += length;
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }
}

impl Origin {
    async fn serve(self, stream: DuplexStream) {
        if let Trouble::Raw(bytes) = &self.trouble {
            let mut stream = stream;
            let mut request = vec![0; 1 << 12];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(bytes).await;
            return;
        }
        let is_http2 = self.is_http2;
        let answering = service_fn(move |request| self.clone().answer(request));
        let stream = TokioIo::new(stream);
        // Clients of these tests disconnect on purpose, so errors are ignored.
        let _ = match is_http2 {
            false => {
                let serving = hyper::server::conn::http1::Builder::new();
                serving.serve_connection(stream, answering).await
            }
            true => {
                let mut serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                let serving = serving.timer(TokioTimer::new());
                serving.serve_connection(stream, answering).await
            }
        };
    }
}

impl Service<Request<Empty<Bytes>>> for Origin {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = hyper::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Opens one connection for each request.
    fn call(&mut self, request: Request<Empty<Bytes>>) -> Self::Future {
        let origin = self.clone();
        Box::pin(async move {
            let (near, far) = tokio::io::duplex(1 << 11);
            let is_http2 = origin.is_http2 && !matches!(origin.trouble, Trouble::Raw(_));
            tokio::spawn(origin.serve(far));
            let near = TokioIo::new(near);
            if is_http2 {
                let runtime = TokioExecutor::new();
                let opened = hyper::client::conn::http2::handshake(runtime, near).await;
                let (mut sender, connection) = opened?;
                tokio::spawn(connection);
                return sender.send_request(request).await;
            }
            let (mut sender, connection) = hyper::client::conn::http1::handshake(near).await?;
            tokio::spawn(connection);
            sender.send_request(request).await
        })
    }
}
