//! Profiles (the mechanisms of one TCP stack under one name), and sets of timers.

use super::config::{DelayedAck, InitialWindow, LossRecovery, TcpConfig, WindowUse};
use super::congestion::HyStartClock;
use tailcut_units::Duration;

/// TCP stack whose mechanisms a connection uses.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Profile {
    /// RFCs 5681, 6298, 6582 and 6675: delayed ACKs from the start, and recovery by duplicate ACKs and SACK blocks.
    Rfc,
    /// Linux 6.18.
    #[default]
    Linux,
    /// ns-2 with its own sender and receiver (`Agent/TCP/Newreno` and `Agent/TCPSink`), as in papers from 2010 to 2015.
    /// The receiver acknowledges every segment.
    Ns2,
}

/// Set of timers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum TimerSet {
    /// Timers for a data centre: timeouts of at least 10 ms.
    /// With a timeout of 1 s, lost SYNs would dominate the tail of every distribution.
    #[default]
    DataCentre,
    /// Timers of an unchanged Linux: timeouts of at least 200 ms, and of 1 s before the first sample.
    Stock,
    /// Timers of ns-2 (`tcl/lib/ns-default.tcl` of ns-2.35: `minrto_` 0.2, `rtxcur_init_` 3.0, `tcpTick_` 0.01).
    Ns2,
}

impl TcpConfig {
    /// Returns the defaults with timers for a data centre.
    /// `min_rto` and `initial_rto` are 10 ms, and ACKs are delayed by at most 5 ms. Data centres use 1 to 10 ms.
    pub fn data_centre() -> Self {
        Self::of(Profile::Rfc, TimerSet::DataCentre)
    }

    /// Returns the defaults with the mechanisms of `profile` and the set of timers `timers`.
    pub fn of(profile: Profile, timers: TimerSet) -> Self {
        let mut config = Self::default();
        match profile {
            Profile::Rfc => {}
            Profile::Linux => config.set_linux(),
            Profile::Ns2 => {
                // ns-2 starts with a window of two segments (`windowInit_`).
                // In ns-2 each ACK opens the window by one segment in slow start.
                config.initial_window = InitialWindow::Segments(2);
                config.slow_start_limit = Some(1);
                config.delayed_ack = None;
            }
        }
        config.set_timers(timers);
        config
    }

    /// Sets the mechanisms of Linux. The comments of the fields name functions and settings of Linux 6.18.
    fn set_linux(&mut self) {
        self.sack = true;
        self.loss_recovery = LossRecovery::Rack;
        self.tail_loss_probe = true;
        self.rate_reduction = true;
        self.undo = true;
        self.frto = true;
        self.timestamps = true;
        self.reduces_window = true;
        self.quick_acks = 16;
        self.lost_syn_keeps_window = true;
        self.linear_syn_timeouts = 4;
        self.slow_start_limit = None;
        self.window_use = WindowUse::Half;
        self.hystart = Some(HyStartClock::Microseconds);
        self.whole_segments = true;
        self.restart_after_idle = true;
        self.control_ect = true;
        self.min_rto_above_srtt = true;
    }

    /// Sets the timers. The number of segments per delayed ACK does not change.
    fn set_timers(&mut self, timers: TimerSet) {
        let (least, first, granularity) = match timers {
            TimerSet::DataCentre => (10, 10, 1),
            TimerSet::Stock => (200, 1_000, 1),
            TimerSet::Ns2 => (200, 3_000, 10),
        };
        self.min_rto = Duration::from_ms(least);
        self.initial_rto = Duration::from_ms(first);
        self.clock_granularity = Duration::from_ms(granularity);
        self.delayed_ack = self.delayed_ack.map(|limits| DelayedAck {
            segments: limits.segments,
            ..DelayedAck::below(self.min_rto)
        });
    }
}
