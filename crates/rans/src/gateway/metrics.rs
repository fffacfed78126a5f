//! A gateway's counts for Prometheus.

use super::counts::RouteCounts;
use super::route::Route;
use crate::client::{ClientCounts, ReplicaState};
use crate::ranges::{Ranges, RangesCounts};
use tailcut_proxy::metrics::{ConstCounter, ConstGauge, Page, Unit};

/// A route, and the connections of its listener.
pub(super) struct Shown<'a> {
    pub route: &'a Route,
    pub connections: usize,
}

impl Shown<'_> {
    fn label(&self) -> [(&'static str, String); 1] {
        [("route", self.route.config.name.clone())]
    }

    fn counts(&self) -> &RouteCounts {
        &self.route.counts
    }
}

/// A counter: its name, its help, and its value.
type Of<T> = (&'static str, &'static str, fn(&T) -> u64);

const OF_RANGES: [Of<RangesCounts>; 3] = [
    (
        "range_objects",
        "Objects that came in parts, since the replicas changed last",
        |counts| counts.objects,
    ),
    (
        "range_parts",
        "Ranges that replicas were asked for, since the replicas changed last",
        |counts| counts.parts,
    ),
    (
        "range_extra_bytes",
        "Bytes of ranges that came twice, since the replicas changed last",
        |counts| counts.extra,
    ),
];

const OF_CLIENTS: [Of<ClientCounts>; 6] = [
    (
        "client_requests",
        "Requests that were given to replicas",
        |counts| counts.requests,
    ),
    ("copies", "Copies of requests, beyond the first", |counts| {
        counts.copies
    }),
    (
        "won_by_copy",
        "Requests that a copy answered first",
        |counts| counts.won_by_copy,
    ),
    (
        "purged",
        "Requests and copies that were dropped on their way",
        |counts| counts.purged,
    ),
    (
        "spared",
        "Losers that ran to their end, since the budget of resets was spent",
        |counts| counts.spared,
    ),
    (
        "failed",
        "Requests and copies that failed, or had an answer that was not acceptable",
        |counts| counts.failed,
    ),
];

const STATES: [Of<ReplicaState>; 3] = [
    (
        "replica_in_flight",
        "Requests and copies that a replica has to answer",
        |state| u64::from(state.in_flight),
    ),
    ("replica_up", "Whether a replica may be asked", |state| {
        u64::from(state.is_open)
    }),
    (
        "replica_purges",
        "Whether a replica is known to drop work whose client leaves",
        |state| u64::from(state.purges == Some(true)),
    ),
];

/// Returns the page.
pub(super) fn page(routes: &[Shown<'_>]) -> String {
    let mut page = Page::new("tailcut_gateway");
    let answered = routes.iter().flat_map(|shown| {
        let statuses = ["1xx", "2xx", "3xx", "4xx", "5xx"].map(str::to_owned);
        let counters = statuses.into_iter().zip(&shown.counts().answered);
        counters.map(|(status, count)| {
            let [route] = shown.label();
            ([route, ("status", status)], count.clone())
        })
    });
    let help = "Requests answered, by the hundreds of their status";
    page.family("requests", None, help, answered);
    let of_routes = || routes.iter().map(|shown| (shown.label(), shown.counts()));
    page.family(
        "requests_open",
        None,
        "Requests without an answer yet",
        of_routes().map(|(label, counts)| (label, counts.open.clone())),
    );
    page.family(
        "requests_left",
        None,
        "Requests whose client left before the answer",
        of_routes().map(|(label, counts)| (label, counts.left.clone())),
    );
    page.family(
        "requests_refused",
        None,
        "Requests that got 503, since too many were open",
        of_routes().map(|(label, counts)| (label, counts.refused.clone())),
    );
    page.family(
        "connections",
        None,
        "Connections of clients",
        routes
            .iter()
            .map(|shown| (shown.label(), ConstGauge::new(shown.connections as u64))),
    );
    for (name, help, value) in OF_RANGES {
        let samples = routes.iter().map(|shown| {
            let pool = shown.route.pool();
            let counts = pool.ranges.as_ref().map(Ranges::counts).unwrap_or_default();
            (shown.label(), ConstCounter::new(value(&counts)))
        });
        page.family(name, None, help, samples);
    }
    for (name, help, value) in OF_CLIENTS {
        let samples = routes.iter().map(|shown| {
            let counts = shown.route.pool().client.counts();
            let counts = shown.counts().with_past(&counts);
            (shown.label(), ConstCounter::new(value(&counts)))
        });
        page.family(name, None, help, samples);
    }
    page.family(
        "request",
        Some(Unit::Seconds),
        "Time until an answer began; small answers until they were whole",
        of_routes().map(|(label, counts)| (label, counts.latencies.clone())),
    );
    replicas(&mut page, routes);
    page.text()
}

fn replicas(page: &mut Page, routes: &[Shown<'_>]) {
    let all = || {
        routes.iter().flat_map(|shown| {
            let pool = shown.route.pool();
            let states = pool.client.states();
            let members = pool.members.clone().into_iter().zip(states);
            members.map(|(member, state)| {
                let [route] = shown.label();
                let replica = ("replica", member.replica.to.to_string());
                let address = ("address", member.address.to_string());
                ([route, replica, address], member.counts, state)
            })
        })
    };
    page.family(
        "replica_requests",
        None,
        "Requests and copies sent to a replica",
        all().map(|(labels, counts, _)| (labels, counts.asked.clone())),
    );
    page.family(
        "replica_failed",
        None,
        "Requests and copies of a replica without a whole answer",
        all().map(|(labels, counts, _)| (labels, counts.failed.clone())),
    );
    for (name, help, value) in STATES {
        let samples = all().map(|(labels, _, state)| (labels, ConstGauge::new(value(&state))));
        page.family(name, None, help, samples);
    }
    let latencies = all().filter_map(|(labels, _, state)| {
        let seconds = state.latency?.as_secs_f64();
        Some((labels, ConstGauge::new(seconds)))
    });
    let help = "Moving average of a replica's latency";
    page.family("replica_latency", Some(Unit::Seconds), help, latencies);
}
