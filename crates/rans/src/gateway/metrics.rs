//! A gateway's counts for Prometheus.

use super::counts::BOUNDS;
use super::route::Route;
use crate::client::ClientCounts;
use crate::ranges::{Ranges, RangesCounts};
use std::sync::atomic::Ordering::Relaxed;
use tailcut_proxy::Page;

/// A route, and the connections of its listener.
pub(super) struct Shown<'a> {
    pub route: &'a Route,
    pub connections: usize,
}

type OfRoute = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Shown<'_>) -> i64,
);
type OfClient = (&'static str, &'static str, fn(&ClientCounts) -> u64);

const OF_ROUTES: [OfRoute; 4] = [
    (
        "requests_open",
        "gauge",
        "Requests without an answer yet.",
        |shown| shown.route.counts.open.load(Relaxed),
    ),
    (
        "requests_left_total",
        "counter",
        "Requests whose client left before the answer.",
        |shown| shown.route.counts.left.load(Relaxed) as i64,
    ),
    (
        "requests_refused_total",
        "counter",
        "Requests that got 503, since too many were open.",
        |shown| shown.route.counts.refused.load(Relaxed) as i64,
    ),
    ("connections", "gauge", "Connections of clients.", |shown| {
        shown.connections as i64
    }),
];

type OfRanges = (&'static str, &'static str, fn(&RangesCounts) -> u64);

const OF_RANGES: [OfRanges; 3] = [
    (
        "range_objects_total",
        "Objects that came in parts, since the replicas changed last.",
        |counts| counts.objects,
    ),
    (
        "range_parts_total",
        "Ranges that replicas were asked for, since the replicas changed last.",
        |counts| counts.parts,
    ),
    (
        "range_extra_bytes_total",
        "Bytes of ranges that came twice, since the replicas changed last.",
        |counts| counts.extra,
    ),
];

const OF_CLIENTS: [OfClient; 6] = [
    (
        "client_requests_total",
        "Requests that were given to replicas.",
        |counts| counts.requests,
    ),
    (
        "copies_total",
        "Copies of requests, beyond the first.",
        |counts| counts.copies,
    ),
    (
        "won_by_copy_total",
        "Requests that a copy answered first.",
        |counts| counts.won_by_copy,
    ),
    (
        "purged_total",
        "Requests and copies that were dropped on their way.",
        |counts| counts.purged,
    ),
    (
        "spared_total",
        "Losers that ran to their end, since the budget of resets was spent.",
        |counts| counts.spared,
    ),
    (
        "failed_total",
        "Requests and copies that failed, or had an answer that was not acceptable.",
        |counts| counts.failed,
    ),
];

/// The page.
pub(super) fn page(routes: &[Shown<'_>]) -> String {
    let mut page = Page::new("tailcut_gateway");
    page.family(
        "requests_total",
        "counter",
        Some("Requests answered, by the hundreds of their status."),
    );
    for shown in routes {
        let name = shown.route.config.name.as_str();
        for (class, count) in ["1xx", "2xx", "3xx", "4xx", "5xx"]
            .iter()
            .zip(&shown.route.counts.answered)
        {
            page.sample(&[("route", name), ("status", class)], count.load(Relaxed));
        }
    }
    for (family, kind, help, value) in OF_ROUTES {
        page.family(family, kind, Some(help));
        for shown in routes {
            page.sample(&[("route", &shown.route.config.name)], value(shown));
        }
    }
    for (family, help, value) in OF_RANGES {
        page.family(family, "counter", Some(help));
        for shown in routes {
            let pool = shown.route.pool();
            let counts = pool.ranges.as_ref().map(Ranges::counts).unwrap_or_default();
            page.sample(&[("route", &shown.route.config.name)], value(&counts));
        }
    }
    for (family, help, value) in OF_CLIENTS {
        page.family(family, "counter", Some(help));
        for shown in routes {
            let counts = shown
                .route
                .counts
                .with_past(&shown.route.pool().client.counts());
            page.sample(&[("route", &shown.route.config.name)], value(&counts));
        }
    }
    latencies(&mut page, routes);
    replicas(&mut page, routes);
    page.finish()
}

fn latencies(page: &mut Page, routes: &[Shown<'_>]) {
    page.family(
        "request_seconds",
        "histogram",
        Some("Time until an answer began; small answers until they were whole."),
    );
    for shown in routes {
        let (name, counts) = (shown.route.config.name.as_str(), &shown.route.counts);
        let mut total = 0;
        for (bound, count) in BOUNDS.iter().zip(&counts.latencies) {
            total += count.load(Relaxed);
            page.part(
                "_bucket",
                &[("route", name), ("le", &bound.to_string())],
                total,
            );
        }
        total += counts.latencies[BOUNDS.len()].load(Relaxed);
        page.part("_bucket", &[("route", name), ("le", "+Inf")], total);
        let seconds = counts.microseconds.load(Relaxed) as f64 / 1e6;
        page.part("_sum", &[("route", name)], seconds);
        page.part("_count", &[("route", name)], total);
    }
}

fn replicas(page: &mut Page, routes: &[Shown<'_>]) {
    /// A sample: its name, its kind, its help, and where it stands below.
    const FAMILIES: [(&str, &str, &str); 6] = [
        (
            "replica_requests_total",
            "counter",
            "Requests and copies sent to a replica.",
        ),
        (
            "replica_failed_total",
            "counter",
            "Of those, those without a whole answer.",
        ),
        (
            "replica_in_flight",
            "gauge",
            "Requests and copies that a replica has to answer.",
        ),
        ("replica_up", "gauge", "Whether a replica may be asked."),
        (
            "replica_purges",
            "gauge",
            "Whether a replica is known to drop work whose client leaves.",
        ),
        (
            "replica_latency_seconds",
            "gauge",
            "Moving average of a replica's latency.",
        ),
    ];
    for (at, (family, kind, help)) in FAMILIES.iter().enumerate() {
        page.family(family, kind, Some(help));
        for shown in routes {
            let pool = shown.route.pool();
            for (member, state) in pool.members.iter().zip(pool.client.states()) {
                let value = match at {
                    0 => Some(member.counts.asked.load(Relaxed) as f64),
                    1 => Some(member.counts.failed.load(Relaxed) as f64),
                    2 => Some(f64::from(state.in_flight)),
                    3 => Some(f64::from(u8::from(state.is_open))),
                    4 => Some(f64::from(u8::from(state.purges == Some(true)))),
                    _ => state.latency.map(|latency| latency.as_secs_f64()),
                };
                let labels = [
                    ("route", shown.route.config.name.as_str()),
                    ("replica", &member.replica.to.to_string()),
                    ("address", &member.address.to_string()),
                ];
                if let Some(value) = value {
                    page.sample(&labels, value);
                }
            }
        }
    }
}
