//! The retransmission timer that a flow waited for.

use tailcut_record::{FlowRecord, Timer, Timers};
use tailcut_units::Duration;

/// The timer that a flow waited for.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Waited {
    /// None.
    #[default]
    No,
    /// That before the first sample, for its handshake.
    Initial,
    /// The shortest one, or longer, after it.
    Least,
}

impl Waited {
    /// A flow waited for a timer when one fired and it took at least as long: copies of a flow have
    /// timers of their own, and one that fired where another copy was first cost nothing.
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

    /// Of what keeps no count of timers: it may have waited for one if it took as long.
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
