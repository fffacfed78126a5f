//! How a way works.

use std::time::Duration;

/// Which HTTP a way speaks.
#[cfg_attr(feature = "gateway", derive(serde::Deserialize))]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    #[cfg_attr(feature = "gateway", serde(rename = "http1"))]
    One,
    /// HTTP/2, which the server has to know beforehand, or by ALPN.
    #[cfg_attr(feature = "gateway", serde(rename = "http2"))]
    Two,
}

/// How a way works.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WayConfig {
    /// Which HTTP it speaks.
    pub protocol: Protocol,
    /// `https` or `http`: what requests over HTTP/2 say, and not whether there is TLS, which is the
    /// connector's.
    pub is_https: bool,
    /// HTTP/1.1: connections that wait for a request, at most.
    pub idle: usize,
    /// HTTP/1.1: for how long one waits before it is closed.
    pub idle_time: Duration,
    /// HTTP/1.1: how long a request that was purged may go on where its answer is small, so that its connection can
    /// be kept. Then the connection is closed, and the server stops. 0: it is closed at once. A millisecond at least
    /// passes otherwise: that is how exact timers are.
    pub linger: Duration,
    /// HTTP/2: resets after which a connection is replaced. Node's HTTP/2 allows 1,000 at once.
    pub resets: u32,
    /// HTTP/2: the interval between pings of a connection.
    pub ping: Duration,
    /// HTTP/2: in which it has to answer. Else it ends, with the requests on it.
    pub ping_time: Duration,
}

impl Default for WayConfig {
    fn default() -> Self {
        Self {
            protocol: Protocol::One,
            is_https: false,
            idle: 64,
            idle_time: Duration::from_secs(15),
            linger: Duration::from_millis(1),
            resets: 500,
            ping: Duration::from_secs(10),
            ping_time: Duration::from_secs(10),
        }
    }
}
