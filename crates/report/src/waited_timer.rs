//! Retransmission timer for which a flow waited.

use tailcut_record::{FlowRecord, Timer, Timers};
use tailcut_units::Duration;

/// Timer for which a flow waited.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum WaitedTimer {
    /// The flow waited for no timer.
    #[default]
    No,
    /// Initial timer, before the first RTT sample, during the handshake.
    Initial,
    /// Minimum timer or a longer timer, after the handshake.
    Least,
}

impl WaitedTimer {
    /// Returns the timer of a flow. A flow waited for a timer if a timer fired and the flow took at least that long.
    /// The second condition is necessary because each copy of a flow has its own timers: a timer costs nothing if
    /// another copy finished first.
    pub(crate) fn of_flow(flow: &FlowRecord, timers: &Timers) -> Self {
        let took = |span: Option<Duration>, timer: &Option<Timer>| {
            timer
                .as_ref()
                .is_some_and(|timer| span.is_none_or(|span| span.as_ns() >= timer.ns))
        };
        match flow.timeouts {
            0 => Self::No,
            _ if took(flow.handshake, &timers.initial) => Self::Initial,
            _ if took(flow.fct, &timers.least) => Self::Least,
            _ => Self::No,
        }
    }

    /// Returns the timer of a flow whose timers are not counted: it may have waited if it took at least as long as a
    /// timer.
    pub(crate) fn at_most(took: Option<Duration>, timers: &Timers) -> Self {
        let least = timers
            .least
            .iter()
            .chain(&timers.initial)
            .map(|t| t.ns)
            .min();
        match least {
            Some(least) if took.is_none_or(|took| took.as_ns() >= least) => Self::Least,
            _ => Self::No,
        }
    }
}
