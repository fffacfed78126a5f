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
    /// HTTP/2. The server must expect HTTP/2 without negotiation, or agree by ALPN.
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
    /// Largest number of idle connections (HTTP/1.1).
    pub idle: usize,
    /// Time after which an idle connection is closed (HTTP/1.1).
    pub idle_time: Duration,
    /// Time that a purged request with a small answer may continue, so that its connection can be kept (HTTP/1.1).
    /// After this time the connection is closed, and the server stops. 0: the connection is closed immediately.
    /// Values above 0 last at least 1 ms, which is the resolution of timers.
    pub linger: Duration,
    /// Number of resets after which a connection is replaced (HTTP/2). Node's HTTP/2 allows a burst of 1,000.
    pub resets: u32,
    /// Time between two pings of a connection (HTTP/2).
    pub ping: Duration,
    /// Longest time until the answer to a ping (HTTP/2). After this time the connection ends, with all its requests.
    pub ping_time: Duration,
}

impl Default for ConnectionConfig {
    fn default() -> Self {
        Self {
            protocol: Protocol::One,
            is_https: false,
            // With fewer idle connections, a burst of requests would need new handshakes.
            // More idle connections would occupy the server.
            idle: 64,
            // With a longer time, the server would more often close a connection at the moment when it is used again.
            // With a shorter time, more requests would need a handshake.
            idle_time: Duration::from_secs(15),
            // This is the shortest time above 0.
            linger: Duration::from_millis(1),
            // This is half of the burst that Node's HTTP/2 accepts.
            resets: 500,
            // With both times together, a dead connection is detected within 20 s.
            ping: Duration::from_secs(10),
            ping_time: Duration::from_secs(10),
        }
    }
}
