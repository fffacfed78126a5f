//! Metrics of a gateway for Prometheus.

use super::counts::RouteCounts;
use super::route::Route;
use crate::client::{ClientCounts, ReplicaState};
use crate::ranges::{Ranges, RangesCounts};
use std::sync::PoisonError;
use tailcut_proxy::metrics::{ConstCounter, ConstGauge, Page, Unit};
use tailcut_requests::{TrialReport, Verdict};

/// Route, and the number of connections of its listener.
pub(super) struct RouteMetrics<'a> {
    pub route: &'a Route,
    /// Number of connections of the listener. `None`: another route shows it.
    pub connections: Option<usize>,
}

impl RouteMetrics<'_> {
    fn label(&self) -> [(&'static str, String); 1] {
        [("route", self.route.config.name.clone())]
    }

    fn counts(&self) -> &RouteCounts {
        &self.route.counts
    }
}

/// Name and help text of a metric, and a function that returns its value.
type MetricOf<T> = (&'static str, &'static str, fn(&T) -> u64);

const RANGES: [MetricOf<RangesCounts>; 3] = [
    (
        "range_objects",
        "Objects received in ranges, since the replicas last changed",
        |counts| counts.objects,
    ),
    (
        "range_parts",
        "Ranges requested from replicas, since the replicas last changed",
        |counts| counts.parts,
    ),
    (
        "range_extra_bytes",
        "Bytes of ranges received twice, since the replicas last changed",
        |counts| counts.extra,
    ),
];

const CLIENTS: [MetricOf<ClientCounts>; 6] = [
    (
        "client_requests",
        "Requests that were sent to replicas",
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
        "Requests and copies dropped before their answer",
        |counts| counts.purged,
    ),
    (
        "spared",
        "Slower copies that ran to their end, because the budget of resets was used up",
        |counts| counts.spared,
    ),
    (
        "failed",
        "Requests and copies that failed, or had an answer that was not acceptable",
        |counts| counts.failed,
    ),
];

const STATES: [MetricOf<ReplicaState>; 3] = [
    (
        "replica_in_flight",
        "Requests and copies that a replica has to answer",
        |state| u64::from(state.in_flight),
    ),
    ("replica_up", "Whether a replica gets requests", |state| {
        u64::from(state.is_open)
    }),
    (
        "replica_purges",
        "Whether a replica is known to drop the work of clients that leave",
        |state| u64::from(state.purges == Some(true)),
    ),
];

/// Returns the text of the metrics page.
pub(super) fn page(routes: &[RouteMetrics<'_>], dropped_lines: u64) -> String {
    let mut page = Page::new("tailcut_gateway");
    let answered = routes.iter().flat_map(|shown| {
        let statuses = ["1xx", "2xx", "3xx", "4xx", "5xx"].map(str::to_owned);
        let counters = statuses.into_iter().zip(&shown.counts().answered);
        counters.map(|(status, count)| {
            let [route] = shown.label();
            ([route, ("status", status)], count.clone())
        })
    });
    let help = "Requests answered, by the first digit of their status";
    page.family("requests", None, help, answered);
    let finished = routes.iter().flat_map(|shown| {
        let counts = shown.counts().finished.labels();
        counts.into_iter().map(|([status, reason], count)| {
            let [route] = shown.label();
            ([route, status, reason], ConstCounter::new(count))
        })
    });
    page.family(
        "answers",
        None,
        "Requests that are over, by status, and by the reason why they failed",
        finished,
    );
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
        "Requests answered with 503, because too many were open",
        of_routes().map(|(label, counts)| (label, counts.refused.clone())),
    );
    page.family(
        "connections",
        None,
        "Connections of clients",
        routes
            .iter()
            .filter_map(|shown| Some((shown.label(), ConstGauge::new(shown.connections? as u64)))),
    );
    for (name, help, value) in RANGES {
        let samples = routes.iter().map(|shown| {
            let pool = shown.route.pool();
            let counts = pool.ranges.as_ref().map(Ranges::counts).unwrap_or_default();
            (shown.label(), ConstCounter::new(value(&counts)))
        });
        page.family(name, None, help, samples);
    }
    for (name, help, value) in CLIENTS {
        let samples = routes.iter().map(|shown| {
            let counts = shown.route.pool().counts();
            let counts = shown.counts().with_past(&counts);
            (shown.label(), ConstCounter::new(value(&counts)))
        });
        page.family(name, None, help, samples);
    }
    page.family(
        "request",
        Some(Unit::Seconds),
        "Time until the first byte of an answer, or the last byte of a small answer",
        of_routes().map(|(label, counts)| (label, counts.latencies.clone())),
    );
    trials(&mut page, routes);
    replicas(&mut page, routes);
    page.single(
        "log_lines_dropped",
        "Lines of logs that were dropped, because their output was too slow",
        ConstCounter::new(dropped_lines),
    );
    page.text()
}

/// Name and help text of a metric of the trials, and a function that returns its value if it is known.
type TrialMetric = (&'static str, &'static str, fn(&TrialReport) -> Option<f64>);

const TRIALS: [TrialMetric; 3] = [
    (
        "copies_gain_ratio",
        "Share of the mean latency that copies save; below 0: they make requests slower",
        |report| report.gain,
    ),
    (
        "copies_cost_ratio",
        "Copies for each request, in slots of time with copies",
        |report| report.cost,
    ),
    (
        "copies_help",
        "Whether copies help: 1, they do not: 0, not known yet: 0.5",
        |report| {
            Some(match report.verdict {
                Verdict::Helps => 1.0,
                Verdict::Unknown => 0.5,
                Verdict::Useless => 0.0,
            })
        },
    ),
];

fn trials(page: &mut Page, routes: &[RouteMetrics<'_>]) {
    for (name, help, value) in TRIALS {
        let samples = routes.iter().filter_map(|shown| {
            let value = value(&shown.route.pool().trial()?)?;
            Some((shown.label(), ConstGauge::new(value)))
        });
        page.family(name, None, help, samples);
    }
    let tests = routes.iter().filter_map(|shown| {
        let tests = shown.route.pool().trial()?.tests;
        Some((shown.label(), ConstCounter::new(tests)))
    });
    let help = "Comparisons of slots of time with and without copies";
    page.family("copies_tests", None, help, tests);
}

fn replicas(page: &mut Page, routes: &[RouteMetrics<'_>]) {
    let all = || {
        routes.iter().flat_map(|shown| {
            let pool = shown.route.pool();
            let states = pool.states();
            let members = pool.members.clone().into_iter().zip(states);
            members.map(|(member, state)| {
                let [route] = shown.label();
                let replica = ("replica", member.replica.to.to_string());
                let address = ("address", member.address.to_string());
                ([route, replica, address], member.counts, state)
            })
        })
    };
    let unresolved = routes.iter().flat_map(|shown| {
        let unresolved = shown
            .route
            .unresolved
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let replicas = shown.route.config.replicas.iter().enumerate();
        let samples = replicas.map(|(index, replica)| {
            let [route] = shown.label();
            let replica = ("replica", replica.to.to_string());
            (
                [route, replica],
                ConstGauge::new(u64::from(unresolved.contains(&index))),
            )
        });
        samples.collect::<Vec<_>>()
    });
    page.family(
        "replica_unresolved",
        None,
        "Whether a replica has no address, because its name could not be resolved",
        unresolved,
    );
    page.family(
        "replica_requests",
        None,
        "Requests and copies sent to a replica",
        all().map(|(labels, counts, _)| (labels, counts.requests.clone())),
    );
    page.family(
        "replica_failed",
        None,
        "Requests and copies of a replica without a whole answer",
        all().map(|(labels, counts, _)| (labels, counts.failed.clone())),
    );
    let reasons = all().flat_map(|([route, replica, address], counts, _)| {
        let reasons = counts.reasons().into_iter();
        reasons.map(move |(reason, count)| {
            let labels = [route.clone(), replica.clone(), address.clone()];
            let reason = ("reason", reason.name().to_owned());
            (
                labels.into_iter().chain([reason]).collect::<Vec<_>>(),
                ConstCounter::new(count),
            )
        })
    });
    page.family(
        "replica_failures",
        None,
        "Requests and copies of a replica without a whole answer, by reason",
        reasons,
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
