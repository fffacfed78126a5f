//! Load that a workload offers to links, the backlog of unfinished bytes, and the makespan of a run.

use crate::{FlowRows, RequestRecord};
use serde::{Deserialize, Serialize};
use tailcut_units::{Duration, Time};

/// Load that a workload offers to each tier of links, computed before the run from the traffic matrix and the topology.
/// The load includes data packets with headers, preamble and gap, spread evenly over all shortest paths.
/// The load does not include acknowledgements, handshakes, copies and retransmissions.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct OfferedLoad {
    /// Tiers, from the hosts up to the core and down again.
    pub tiers: Vec<TierLoad>,
    /// Link with the highest load; `None`: the loads of single links are unknown.
    pub busiest: Option<LinkLoad>,
    /// Kinds of the workload's parts that `tiers` does not include, such as `closed`, `burst` and `trace`.
    /// Parts of the kinds `closed`, `burst` and `trace` have no arrival rate.
    pub exempt: Vec<String>,
}

/// Load of one tier's links in one direction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TierLoad {
    /// Name of the links, such as `leaf uplinks`.
    pub tier: String,
    /// Offered rate divided by the capacity of all links that traffic may use. Above 1, the tier is overloaded.
    pub load: f64,
    /// Part of `load` that is proportional to the run's load. All other load comes from parts with a fixed rate.
    pub in_proportion: f64,
}

/// Load of one link.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LinkLoad {
    /// Names of the two nodes that the link connects: `from>to`.
    pub link: String,
    /// Offered rate divided by the link's capacity.
    pub load: f64,
}

impl OfferedLoad {
    /// Returns the tier with the highest load. If several tiers have this load, returns the first of them.
    pub fn highest(&self) -> Option<&TierLoad> {
        let tiers = self.tiers.iter();
        // Loads that differ only by rounding errors count as equal.
        tiers.reduce(|best, next| match next.load > best.load * (1.0 + 1e-9) {
            true => next,
            false => best,
        })
    }

    /// Returns the tier with the highest load if this load is above 1.
    pub fn overloaded(&self) -> Option<&TierLoad> {
        self.highest().filter(|tier| tier.load > 1.0)
    }
}

/// Mean number of bytes in flows and requests that have started and not finished.
/// Until a flow has finished, all its bytes are included.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct UnfinishedBytes {
    /// Mean over the middle third of the time between the first and the last start, in bytes.
    pub middle: f64,
    /// Mean over the last third of the time between the first and the last start, in bytes.
    pub last: f64,
}

impl UnfinishedBytes {
    /// Computes the means for the given flows and requests. Returns `None` if all of them start at the same time.
    pub fn of(flows: &(impl FlowRows + ?Sized), requests: &[RequestRecord]) -> Option<Self> {
        let spans = || {
            let of_flows = flows.rows().map(|f| (f.start, f.fct, f.bytes));
            let of_requests = requests.iter().map(|r| (r.start, r.latency, r.bytes));
            of_flows.chain(of_requests).map(|(start, span, bytes)| {
                let start = start.as_ps() as f64;
                let span = span.map_or(f64::INFINITY, |span: Duration| span.as_ps() as f64);
                (start, start + span, bytes.0 as f64)
            })
        };
        let ends = (f64::INFINITY, 0.0);
        let (first, last) = spans().fold(ends, |(first, last), (start, ..)| {
            (f64::min(first, start), f64::max(last, start))
        });
        let third = (last - first) / 3.0;
        let share_in = |from: f64, (start, end, bytes): (f64, f64, f64)| {
            let within = end.min(from + third) - start.max(from);
            bytes * (within / third).max(0.0)
        };
        (third > 0.0).then(|| {
            spans().fold(Self::default(), |sum, span| Self {
                middle: sum.middle + share_in(first + third, span),
                last: sum.last + share_in(first + 2.0 * third, span),
            })
        })
    }
}

/// Returns the time from the first start to the last end of the given flows and requests.
/// Returns `None` without flows and requests, or if at least one of them did not end.
pub(crate) fn makespan(
    flows: &(impl FlowRows + ?Sized),
    requests: &[RequestRecord],
) -> Option<Duration> {
    let of_flows = flows.rows().map(|f| (f.start, f.fct));
    let of_requests = requests.iter().map(|r| (r.start, r.latency));
    let mut spans = of_flows.chain(of_requests);
    let none = (Time::MAX, Time::ZERO);
    let (first, last) = spans.try_fold(none, |(first, last), (start, span)| {
        let end = start.saturating_add(span?);
        Some((first.min(start), last.max(end)))
    })?;
    (first <= last).then(|| last.since(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowRecord;
    use tailcut_units::Bytes;

    fn flow(start_us: u64, fct_us: Option<u64>, bytes: u64) -> FlowRecord {
        FlowRecord {
            start: Time::ZERO + Duration::from_us(start_us),
            fct: fct_us.map(Duration::from_us),
            bytes: Bytes(bytes),
            ..FlowRecord::default()
        }
    }

    #[test]
    fn what_never_finishes_counts_from_its_start_on() {
        // The starts are between 0 and 90 us. The thirds are 0 to 30, 30 to 60 and 60 to 90 us.
        let flows = [
            flow(0, Some(10), 5_000),
            flow(30, Some(15), 1_000),
            flow(45, None, 1_000),
            flow(90, Some(1), 9),
        ];
        let unfinished =
            UnfinishedBytes::of(&flows[..], &[]).expect("flows with different start times");
        assert!((unfinished.middle - 1_000.0).abs() < 1e-6, "{unfinished:?}");
        assert!((unfinished.last - 1_000.0).abs() < 1e-6, "{unfinished:?}");
    }

    #[test]
    fn the_makespan_is_known_when_everything_has_finished() {
        let flows = [flow(5, Some(10), 1), flow(7, Some(3), 1)];
        assert_eq!(makespan(&flows[..], &[]), Some(Duration::from_us(10)));
        assert_eq!(
            makespan(&[flow(5, Some(10), 1), flow(7, None, 1)][..], &[]),
            None
        );
        assert_eq!(makespan(&[][..], &[]), None);
    }

    #[test]
    fn where_everything_starts_at_once_there_are_no_thirds() {
        let flows = [flow(7, Some(1), 1), flow(7, None, 1)];
        assert_eq!(UnfinishedBytes::of(&flows[..], &[]), None);
        assert_eq!(UnfinishedBytes::of(&[][..], &[]), None);
    }
}
