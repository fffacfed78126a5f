//! Every parameter of a TCP endpoint, with unit, default and the default's source.

use super::congestion::{CongestionControl, Controller, Cubic, Dctcp, HyStart, NewReno};
use crate::config::{
    ConfigError, SERVICE_PORT, check, no_shorter, payload, positive, service_port, some, within,
};
use crate::pias::Tags;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt;
use tailcut_units::Duration;

/// The parameters of all connections of one endpoint.
#[derive(Clone, Debug)]
pub struct TcpConfig {
    /// Payload bytes of a full segment, 1 to 65,535. Default 1,460: Ethernet's 1,500 B less 40 B of
    /// IP and TCP headers.
    pub mss: u32,
    /// What may be sent before the first ACK. Default 10 segments (RFC 6928).
    pub initial_window: InitialWindow,
    /// The lower bound of the retransmission timeout, at least `clock_granularity`: below that it would
    /// never take effect. Default 200 ms (Linux; RFC 6298 asks for 1 s, data centres set 1 to 10 ms).
    pub min_rto: Duration,
    /// The retransmission timeout before the first sample, the SYN's included. Default 1 s (RFC 6298,
    /// 2.1); 3 s in RepNet's testbed (RFC 2988).
    pub initial_rto: Duration,
    /// The upper bound of the retransmission timeout. Default 60 s (RFC 6298, 2.5).
    pub max_rto: Duration,
    /// G of RFC 6298, 2.3: the timeout is at least the smoothed round-trip time and this. Default 1 ms
    /// (a 1,000 Hz tick, as in ns-3). Linux in effect sets it to `min_rto`. Small values cause
    /// spurious timeouts where the round-trip time is steady and above `min_rto`.
    pub clock_granularity: Duration,
    /// When the receiver may hold an ACK back; `None` acknowledges every segment. Default every
    /// second segment or 40 ms (RFC 5681, 4.2: at most 500 ms; 40 ms is Linux's).
    pub delayed_ack: Option<DelayedAck>,
    /// Whether the first two duplicate ACKs release new data (RFC 3042). Default on.
    pub limited_transmit: bool,
    /// Whether the receiver reports SACK blocks and the sender recovers by them (RFC 2018, 6675).
    /// Default off: NewReno's recovery (RFC 6582). Both hosts must agree.
    pub sack: bool,
    /// Large-send offload, in payload bytes a burst; 0 (the default) is off. With it a connection
    /// waits until the window admits a burst of `min(lso_bytes, cwnd / 3)` (a third as in Linux's
    /// `tcp_tso_win_divisor`), or all the data there is, or nothing is in flight; then it sends what
    /// the window admits, up to `lso_bytes`, as segments of one MSS back to back: no other connection
    /// of the host sends data in between. Retransmissions and limited transmit do not wait.
    pub lso_bytes: u32,
    /// The congestion window's upper bound in bytes. Default unlimited.
    pub max_cwnd: u64,
    /// Where the first slow start ends, in bytes, at least 1. Default unlimited: at the first
    /// congestion (RFC 5681, 3.1, asks for an arbitrarily high one). ns-3 had 65,535 for long.
    pub initial_ssthresh: u64,
    /// CUBIC leaves slow start by HyStart, with a clock that ticks so often; `None` (the default) leaves
    /// it at the first loss or `initial_ssthresh`. Linux since 2.6.29 has HyStart.
    pub hystart: Option<Duration>,
    /// Duplicate ACKs that mean loss, 1 to 255. Default 3 (RFC 5681, 3.2).
    pub duplicate_ack_threshold: u8,
    /// How often a SYN or SYN-ACK is sent again before the connection fails. Default 6 (Linux).
    pub max_syn_retries: u8,
    /// How often in a row the retransmission timer may expire without progress before the connection
    /// fails. Default 15 (Linux).
    pub max_data_retries: u8,
    /// The port that hosts are reached at, 1 to 32,765: below those of outgoing connections.
    /// RepNet serves the next one too, for the second connection, and RANS the next two: for
    /// copies of low class, and for flows that are no requests. Default 80.
    pub port: u16,
    /// What governs the congestion window. Default NewReno.
    pub congestion: Congestion,
    /// Whether NewReno and CUBIC negotiate ECN and answer a mark like a loss, once a window (RFC
    /// 3168, 6.1.2). Default off. DCTCP always negotiates ECN.
    pub classic_ecn: bool,
    /// PIAS' tags. Default none: all segments are in the highest class.
    pub tags: Option<Tags>,
}

impl Default for TcpConfig {
    fn default() -> Self {
        let min_rto = Duration::from_ms(200);
        Self {
            mss: 1_460,
            initial_window: InitialWindow::Segments(10),
            min_rto,
            initial_rto: Duration::from_ms(1_000),
            max_rto: Duration::from_ms(60_000),
            clock_granularity: Duration::from_ms(1),
            delayed_ack: Some(DelayedAck::below(min_rto)),
            limited_transmit: true,
            sack: false,
            lso_bytes: 0,
            max_cwnd: u64::MAX,
            initial_ssthresh: u64::MAX,
            hystart: None,
            duplicate_ack_threshold: 3,
            max_syn_retries: 6,
            max_data_retries: 15,
            port: SERVICE_PORT,
            congestion: Congestion::NewReno,
            classic_ecn: false,
            tags: None,
        }
    }
}

/// The initial congestion window. Never below one segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindow {
    /// Full segments, at least 1.
    Segments(u32),
    /// Payload bytes, at least 1.
    Bytes(u64),
}

/// How long an ACK may be held back (RFC 1122, 4.2.3.2; RFC 5681, 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayedAck {
    /// Segments an ACK, at least 2. RFC 5681 allows 2; NIC coalescing gives more.
    pub segments: u8,
    /// The longest that an ACK is held back; less than `min_rto`, or the peer would time out.
    pub timeout: Duration,
}

impl DelayedAck {
    /// Every second segment is acknowledged, or after 40 ms (Linux), or after half of `min_rto` where
    /// that is shorter.
    pub fn below(min_rto: Duration) -> Self {
        Self {
            segments: 2,
            timeout: Duration::from_ms(40).min(min_rto / 2),
        }
    }
}

/// Makes a fresh controller for each connection.
pub type ControllerFactory = Arc<dyn Fn() -> Box<dyn CongestionControl> + Send + Sync>;

/// What governs the congestion window.
#[derive(Clone)]
pub enum Congestion {
    /// RFC 5681 and 6582.
    NewReno,
    /// RFC 9438.
    Cubic,
    /// RFC 8257.
    Dctcp {
        /// The weight of the newest window in the estimate of marking, in (0, 1]. Default 1/16.
        gain: f64,
        /// The estimate that a connection begins with, in [0, 1]. Default 1 (RFC 8257, 4.2: the first
        /// mark halves the window; 0 suits flows that are sensitive to throughput).
        first_alpha: f64,
    },
    /// The user's own.
    Custom(ControllerFactory),
}

impl Congestion {
    /// DCTCP with the gain and the first estimate of RFC 8257, 4.2.
    pub const DCTCP: Self = Self::Dctcp {
        gain: Dctcp::GAIN,
        first_alpha: Dctcp::FIRST_ALPHA,
    };
}

impl fmt::Debug for Congestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewReno => f.write_str("NewReno"),
            Self::Cubic => f.write_str("Cubic"),
            Self::Dctcp { gain, first_alpha } => f
                .debug_struct("Dctcp")
                .field("gain", gain)
                .field("first_alpha", first_alpha)
                .finish(),
            Self::Custom(_) => f.write_str("Custom"),
        }
    }
}

impl TcpConfig {
    /// The defaults with the timers of a data centre: `min_rto` and `initial_rto` 10 ms (data centres set
    /// 1 to 10 ms; with 1 s for the SYN, a lost one decides every tail), and ACKs held back for 5 ms.
    pub fn data_centre() -> Self {
        let rto = Duration::from_ms(10);
        Self {
            min_rto: rto,
            initial_rto: rto,
            delayed_ack: Some(DelayedAck::below(rto)),
            ..Self::default()
        }
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// The first one outside its range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        service_port(self.port, "connections")?;
        payload("mss", self.mss)?;
        let window = match self.initial_window {
            InitialWindow::Segments(segments) => u64::from(segments),
            InitialWindow::Bytes(bytes) => bytes,
        };
        check(
            "initial_window",
            self.initial_window,
            window >= 1,
            "at least 1 segment or byte",
        )?;
        positive("min_rto", self.min_rto)?;
        check(
            "min_rto",
            self.min_rto,
            self.min_rto >= self.clock_granularity,
            "at least clock_granularity, which every timeout exceeds (RFC 6298, 2.3)",
        )?;
        no_shorter("max_rto", self.max_rto, ("min_rto", self.min_rto))?;
        check(
            "initial_rto",
            self.initial_rto,
            self.initial_rto > Duration::ZERO && self.initial_rto <= self.max_rto,
            "more than 0, at most max_rto",
        )?;
        if let Some(delayed) = self.delayed_ack {
            check(
                "delayed_ack.segments",
                delayed.segments,
                delayed.segments >= 2,
                "2 to 255 (turn delayed_ack off for an ACK a segment)",
            )?;
            check(
                "delayed_ack.timeout",
                delayed.timeout,
                delayed.timeout > Duration::ZERO && delayed.timeout < self.min_rto,
                "more than 0, less than min_rto (or the peer would time out)",
            )?;
        }
        let room = self.max_cwnd >= u64::from(self.mss);
        check("max_cwnd", self.max_cwnd, room, "at least mss")?;
        some("initial_ssthresh", self.initial_ssthresh, "at least 1 byte")?;
        let ticks = self.hystart.is_none_or(|tick| tick > Duration::ZERO);
        check("hystart", self.hystart, ticks, "a tick of more than 0")?;
        let duplicates = self.duplicate_ack_threshold;
        some("duplicate_ack_threshold", duplicates, "1 to 255")?;
        if let Congestion::Dctcp { gain, first_alpha } = self.congestion {
            let holds = gain > 0.0 && gain <= 1.0;
            check("congestion.gain", gain, holds, "more than 0, at most 1")?;
            within("congestion.first_alpha", first_alpha, 0.0..=1.0, "")?;
        }
        Ok(())
    }

    /// The initial window in bytes: at least one segment, at most `max_cwnd`.
    pub(crate) fn initial_cwnd(&self) -> u64 {
        let bytes = match self.initial_window {
            InitialWindow::Segments(segments) => u64::from(segments) * u64::from(self.mss),
            InitialWindow::Bytes(bytes) => bytes,
        };
        bytes.max(u64::from(self.mss)).min(self.max_cwnd)
    }

    pub(crate) fn new_controller(&self) -> Controller {
        match &self.congestion {
            Congestion::NewReno => Controller::NewReno(NewReno::new()),
            Congestion::Cubic => match self.hystart {
                Some(tick) => Controller::Custom(Box::new(HyStart::new(tick))),
                None => Controller::Cubic(Cubic::new()),
            },
            Congestion::Dctcp { gain, first_alpha } => {
                Controller::Dctcp(Dctcp::new(*gain, *first_alpha))
            }
            Congestion::Custom(make) => Controller::Custom(make()),
        }
    }
}
