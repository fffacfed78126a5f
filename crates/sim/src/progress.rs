//! Progress of a run, estimated from its workload.

use crate::config::{FlowsSpec, WorkloadSpec};
use crate::recorder::Started;
use tailcut_units::{Duration, Time};

/// Length of a run, as a duration and as a number of transfers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgressEstimate {
    /// Latest end of the arrivals.
    span: Duration,
    /// Longest time between the end of the arrivals and the end of the run.
    drain: Duration,
    /// Largest number of flows, requests and sessions. `None`: no limit.
    most: Option<u64>,
}

impl ProgressEstimate {
    pub fn new(workload: &WorkloadSpec, drain: Duration) -> Self {
        let most = workload.parts.iter().map(|part| match &part.flows {
            FlowsSpec::Trace(trace) => Some(trace.flows().len() as u64),
            FlowsSpec::Coflows(trace) => Some(trace.flow_count()),
            other => other.limits().and_then(|limits| limits.at_most),
        });
        Self {
            span: workload.span(),
            drain,
            most: most.sum(),
        }
    }

    /// Returns the share of the run that is complete at `now`, from 0 to 1.
    /// The share of the arrivals is measured by time and by number. The larger of both shares is used.
    /// The larger value is multiplied by the finished share of the started transfers.
    pub fn share(&self, now: Time, so_far: Started) -> f64 {
        let now = now.since(Time::ZERO);
        let by_clock = part(now.as_ps(), self.span.as_ps());
        let by_number = self.most.map_or(0.0, |most| part(so_far.started, most));
        let finished = so_far.started - so_far.unfinished.min(so_far.started);
        let over = by_clock.max(by_number) * part(finished, so_far.started);
        // A run with unfinished flows ends at a fixed time, so the share of this time is a lower bound.
        over.max(part(now.as_ps(), (self.span + self.drain).as_ps()))
    }
}

/// Returns `done` as a share of `whole`, or 1 if `whole` is zero.
fn part(done: u64, whole: u64) -> f64 {
    match whole {
        0 => 1.0,
        _ => (done as f64 / whole as f64).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(span_ms: u64, drain_ms: u64, most: Option<u64>) -> ProgressEstimate {
        ProgressEstimate {
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
        // The limits of 1 s for arrivals and 10 s for the drain do not matter, because the run ends after 20 ms.
        let estimate = estimate(1_000, 10_000, Some(1_000));
        let share = estimate.share(at(10), so_far(500, 0));
        assert!((share - 0.5).abs() < 1e-9, "{share}");
        assert_eq!(estimate.share(at(20), so_far(1_000, 0)), 1.0);
    }

    #[test]
    fn a_run_without_a_number_is_as_far_as_its_clock() {
        let estimate = estimate(100, 10_000, None);
        let share = estimate.share(at(25), so_far(70, 0));
        assert!((share - 0.25).abs() < 1e-9, "{share}");
    }

    #[test]
    fn a_burst_is_as_far_as_its_flows_have_finished() {
        let estimate = estimate(0, 10_000, None);
        let share = estimate.share(at(1), so_far(100, 80));
        assert!((share - 0.2).abs() < 1e-9, "{share}");
    }

    #[test]
    fn flows_that_never_finish_leave_it_to_the_clock() {
        let estimate = estimate(100, 100, None);
        let share = estimate.share(at(150), so_far(8, 8));
        assert!((share - 0.75).abs() < 1e-9, "{share}");
        assert_eq!(estimate.share(at(200), so_far(8, 8)), 1.0);
    }
}
