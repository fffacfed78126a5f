//! What a workload offers the links, how much was unfinished while it arrived, and how long all of it took.

use crate::{FlowRows, RequestRecord};
use serde::{Deserialize, Serialize};
use tailcut_units::{Duration, Time};

/// The load that a workload offers every tier of links, from the traffic matrix and the topology, before
/// anything is run: data packets with headers, preamble and gap, over all shortest paths evenly.
/// Acknowledgements, handshakes, copies and retransmissions come on top.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct OfferedLoad {
    /// The tiers, from the hosts up and down again.
    pub tiers: Vec<TierLoad>,
    /// The link that is offered the most of what it can carry, where single links are known.
    pub busiest: Option<LinkLoad>,
    /// Kinds of the workload's parts that offer no load of their own: `closed`, `burst`, `trace`.
    pub exempt: Vec<String>,
}

/// The load of the links of one tier in one direction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TierLoad {
    /// The links in words, such as `leaf uplinks`.
    pub tier: String,
    /// What is offered over what the links can carry, those that no traffic may take left out. Above 1 the
    /// tier is overloaded.
    pub load: f64,
    /// How much of it is in proportion to the run's load; the rest is that of parts with a rate of their
    /// own.
    pub in_proportion: f64,
}

/// The load of one link.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LinkLoad {
    /// Its ends, `from>to`.
    pub link: String,
    /// What is offered over what it can carry.
    pub load: f64,
}

impl OfferedLoad {
    /// The tier with the highest load, the first of those that share it.
    pub fn highest(&self) -> Option<&TierLoad> {
        let tiers = self.tiers.iter();
        tiers.reduce(|best, next| match next.load > best.load * (1.0 + 1e-9) {
            true => next,
            false => best,
        })
    }

    /// The tier with the highest load, where that is above 1.
    pub fn overloaded(&self) -> Option<&TierLoad> {
        self.highest().filter(|tier| tier.load > 1.0)
    }
}

/// Bytes of flows and requests that have started and not finished, in the mean over a part of the
/// arrivals. Each counts whole until it has finished.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct UnfinishedBytes {
    /// In the middle third of the time from the first start to the last.
    pub middle: f64,
    /// In the last third.
    pub last: f64,
}

impl UnfinishedBytes {
    /// Of these flows and requests; `None` where all start at once.
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

/// From the first start to the last end of these flows and requests; `None` where some did not end, or
/// there are none.
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
        // Thirds: 0 to 30, 30 to 60, 60 to 90.
        let flows = [
            flow(0, Some(10), 5_000),
            flow(30, Some(15), 1_000),
            flow(45, None, 1_000),
            flow(90, Some(1), 9),
        ];
        let unfinished = UnfinishedBytes::of(&flows[..], &[]).expect("they start apart");
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
