//! TCP stream of a connector or a listener, replicated or not.

use crate::driver::{Core, Shared};
use crate::liveness::{Direction, IdleTimer, Liveness};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::MutexGuard;
use std::task::{Context, Poll};
use tailcut_transport::repnet::Leg;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net;

/// TCP stream that may consist of two connections. Use it like [`tokio::net::TcpStream`].
///
/// A read returns bytes of the faster connection, each byte once and in order.
/// A write is accepted while less than 64 KiB wait for the faster connection.
/// A flush and a shutdown complete when the kernel has all bytes of the faster connection.
///
/// Dropping the stream closes the connection after all written bytes were sent.
/// [`reset`](Self::reset) closes it and discards the bytes that were not sent.
pub struct TcpStream {
    inner: Inner,
    idle: Option<Box<IdleTimer>>,
}

enum Inner {
    Plain(net::TcpStream),
    Replicated(Replicated),
}

/// The application's handle of a replicated flow.
struct Replicated {
    flow: Arc<Shared>,
    /// Address of the peer that the application sees. It never contains the replica port.
    peer: SocketAddr,
    /// Port of the service. Only servers have it.
    port: Option<u16>,
    by_reset: bool,
}

impl Replicated {
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.flow.lock()
    }
}

impl Drop for Replicated {
    fn drop(&mut self) {
        self.flow.lock().leave(self.by_reset);
    }
}

impl TcpStream {
    pub(crate) fn plain(stream: net::TcpStream, liveness: &Liveness) -> Self {
        Self {
            inner: Inner::Plain(stream),
            idle: liveness.idle_timer(),
        }
    }

    pub(crate) fn replicated(
        flow: Arc<Shared>,
        peer: SocketAddr,
        port: Option<u16>,
        liveness: &Liveness,
    ) -> Self {
        Self {
            inner: Inner::Replicated(Replicated {
                flow,
                peer,
                port,
                by_reset: false,
            }),
            idle: liveness.idle_timer(),
        }
    }

    /// Returns whether the stream has two connections, or had two at an earlier time.
    pub const fn is_replicated(&self) -> bool {
        matches!(self.inner, Inner::Replicated(_))
    }

    /// Returns the address of the peer. At a client it is the address of the `connect` call, without the replica port.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        match &self.inner {
            Inner::Plain(stream) => stream.peer_addr(),
            Inner::Replicated(replicated) => Ok(replicated.peer),
        }
    }

    /// Returns the local address of one of the connections. At a server it has the service's port.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        match &self.inner {
            Inner::Plain(stream) => stream.local_addr(),
            Inner::Replicated(replicated) => {
                let mut address = replicated.lock().local_addr()?;
                if let Some(port) = replicated.port {
                    address.set_port(port);
                }
                Ok(address)
            }
        }
    }

    /// Sets whether small writes are sent immediately (`TCP_NODELAY`), on all present and future connections.
    /// If the stream is replicated, the option is on from the start.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        match &self.inner {
            Inner::Plain(stream) => stream.set_nodelay(nodelay),
            Inner::Replicated(replicated) => {
                replicated.lock().set_nodelay(nodelay);
                Ok(())
            }
        }
    }

    /// Returns whether small writes are sent immediately.
    ///
    /// # Errors
    /// The connection is gone.
    pub fn nodelay(&self) -> io::Result<bool> {
        match &self.inner {
            Inner::Plain(stream) => stream.nodelay(),
            Inner::Replicated(replicated) => Ok(replicated.lock().nodelay()),
        }
    }

    /// Returns the connection that was faster for most of the received bytes. `None`: there were never two connections.
    pub fn winner(&self) -> Option<Leg> {
        match &self.inner {
            Inner::Plain(_) => None,
            Inner::Replicated(replicated) => replicated.lock().winner(),
        }
    }

    /// Ends a call that waits, if no byte has moved for the idle timeout.
    fn unless_idle<T>(
        &mut self,
        cx: &mut Context<'_>,
        direction: Direction,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match &mut self.idle {
            Some(idle) => idle.check(cx, direction, result),
            None => result,
        }
    }

    /// Closes the connection with a reset. The peer sees an error, not the end of the stream.
    pub fn reset(self) {
        match self.inner {
            Inner::Plain(stream) => crate::connection::reset(stream),
            Inner::Replicated(mut replicated) => replicated.by_reset = true,
        }
    }
}

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpStream")
            .field("replicated", &self.is_replicated())
            .field("peer", &self.peer_addr().ok())
            .finish()
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Inner::Replicated(replicated) => replicated.lock().poll_read(cx, buffer),
        };
        self.unless_idle(cx, Direction::Read, read)
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Inner::Replicated(replicated) => replicated.lock().poll_write(cx, bytes),
        };
        self.unless_idle(cx, Direction::Write, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Inner::Replicated(replicated) => replicated.lock().poll_flush(cx),
        };
        self.unless_idle(cx, Direction::Write, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = match &mut self.inner {
            Inner::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Inner::Replicated(replicated) => replicated.lock().poll_shutdown(cx),
        };
        self.unless_idle(cx, Direction::Write, shut)
    }
}
