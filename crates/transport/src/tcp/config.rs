//! Parameters of a TCP endpoint, with unit, default, and the source of the default.

use super::congestion::{
    CongestionControl, Controller, Cubic, Dctcp, HyStart, HyStartClock, LinuxCubic, NewReno,
};
use crate::config::{
    ConfigError, SERVICE_PORT, check, no_shorter, payload, positive, service_port, some, within,
};
use crate::pias::Tags;
use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use core::fmt;
use tailcut_units::Duration;

/// Parameters of all connections of one endpoint.
#[derive(Clone, Debug)]
pub struct TcpConfig {
    /// Payload bytes of a full segment, 1 to 65,535.
    /// Default 1,460: Ethernet's 1,500 B without the 40 B of the IP and TCP headers.
    pub mss: u32,
    /// Data that may leave before the first ACK. Default 10 segments (RFC 6928).
    pub initial_window: InitialWindow,
    /// Lower bound of the retransmission timeout, at least `clock_granularity` (a smaller bound would have no effect).
    /// Default 200 ms (Linux; RFC 6298 requires 1 s, and data centres use 1 to 10 ms).
    pub min_rto: Duration,
    /// Retransmission timeout before the first sample, also for the SYN.
    /// Default 1 s (RFC 6298, 2.1); 3 s in RepNet's testbed (RFC 2988).
    pub initial_rto: Duration,
    /// Upper bound of the retransmission timeout. Default 60 s (RFC 6298, 2.5).
    pub max_rto: Duration,
    /// G of RFC 6298, 2.3: the timeout is at least the smoothed round-trip time plus this value.
    /// Default 1 ms (a 1,000 Hz tick, as in ns-3). Linux uses `min_rto` instead of this value.
    /// Small values cause spurious timeouts if the round-trip time is steady and above `min_rto`.
    pub clock_granularity: Duration,
    /// Whether the timeout exceeds the smoothed round-trip time by at least `min_rto` (`tcp_rtt_estimator` of Linux).
    /// In RFC 6298, the timeout exceeds the smoothed round-trip time by at least `clock_granularity`.
    /// If off (the default), only the timeout itself must be at least `min_rto`.
    pub min_rto_above_srtt: bool,
    /// Period of the clock that drives the timers. As in Linux, a probe waits for two round trips plus two periods.
    /// A reordering timer waits for its window plus two periods. Default 1 ms.
    pub tick: Duration,
    /// Number of quick ACKs: ACKs that leave without delay. A connection starts with this number.
    /// A connection starts again with this number after a gap longer than the retransmission timeout.
    /// The connection also starts again with all quick ACKs when a segment arrives twice.
    /// If a host answers data with data within the ACK delay, its ACKs leave with the answers instead.
    /// Default 0; 16 in Linux (`TCP_MAX_QUICKACKS`).
    pub quick_acks: u8,
    /// Limits for delayed ACKs. `None`: every segment is acknowledged immediately.
    /// By default every second segment is acknowledged.
    /// A single segment is acknowledged after 40 ms, as in Linux (RFC 5681, 4.2 allows 500 ms).
    pub delayed_ack: Option<DelayedAck>,
    /// Whether the first two duplicate ACKs release new data (RFC 3042). Default on.
    pub limited_transmit: bool,
    /// Loss detection of connections with SACK. Default [`LossRecovery::Rfc6675`].
    pub loss_recovery: LossRecovery,
    /// Whether a sender with [`LossRecovery::Rack`] sends tail loss probes (TLP, RFC 8985, 7).
    /// A probe leaves after two round trips without an ACK, at the end of a flight. Default off.
    pub tail_loss_probe: bool,
    /// Whether a sender with [`LossRecovery::Rack`] spreads the reduction of its window over a round trip.
    /// PRR (RFC 6937) spreads the reduction. Without PRR, the window falls to `ssthresh` immediately. Default off.
    pub rate_reduction: bool,
    /// Whether a sender with [`LossRecovery::Rack`] undoes a needless reduction of its window.
    /// DSACKs show that a reduction was needless (RFC 3708). Default off.
    pub undo: bool,
    /// Whether a sender with [`LossRecovery::Rack`] detects spurious timeouts (F-RTO, RFC 5682).
    /// A sender with F-RTO sends new data after a timeout.
    /// If the timeout was spurious, the sender undoes the reduction of its window. Default off.
    pub frto: bool,
    /// Whether segments contain time stamps, so that an ACK shows which transmission it answers.
    /// With time stamps and `undo`, a sender with [`LossRecovery::Rack`] may undo a reduction.
    /// The undo needs an ACK that answers the original transmission (Eifel, RFC 3522). Default off.
    pub timestamps: bool,
    /// Whether a loss reduces the window itself, as in Linux.
    /// If off (the default), the new window derives from the bytes in flight (FlightSize of RFC 5681).
    pub reduces_window: bool,
    /// Whether the receiver reports SACK blocks and the sender uses them for recovery (RFC 2018, 6675).
    /// Default off, which means the recovery of NewReno (RFC 6582). Both hosts need the same value.
    pub sack: bool,
    /// Large-send offload: payload bytes per burst; 0 (the default) is off.
    /// A connection waits until the window admits a burst of `min(lso_bytes, cwnd / 3)`.
    /// Linux also uses a third of the window (`tcp_tso_win_divisor`).
    /// A connection does not wait if the window admits all remaining data, or if nothing is in flight.
    /// A burst contains as much as the window admits, up to `lso_bytes`, as segments of one MSS back to back.
    /// No other connection of the host sends data between the segments of a burst.
    /// Retransmissions and limited transmit do not wait.
    pub lso_bytes: u32,
    /// Whether a connection keeps its initial window after one lost SYN or SYN-ACK (`tcp_init_transfer` of Linux).
    /// A connection that keeps its initial window starts with one segment only after two losses.
    /// Default off: the connection starts with one segment after one loss (RFC 5681, 3.1).
    pub lost_syn_keeps_window: bool,
    /// Number of timeouts of a SYN that do not double the timeout.
    /// Default 0 (RFC 6298, 5.5); 4 in Linux since 6.5 (`tcp_syn_linear_timeouts`).
    pub linear_syn_timeouts: u8,
    /// Largest number of segments by which one ACK opens the window in slow start (L of RFC 3465).
    /// After a timeout the limit is one segment. Default 2. `None`: every acknowledged byte counts, as in Linux.
    pub slow_start_limit: Option<u32>,
    /// Part of its window that the sender must use, before the window may grow. Default [`WindowUse::Full`].
    pub window_use: WindowUse,
    /// Whether the window shrinks after an idle time longer than a retransmission timeout.
    /// The window halves for each timeout, down to the initial window (RFC 2861; `tcp_slow_start_after_idle` of Linux).
    /// Needs [`LossRecovery::Rack`]. Default off.
    pub restart_after_idle: bool,
    /// Whether all segments of DCTCP are ECN-capable, including SYNs and pure ACKs, as in Linux.
    /// Default off: only data segments are ECN-capable (RFC 8257).
    pub control_ect: bool,
    /// Upper bound of the congestion window in bytes. Default unlimited.
    pub max_cwnd: u64,
    /// Window at which the first slow start ends, in bytes, at least 1.
    /// Default unlimited: slow start ends at the first congestion.
    /// RFC 5681, 3.1 recommends an arbitrarily high value. ns-3 long used 65,535.
    pub initial_ssthresh: u64,
    /// Clock with which CUBIC's HyStart ends slow start.
    /// `None` (the default): slow start ends at the first loss or at `initial_ssthresh`.
    /// Linux has used HyStart since 2.6.29.
    pub hystart: Option<HyStartClock>,
    /// Whether the window of CUBIC grows in whole segments, with the integer arithmetic of Linux.
    /// Default off: the window grows in bytes, with real numbers (RFC 9438).
    pub whole_segments: bool,
    /// Number of duplicate ACKs that indicate a loss, 1 to 255. Default 3 (RFC 5681, 3.2).
    pub duplicate_ack_threshold: u8,
    /// Number of times that a SYN or SYN-ACK is sent again before the connection fails. Default 6 (Linux).
    pub max_syn_retries: u8,
    /// Number of consecutive expiries of the retransmission timer without progress before the connection fails.
    /// Default 15 (Linux).
    pub max_data_retries: u8,
    /// Port on which hosts accept connections, 1 to 32,765, which is below the ports of outgoing connections.
    /// RepNet also uses the next port, for the second connection.
    /// RANS also uses the next two ports, for copies of low class and for flows that are not requests. Default 80.
    pub port: u16,
    /// Congestion control. Default NewReno.
    pub congestion: Congestion,
    /// Whether NewReno and CUBIC negotiate ECN (RFC 3168, 6.1.2).
    /// With ECN they react to a mark as to a loss, once per window. Default off. DCTCP always negotiates ECN.
    pub classic_ecn: bool,
    /// Tags of PIAS. Default none: all segments are in the highest class.
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
            min_rto_above_srtt: false,
            tick: Duration::from_ms(1),
            quick_acks: 0,
            delayed_ack: Some(DelayedAck::below(min_rto)),
            limited_transmit: true,
            loss_recovery: LossRecovery::Rfc6675,
            tail_loss_probe: false,
            rate_reduction: false,
            undo: false,
            frto: false,
            timestamps: false,
            reduces_window: false,
            sack: false,
            lso_bytes: 0,
            lost_syn_keeps_window: false,
            linear_syn_timeouts: 0,
            slow_start_limit: Some(2),
            window_use: WindowUse::Full,
            restart_after_idle: false,
            control_ect: false,
            max_cwnd: u64::MAX,
            initial_ssthresh: u64::MAX,
            hystart: None,
            whole_segments: false,
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

/// Loss detection of connections with SACK. Connections without SACK use the recovery of NewReno (RFC 6582).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossRecovery {
    /// Loss detection by the number of SACK blocks and bytes above a hole (RFC 6675).
    Rfc6675,
    /// Loss detection by the times at which segments were sent (RACK, RFC 8985, 6), as in Linux.
    Rack,
}

/// Part of its congestion window that a sender must use, so that the window may grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowUse {
    /// The window limited the sender (RFC 9438, 5.8).
    Full,
    /// In slow start the sender used more than half of the window (RFC 7661; `tcp_is_cwnd_limited` of Linux).
    /// In congestion avoidance the window limited the sender, as with `Full`. Needs [`LossRecovery::Rack`].
    Half,
}

/// Initial congestion window, at least one segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialWindow {
    /// Number of full segments, at least 1.
    Segments(u32),
    /// Number of payload bytes, at least 1.
    Bytes(u64),
}

/// Limits for delayed ACKs (RFC 1122, 4.2.3.2; RFC 5681, 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayedAck {
    /// Number of segments that one ACK acknowledges, at least 2. RFC 5681 allows 2.
    /// NIC coalescing merges more segments.
    pub segments: u8,
    /// Longest delay of an ACK. The delay is less than `min_rto`, because the peer would time out otherwise.
    pub timeout: Duration,
}

impl DelayedAck {
    /// Returns limits that acknowledge every second segment.
    /// A single segment is acknowledged after 40 ms (Linux), or after half of `min_rto` if this is shorter.
    pub fn below(min_rto: Duration) -> Self {
        Self {
            segments: 2,
            timeout: Duration::from_ms(40).min(min_rto / 2),
        }
    }
}

/// Function that creates the controller of each new connection.
pub type ControllerFactory = Arc<dyn Fn() -> Box<dyn CongestionControl> + Send + Sync>;

/// Congestion control of an endpoint.
#[derive(Clone)]
pub enum Congestion {
    /// NewReno (RFC 5681 and 6582).
    NewReno,
    /// CUBIC (RFC 9438).
    Cubic,
    /// DCTCP (RFC 8257).
    Dctcp {
        /// Weight of the newest window in the estimate of marked bytes, in (0, 1]. Default 1/16.
        gain: f64,
        /// First estimate of the share of marked bytes, in [0, 1].
        /// Default 1 (RFC 8257, 4.2: the first mark halves the window; 0 suits flows that are sensitive to throughput).
        first_alpha: f64,
    },
    /// Controller that the user provides.
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
    /// Checks every parameter.
    ///
    /// # Errors
    /// A parameter is outside its range. The error contains the first such parameter.
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
            self.initial_rto >= self.min_rto && self.initial_rto <= self.max_rto,
            format!("min_rto ({}) to max_rto ({})", self.min_rto, self.max_rto),
        )?;
        if let Some(delayed) = self.delayed_ack {
            check(
                "delayed_ack.segments",
                delayed.segments,
                delayed.segments >= 2,
                "2 to 255 (turn delayed_ack off for one ACK per segment)",
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
        if let Some(HyStartClock::Ticks(tick)) = self.hystart {
            positive("hystart", tick)?;
        }
        positive("tick", self.tick)?;
        let limit = self.slow_start_limit;
        let some_segments = limit.is_none_or(|segments| segments >= 1);
        check(
            "slow_start_limit",
            limit,
            some_segments,
            "at least 1 segment",
        )?;
        let duplicates = self.duplicate_ack_threshold;
        some("duplicate_ack_threshold", duplicates, "1 to 255")?;
        if let Congestion::Dctcp { gain, first_alpha } = self.congestion {
            let holds = gain > 0.0 && gain <= 1.0;
            check("congestion.gain", gain, holds, "more than 0, at most 1")?;
            within("congestion.first_alpha", first_alpha, 0.0..=1.0, "")?;
        }
        Ok(())
    }

    /// Returns whether senders detect losses by the times at which segments were sent.
    #[inline]
    pub(crate) fn detects_by_time(&self) -> bool {
        self.sack && self.loss_recovery == LossRecovery::Rack
    }

    /// Returns the initial window in bytes: at least one segment, at most `max_cwnd`.
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
            // Only standard controllers are inline. HyStart and CUBIC in whole segments are larger, so they are boxed.
            Congestion::Cubic => match (self.hystart, self.whole_segments) {
                (None, false) => Controller::Cubic(Cubic::new()),
                (None, true) => Controller::Custom(Box::new(LinuxCubic::new(self.tick))),
                (Some(clock), false) => Controller::Custom(Box::new(HyStart::new(clock))),
                (Some(clock), true) => {
                    let hystart = HyStart::new(clock).in_whole_segments(self.tick);
                    Controller::Custom(Box::new(hystart))
                }
            },
            Congestion::Dctcp { gain, first_alpha } => {
                Controller::Dctcp(Dctcp::new(*gain, *first_alpha))
            }
            Congestion::Custom(make) => Controller::Custom(make()),
        }
    }
}
