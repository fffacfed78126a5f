//! Connector that opens TCP connections to one server.

use crate::socket::SocketOptions;
use http::uri::Authority;
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use tower_service::Service;

#[derive(Clone, Debug)]
enum Destination {
    Tcp(Authority),
    #[cfg(any(feature = "gateway", feature = "guard"))]
    Unix(std::path::PathBuf),
}

/// Connector that opens TCP connections to one server, and sets their options before the SYN.
/// The connector resolves the name for each connection, and tries the addresses in order.
/// A service for TLS can wrap the connector.
#[derive(Clone, Debug)]
pub struct Connector {
    to: Destination,
    options: SocketOptions,
    time: Duration,
}

impl Connector {
    /// Creates a connector to a host and a port. Each address of the host has `time` to accept a connection.
    ///
    /// # Errors
    /// `to` has no port.
    pub fn new(
        to: Authority,
        options: SocketOptions,
        time: Duration,
    ) -> Result<Self, &'static str> {
        // An authority may also contain user information, which does not belong to an address.
        if to.port_u16().is_none() || to.as_str().contains('@') {
            return Err("a server needs a host and a port, such as 10.1.2.3:9000");
        }
        let to = Destination::Tcp(to);
        Ok(Self { to, options, time })
    }

    /// Creates a connector to a Unix socket, which has `time` to accept a connection.
    #[cfg(any(feature = "gateway", feature = "guard"))]
    pub(crate) fn unix(path: &std::path::Path, time: Duration) -> Self {
        Self {
            to: Destination::Unix(path.to_owned()),
            options: SocketOptions::default(),
            time,
        }
    }

    async fn open(self) -> io::Result<TokioIo<TcpStream>> {
        let to = match &self.to {
            Destination::Tcp(to) => to.as_str(),
            #[cfg(any(feature = "gateway", feature = "guard"))]
            Destination::Unix(path) => {
                let opening = tokio::time::timeout(self.time, tailcut_proxy::connect(path)).await;
                let opened = opening.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
                return opened.map(TokioIo::new);
            }
        };
        let mut last = None;
        for address in lookup_host(to).await? {
            let opening = tokio::time::timeout(self.time, self.open_to(address)).await;
            match opening.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(stream) => return Ok(TokioIo::new(stream)),
                Err(error) => last = Some(error),
            }
        }
        let nowhere =
            || io::Error::new(io::ErrorKind::NotFound, "the server's name has no address");
        Err(last.unwrap_or_else(nowhere))
    }

    async fn open_to(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let socket = match address {
            SocketAddr::V4(_) => TcpSocket::new_v4()?,
            SocketAddr::V6(_) => TcpSocket::new_v6()?,
        };
        self.options.set(&socket);
        socket.connect(address).await
    }
}

impl Service<()> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, (): ()) -> Self::Future {
        Box::pin(self.clone().open())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Dscp;
    use socket2::SockRef;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_connection_has_the_dscp_of_its_class_from_the_first_packet_on() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        for dscp in [Dscp::LOWER_EFFORT, Dscp::new(48).expect("six bits")] {
            let options = SocketOptions {
                dscp: Some(dscp),
                ..SocketOptions::default()
            };
            let to = address.to_string().parse().expect("an authority");
            let time = Duration::from_secs(60);
            let mut connector = Connector::new(to, options, time).expect("a server");
            let stream = connector.call(()).await.expect("a connection").into_inner();
            let field = SockRef::from(&stream).tos_v4().expect("an option");
            assert_eq!(field >> 2, u32::from(dscp.value()));
        }
    }
}
