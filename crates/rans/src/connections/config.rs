//! Configuration of the connections to a server.

use std::time::Duration;

/// HTTP version of the connections.
#[cfg_attr(feature = "gateway", derive(serde::Deserialize))]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    #[cfg_attr(feature = "gateway", serde(rename = "http1"))]
    One,
    /// HTTP/2. The server has to expect it, or agree by ALPN.
    #[cfg_attr(feature = "gateway", serde(rename = "http2"))]
    Two,
}

/// Configuration of the connections to a server.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ConnectionConfig {
    /// HTTP version.
    pub protocol: Protocol,
    /// Scheme of requests over HTTP/2: `https` or `http`. The connector decides whether there is TLS.
    pub is_https: bool,
    /// HTTP/1.1: largest number of idle connections.
    pub idle: usize,
    /// HTTP/1.1: time after which an idle connection is closed.
    pub idle_time: Duration,
    /// HTTP/1.1: time that a purged request with a small answer may continue, so that its connection can be kept.
    /// After that the connection is closed, and the server stops. 0: the connection is closed at once. Otherwise at
    /// least 1 ms passes, because this is the resolution of timers.
    pub linger: Duration,
    /// HTTP/2: number of resets after which a connection is replaced. Node's HTTP/2 allows 1,000 at once.
    pub resets: u32,
    /// HTTP/2: time between two pings of a connection.
    pub ping: Duration,
    /// HTTP/2: time for the answer to a ping. After that the connection ends, with all its requests.
    pub ping_time: Duration,
}

impl Default for ConnectionConfig {
    fn default() -> Self {
        Self {
            protocol: Protocol::One,
            is_https: false,
            // With fewer idle connections, a burst of requests needs new handshakes. More of them occupy
            // the server.
            idle: 64,
            // With a longer time, a server more often closes the connection at the moment when it is used again. With
            // a shorter time, more requests need a handshake.
            idle_time: Duration::from_secs(15),
            // The shortest time above 0.
            linger: Duration::from_millis(1),
            // This is half of the burst that Node's HTTP/2 accepts.
            resets: 500,
            // Together, both times detect a dead connection within 20 s.
            ping: Duration::from_secs(10),
            ping_time: Duration::from_secs(10),
        }
    }
}
