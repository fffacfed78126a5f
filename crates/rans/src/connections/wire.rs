//! Byte stream that carries HTTP. It can report bytes that no request has caused.

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use socket2::SockRef;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use tokio::net::TcpStream;

/// Byte stream to a server.
pub trait Wire: Read + Write + Unpin + Send + 'static {
    /// Returns whether unread bytes, or the end of the stream, have arrived.
    /// The system is queried, because the runtime may not have polled the stream yet.
    /// Returns `false` if the system cannot answer.
    fn has_unread(&self) -> bool;
}

/// Returns whether a socket has unread bytes, an end of the stream, or an error.
pub(crate) fn is_readable(socket: &TcpStream) -> bool {
    let mut one = [MaybeUninit::uninit()];
    match SockRef::from(socket).peek(&mut one) {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}

impl Wire for TokioIo<TcpStream> {
    fn has_unread(&self) -> bool {
        is_readable(self.inner())
    }
}

/// Byte stream that hyper owns. A [`Watch`] can inspect it.
pub(super) struct Shared<I>(Arc<Mutex<I>>);

/// Handle that can inspect a byte stream as long as the stream is open.
pub(super) type Watch = Weak<Mutex<dyn Wire>>;

pub(super) fn shared<I: Wire>(wire: I) -> (Shared<I>, Watch) {
    let wire = Arc::new(Mutex::new(wire));
    let watch: Watch = Arc::downgrade(&wire) as Watch;
    (Shared(wire), watch)
}

/// Returns whether a request may be sent on this stream.
pub(super) fn is_quiet(watch: &Watch) -> bool {
    let wire = watch.upgrade();
    wire.is_some_and(|wire| !lock(&wire).has_unread())
}

fn lock<I: ?Sized>(wire: &Mutex<I>) -> MutexGuard<'_, I> {
    wire.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<I: Wire> Read for Shared<I> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *lock(&self.0)).poll_read(cx, buffer)
    }
}

impl<I: Wire> Write for Shared<I> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *lock(&self.0)).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *lock(&self.0)).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        lock(&self.0).is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *lock(&self.0)).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *lock(&self.0)).poll_shutdown(cx)
    }
}
