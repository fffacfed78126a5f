//! TCP connection of a flow with its hello. A flow has up to two connections.

use socket2::SockRef;
use std::future::Future;
use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tailcut_transport::repnet::{Banner, Preamble};
use tailcut_wire::repnet::{
    HELLO_BYTES, MAX_PREAMBLE_BYTES, Rejection, decode_banner, encode_preamble, preamble_length,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Attempt to establish a TCP connection.
pub(crate) type Connecting = Pin<Box<dyn Future<Output = io::Result<TcpStream>> + Send>>;

/// State of one of a flow's two connections.
#[derive(Default)]
pub(crate) enum Slot {
    #[default]
    Empty,
    Connecting(Connecting),
    Open(Connection),
    /// Connection that lost the race. Received bytes are discarded until the server closes it.
    Draining(TcpStream),
}

/// Established connection of a flow.
#[derive(Debug)]
pub(crate) struct Connection {
    tcp: TcpStream,
    hello: Option<Box<Hello>>,
    /// Banner that a server sends, and the number of its bytes that were sent.
    banner: Option<([u8; HELLO_BYTES], usize)>,
    /// Error of a write. The connection fails only after all received bytes were read.
    broken: Option<io::Error>,
    /// Whether the peer's FIN was read.
    ended: bool,
    finished: bool,
    /// Byte of the application that was read together with the hello.
    early: Option<u8>,
    /// Wanted value of `TCP_NODELAY`; `None`: the system's default.
    nodelay: Option<bool>,
    /// Last value of `TCP_NODELAY` that was set. The option is set with the first bytes of the application.
    /// This order saves a system call on a connection that loses its race. A hello is always sent immediately.
    applied: Option<bool>,
}

#[derive(Debug)]
struct Hello {
    preamble: [u8; MAX_PREAMBLE_BYTES],
    length: usize,
    sent: usize,
    /// Buffer for a banner and one more byte.
    /// A read that does not fill the buffer shows that no more bytes are available. The next read is then not needed.
    banner: [u8; HELLO_BYTES + 1],
    received: usize,
}

/// Answer of the server to a hello.
#[derive(Debug)]
pub(crate) enum Answer {
    Banner(Banner),
    /// Bytes that are not a banner.
    Foreign(Rejection),
    /// The stream ended before the banner.
    Silent,
    Failed(io::Error),
}

/// Result of a read.
#[derive(Debug)]
pub(crate) enum Read {
    Some,
    End,
    Failed(io::Error),
}

impl Connection {
    pub fn new(tcp: TcpStream) -> Self {
        Self::accepted(tcp, None, None)
    }

    /// Creates a connection of a server. It sends `banner` first. `early` is a byte that was already read.
    pub fn accepted(tcp: TcpStream, banner: Option<[u8; HELLO_BYTES]>, early: Option<u8>) -> Self {
        Self {
            tcp,
            hello: None,
            banner: banner.map(|banner| (banner, 0)),
            broken: None,
            ended: false,
            finished: false,
            early,
            nodelay: None,
            applied: None,
        }
    }

    /// Sets whether small writes of the application are sent immediately.
    pub fn set_nodelay(&mut self, nodelay: bool) {
        self.nodelay = Some(nodelay);
        if self.applied.is_some() {
            self.apply_nodelay();
        }
    }

    fn apply_nodelay(&mut self) {
        if let Some(nodelay) = self.nodelay
            && self.applied.replace(nodelay) != Some(nodelay)
        {
            // The call fails only if the connection has ended already.
            let _ = self.tcp.set_nodelay(nodelay);
        }
    }

    pub fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    /// Returns the connection, and whether its FIN was sent.
    pub fn into_parts(self) -> (TcpStream, bool) {
        (self.tcp, self.finished)
    }

    /// Closes the connection by a reset.
    pub fn reset(self) {
        reset(self.tcp);
    }

    /// Ends a client's connection with a FIN. The caller waits for the server's end.
    /// If the hello was not sent, the connection is reset, because the server has opened no flow.
    pub fn leave(self) -> Option<TcpStream> {
        let is_said = |hello: &Hello| hello.sent == hello.length;
        let said = self.hello.as_deref().is_none_or(is_said);
        if said && SockRef::from(&self.tcp).shutdown(Shutdown::Write).is_ok() {
            return Some(self.tcp);
        }
        self.reset();
        None
    }

    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    pub fn say_hello(&mut self, preamble: &Preamble) {
        self.hello = Some(Box::new(Hello {
            preamble: encode_preamble(preamble),
            length: preamble_length(preamble),
            sent: 0,
            banner: [0; HELLO_BYTES + 1],
            received: 0,
        }));
    }

    /// Sends the preamble and reads the banner. Returns `None` immediately if the connection has no hello.
    pub fn poll_hello(&mut self, cx: &mut Context<'_>) -> Poll<Option<Answer>> {
        let Some(hello) = &mut self.hello else {
            return Poll::Ready(None);
        };
        let answer = ready!(hello.poll(&mut self.tcp, cx));
        self.early = (hello.received > HELLO_BYTES).then_some(hello.banner[HELLO_BYTES]);
        self.hello = None;
        Poll::Ready(Some(answer))
    }

    /// Sends the banner. Returns true if this call sent its last byte.
    pub fn poll_banner(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        let Some((banner, sent)) = &mut self.banner else {
            return Poll::Ready(false);
        };
        while let Some(rest) = banner.get(*sent..)
            && !rest.is_empty()
            && self.broken.is_none()
        {
            match ready!(Pin::new(&mut self.tcp).poll_write(cx, rest)) {
                Ok(written) => *sent += written,
                Err(error) => self.broken = Some(error),
            }
        }
        self.banner = None;
        Poll::Ready(true)
    }

    /// Reads bytes until `into` is full. After the end of the stream, the result is always `Pending`.
    pub fn poll_read(&mut self, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<Read> {
        if let Some(early) = self.early.take() {
            into.put_slice(&[early]);
            return Poll::Ready(Read::Some);
        }
        if self.ended {
            return match self.broken.take() {
                Some(error) => Poll::Ready(Read::Failed(error)),
                None => Poll::Pending,
            };
        }
        let read = Pin::new(&mut self.tcp).poll_read(cx, into);
        match (read, self.broken.take()) {
            (Poll::Ready(Err(error)), _) => Poll::Ready(Read::Failed(error)),
            (Poll::Ready(Ok(())), broken) if into.filled().is_empty() => match broken {
                // The kernel reports a reset only once.
                // The write has already received that error, so the read sees the end of the stream.
                Some(error) => Poll::Ready(Read::Failed(error)),
                None => {
                    self.ended = true;
                    Poll::Ready(Read::End)
                }
            },
            (Poll::Ready(Ok(())), broken) => {
                self.broken = broken;
                Poll::Ready(Read::Some)
            }
            (Poll::Pending, Some(error)) => Poll::Ready(Read::Failed(error)),
            (Poll::Pending, None) => Poll::Pending,
        }
    }

    /// Writes some of the bytes. Returns their number, or `None` if the connection accepts no more bytes.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, bytes: [&[u8]; 2]) -> Poll<Option<usize>> {
        ready!(self.poll_banner(cx));
        if self.broken.is_some() {
            return Poll::Ready(None);
        }
        if self.applied.is_none() {
            self.apply_nodelay();
        }
        let tcp = Pin::new(&mut self.tcp);
        // One call for both pieces saves a system call.
        let written = match bytes {
            [bytes, []] => tcp.poll_write(cx, bytes),
            pieces => tcp.poll_write_vectored(cx, &pieces.map(IoSlice::new)),
        };
        match ready!(written) {
            Ok(0) => Poll::Ready(None),
            Ok(written) => Poll::Ready(Some(written)),
            Err(error) => {
                self.broken = Some(error);
                Poll::Ready(None)
            }
        }
    }

    /// Returns whether a close of the connection sends all earlier bytes and then a FIN.
    pub fn may_end_by_closing(&self) -> bool {
        self.banner.is_none() && self.broken.is_none()
    }

    /// Sends a FIN. Returns whether this was possible.
    pub fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<bool> {
        ready!(self.poll_banner(cx));
        if self.broken.is_some() {
            return Poll::Ready(false);
        }
        match ready!(Pin::new(&mut self.tcp).poll_shutdown(cx)) {
            Ok(()) => {
                self.finished = true;
                Poll::Ready(true)
            }
            Err(error) => {
                self.broken = Some(error);
                Poll::Ready(false)
            }
        }
    }
}

impl Hello {
    fn poll(&mut self, tcp: &mut TcpStream, cx: &mut Context<'_>) -> Poll<Answer> {
        while let Some(rest) = self.preamble[..self.length].get(self.sent..)
            && !rest.is_empty()
        {
            match ready!(Pin::new(&mut *tcp).poll_write(cx, rest)) {
                Ok(written) => self.sent += written,
                Err(error) => return Poll::Ready(Answer::Failed(error)),
            }
        }
        loop {
            let mut rest = ReadBuf::new(&mut self.banner[self.received..]);
            let read = Pin::new(&mut *tcp).poll_read(cx, &mut rest);
            let count = rest.filled().len();
            match ready!(read) {
                Ok(()) if count == 0 => return Poll::Ready(Answer::Silent),
                Ok(()) => self.received += count,
                Err(error) => return Poll::Ready(Answer::Failed(error)),
            }
            match decode_banner(&self.banner[..self.received.min(HELLO_BYTES)]) {
                Ok(banner) => return Poll::Ready(Answer::Banner(banner)),
                Err(Rejection::Incomplete) => {}
                Err(rejection) => return Poll::Ready(Answer::Foreign(rejection)),
            }
        }
    }
}

/// Closes a connection with a reset. The peer would treat a FIN as the end of the stream, so a FIN would be wrong.
pub(crate) fn reset(tcp: TcpStream) {
    // The call fails only if the connection has ended already.
    let _ = tcp.set_zero_linger();
    drop(tcp);
}
