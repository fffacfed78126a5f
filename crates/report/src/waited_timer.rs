//! Retransmission timer for which a flow waited.

use tailcut_record::{FlowRecord, Timer, Timers};
use tailcut_units::Duration;

/// Retransmission timer for which a flow waited.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum WaitedTimer {
    /// The flow waited for no timer.
    #[default]
    No,
    /// The flow waited for the initial timer, which applies before the first RTT sample, during the handshake.
    Initial,
    /// The flow waited for the minimum timer or a longer timer, after the handshake.
    Least,
}

impl WaitedTimer {
    /// Returns the timer for which a flow waited.
    /// A flow waited for a timer if the timer fired and the flow took at least as long as the timer.
    /// The time of the flow matters because each copy of a flow has its own timers.
    /// If another copy finishes before a timer fires, this timer does not delay the flow.
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

    /// Returns the timer for which a flow may have waited, if timers are not counted.
    /// A flow may have waited for a timer if it took at least as long as the timer.
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
