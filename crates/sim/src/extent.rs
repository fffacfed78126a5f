//! How far a run has come, as far as its workload tells in advance.

use crate::config::{FlowsSpec, WorkloadSpec};
use crate::recorder::Started;
use tailcut_units::{Duration, Time};

/// How long a run is, by its clock and by what it starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Arrivals end by then.
    span: Duration,
    /// The run ends so long after them, at the latest.
    drain: Duration,
    /// How many flows, requests and sessions start at most; `None` where nothing says.
    most: Option<u64>,
}

impl Extent {
    pub fn new(workload: &WorkloadSpec, drain: Duration) -> Self {
        let most = workload.parts.iter().map(|part| match &part.flows {
            FlowsSpec::Trace(trace) => Some(trace.flows().len() as u64),
            other => other.limits().and_then(|limits| limits.at_most),
        });
        Self {
            span: workload.span(),
            drain,
            most: most.sum(),
        }
    }

    /// The share of the run that is over at `now`, 0 to 1. Arrivals are as far as the clock or
    /// their number says, whichever is further; what has started and not finished is not over.
    pub fn share(&self, now: Time, so_far: Started) -> f64 {
        let now = now.since(Time::ZERO);
        let by_clock = part(now.as_ps(), self.span.as_ps());
        let by_number = self.most.map_or(0.0, |most| part(so_far.started, most));
        let finished = so_far.started - so_far.unfinished.min(so_far.started);
        let over = by_clock.max(by_number) * part(finished, so_far.started);
        // A run whose flows do not finish ends when its time is over.
        over.max(part(now.as_ps(), (self.span + self.drain).as_ps()))
    }
}

/// How much of `whole` is `done`; all of nothing.
fn part(done: u64, whole: u64) -> f64 {
    match whole {
        0 => 1.0,
        _ => (done as f64 / whole as f64).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(span_ms: u64, drain_ms: u64, most: Option<u64>) -> Extent {
        Extent {
            span: Duration::from_ms(span_ms),
            drain: Duration::from_ms(drain_ms),
            most,
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    fn so_far(started: u64, unfinished: u64) -> Started {
        Started {
            started,
            unfinished,
        }
    }

    #[test]
    fn a_run_with_a_number_of_flows_is_as_far_as_its_flows() {
        // A second for arrivals and ten for stragglers say nothing of a run that ends after 20 ms.
        let extent = extent(1_000, 10_000, Some(1_000));
        let share = extent.share(at(10), so_far(500, 0));
        assert!((share - 0.5).abs() < 1e-9, "{share}");
        assert_eq!(extent.share(at(20), so_far(1_000, 0)), 1.0);
    }

    #[test]
    fn a_run_without_a_number_is_as_far_as_its_clock() {
        let extent = extent(100, 10_000, None);
        let share = extent.share(at(25), so_far(70, 0));
        assert!((share - 0.25).abs() < 1e-9, "{share}");
    }

    #[test]
    fn a_burst_is_as_far_as_its_flows_have_finished() {
        let extent = extent(0, 10_000, None);
        let share = extent.share(at(1), so_far(100, 80));
        assert!((share - 0.2).abs() < 1e-9, "{share}");
    }

    #[test]
    fn flows_that_never_finish_leave_it_to_the_clock() {
        let extent = extent(100, 100, None);
        let share = extent.share(at(150), so_far(8, 8));
        assert!((share - 0.75).abs() < 1e-9, "{share}");
        assert_eq!(extent.share(at(200), so_far(8, 8)), 1.0);
    }
}
