//! Request on an HTTP/2 connection, and its answer. The task that waits for the answer drives the stream itself.
//! hyper's client would need a task and two channels for each request.
//! The task and the channels would cost a fifth of the instructions of a small request.

use super::http2::{Connection, Stream};
use bytes::{Buf, Bytes};
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use http::request::Parts;
use http::{HeaderMap, HeaderName, Method, Request, Response, header};
use http_body::{Body, Frame, SizeHint};
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Header fields that concern one connection (RFC 9113, section 8.2.2). The field `Connection` names further fields.
const CONNECTION_FIELDS: [HeaderName; 4] = [
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Removes the fields that HTTP/2 forbids, and adds the length of the body if it is known.
fn prepare(head: &mut Parts, body: &impl Body) {
    // Without a body, requests with these methods have no `Content-Length` (RFC 9110, section 8.6).
    let has_payload = !matches!(
        head.method,
        Method::GET | Method::HEAD | Method::DELETE | Method::CONNECT
    );
    let headers = &mut head.headers;
    if let Some(named) = headers.remove(header::CONNECTION) {
        for name in named.to_str().unwrap_or_default().split(',') {
            headers.remove(name.trim());
        }
    }
    for name in &CONNECTION_FIELDS {
        headers.remove(name);
    }
    // `te: trailers` is the only value of this field that HTTP/2 allows (RFC 9113, section 8.2.2).
    if headers.get(header::TE).is_some_and(|te| te != "trailers") {
        headers.remove(header::TE);
    }
    if let Some(length) = body.size_hint().exact()
        && (length > 0 || has_payload)
        && !headers.contains_key(header::CONTENT_LENGTH)
    {
        headers.insert(header::CONTENT_LENGTH, length.into());
    }
}

/// Request that waits for its answer. Dropping it resets the stream.
pub(super) struct Http2Request<B> {
    answering: ResponseFuture,
    /// Body that is being sent. `None`: it was sent completely.
    upload: Option<Upload<B>>,
    /// Stream of the request. `None`: the answer or an error has arrived.
    stream: Option<Stream>,
}

impl<B> Http2Request<B>
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// Sends the head of a request. The body is sent while the returned future waits for the answer.
    ///
    /// # Errors
    /// The request cannot be sent on this connection. The error also contains the body.
    pub fn begin(connection: Connection, mut head: Parts, body: B) -> Result<Self, (h2::Error, B)> {
        prepare(&mut head, &body);
        let is_whole = body.is_end_stream();
        let head = Request::from_parts(head, ());
        let (answering, out, stream) = match connection.send(head, is_whole) {
            Ok(sent) => sent,
            Err(error) => return Err((error, body)),
        };
        let upload = (!is_whole).then_some(Upload {
            body,
            out,
            next: None,
        });
        Ok(Self {
            answering,
            upload,
            stream: Some(stream),
        })
    }
}

impl<B> Future for Http2Request<B>
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Output = Result<(Response<Download<B>>, Stream), h2::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // Many servers answer only after they have received the whole body, so the body is sent first.
        send_upload(&mut self.upload, cx);
        let answer = ready!(Pin::new(&mut self.answering).poll(cx));
        let stream = self.stream.take().expect("it has not answered");
        Poll::Ready(match answer {
            Ok(answer) => {
                let (head, body) = answer.into_parts();
                let download = Download::new(&head.headers, body, self.upload.take());
                Ok((Response::from_parts(head, download), stream))
            }
            Err(error) => {
                // The server ended the stream, so it does not count as a reset of this client.
                stream.end();
                Err(error)
            }
        })
    }
}

/// Body of a request that is being sent.
struct Upload<B> {
    body: B,
    out: SendStream<Bytes>,
    /// Bytes that wait for the server's window. The flag is true if they are the last bytes.
    next: Option<(Bytes, bool)>,
}

/// Sends all bytes that can be sent now.
fn send_upload<B>(upload: &mut Option<Upload<B>>, cx: &mut Context<'_>)
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    if let Some(sending) = upload
        && sending.poll(cx).is_ready()
    {
        *upload = None;
    }
}

impl<B> Upload<B>
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    /// Returns ready when no byte is left to send, or when the body failed.
    /// The answer contains the reason of a failure.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            // This call also registers for a wake-up if the server resets the stream.
            if self.out.poll_reset(cx).is_ready() {
                return Poll::Ready(());
            }
            if let Some((bytes, is_last)) = self.next.take() {
                while self.out.capacity() == 0 {
                    match self.out.poll_capacity(cx) {
                        Poll::Ready(Some(Ok(_))) => {}
                        Poll::Ready(_) => return Poll::Ready(()),
                        Poll::Pending => {
                            self.next = Some((bytes, is_last));
                            return Poll::Pending;
                        }
                    }
                }
                if self.out.send_data(bytes, is_last).is_err() || is_last {
                    return Poll::Ready(());
                }
            }
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                Some(Err(_)) => {
                    // The reset shows the server that the body is incomplete.
                    self.out.send_reset(Reason::INTERNAL_ERROR);
                    return Poll::Ready(());
                }
                None => {
                    // The stream may have ended, so the result is ignored.
                    let _ = self.out.send_data(Bytes::new(), true);
                    return Poll::Ready(());
                }
            };
            match frame.into_data() {
                Ok(mut data) => {
                    let bytes = data.copy_to_bytes(data.remaining());
                    let is_last = self.body.is_end_stream();
                    if bytes.is_empty() {
                        if is_last {
                            let _ = self.out.send_data(bytes, true);
                            return Poll::Ready(());
                        }
                        continue;
                    }
                    // Only one byte is reserved. `send_data` reserves the rest.
                    // A request without bytes to send then keeps no part of the connection's window.
                    self.out.reserve_capacity(1);
                    self.next = Some((bytes, is_last));
                }
                Err(other) => {
                    if let Ok(trailers) = other.into_trailers() {
                        // Trailers need no window, so the reserved capacity is released.
                        self.out.reserve_capacity(0);
                        let _ = self.out.send_trailers(trailers);
                        return Poll::Ready(());
                    }
                }
            }
        }
    }
}

/// Body of an answer. Dropping it before its end resets the stream.
pub(super) struct Download<B> {
    recv: RecvStream,
    /// Number of bytes of the answer that have not arrived, if its length is known.
    left: Option<u64>,
    has_data: bool,
    /// Remaining body of the request, if the server answers before it has received the whole body.
    upload: Option<Upload<B>>,
}

impl<B> Download<B> {
    fn new(headers: &HeaderMap, recv: RecvStream, upload: Option<Upload<B>>) -> Self {
        let announced = headers.get(header::CONTENT_LENGTH);
        let announced = announced.and_then(|length| length.to_str().ok()?.parse().ok());
        // An answer without a body may have no `Content-Length`.
        let none = recv.is_end_stream().then_some(0);
        Self {
            recv,
            left: announced.or(none),
            has_data: true,
            upload,
        }
    }

    /// Returns whether the answer has ended.
    pub fn has_ended(&self) -> bool {
        self.recv.is_end_stream()
    }

    /// Returns the number of bytes that have not arrived.
    pub fn length(&self) -> SizeHint {
        self.left
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl<B> Body for Download<B>
where
    B: Body + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = h2::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, h2::Error>>> {
        let this = &mut *self;
        send_upload(&mut this.upload, cx);
        let last = if this.has_data {
            match ready!(this.recv.poll_data(cx)) {
                Some(Ok(bytes)) => {
                    // The call fails only if it releases more bytes than were received.
                    let _ = this.recv.flow_control().release_capacity(bytes.len());
                    let length = bytes.len() as u64;
                    this.left = this.left.map(|left| left.saturating_sub(length));
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
                Some(Err(error)) => Err(error),
                None => {
                    this.has_data = false;
                    ready!(this.recv.poll_trailers(cx))
                }
            }
        } else {
            ready!(this.recv.poll_trailers(cx))
        };
        Poll::Ready(match last {
            Ok(trailers) => trailers.map(|trailers| Ok(Frame::trailers(trailers))),
            // The answer is complete. The server does not need the rest of the request's body (RFC 9113, section 8.1).
            Err(error) if error.reason() == Some(Reason::NO_ERROR) => None,
            Err(error) => Some(Err(error)),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended()
    }

    fn size_hint(&self) -> SizeHint {
        self.length()
    }
}
