//! A gateway's counts for Prometheus.

use super::route::Route;
use crate::client::ClientCounts;
use http::StatusCode;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tailcut_service::Page;
use tokio::time::Instant;

/// Upper ends of the classes of latency, in seconds.
const BOUNDS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// What a route counts.
#[derive(Default, Debug)]
pub(super) struct RouteCounts {
    /// By the hundreds of their status.
    answered: [AtomicU64; 5],
    open: AtomicI64,
    left: AtomicU64,
    refused: AtomicU64,
    latencies: [AtomicU64; BOUNDS.len() + 1],
    microseconds: AtomicU64,
    /// Of clients that are no more.
    past: Mutex<ClientCounts>,
}

fn sum(one: &ClientCounts, other: &ClientCounts) -> ClientCounts {
    ClientCounts {
        requests: one.requests + other.requests,
        copies: one.copies + other.copies,
        won_by_copy: one.won_by_copy + other.won_by_copy,
        purged: one.purged + other.purged,
        spared: one.spared + other.spared,
        failed: one.failed + other.failed,
    }
}

impl RouteCounts {
    /// A request that found too many others.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// What a client has counted that is replaced.
    pub fn keep(&self, counts: ClientCounts) {
        let mut past = self.past.lock().unwrap_or_else(PoisonError::into_inner);
        *past = sum(&past, &counts);
    }

    fn note(&self, status: StatusCode, time: Duration) {
        let hundreds = usize::from(status.as_u16() / 100).clamp(1, 5);
        self.answered[hundreds - 1].fetch_add(1, Relaxed);
        let seconds = time.as_secs_f64();
        let class = BOUNDS.partition_point(|bound| *bound < seconds);
        self.latencies[class].fetch_add(1, Relaxed);
        let microseconds = time.as_micros().try_into().unwrap_or(u64::MAX);
        self.microseconds.fetch_add(microseconds, Relaxed);
    }
}

/// A request that has no answer yet.
pub(super) struct Asked<'a> {
    counts: &'a RouteCounts,
    began: Instant,
    status: Option<StatusCode>,
}

impl<'a> Asked<'a> {
    pub fn begin(counts: &'a RouteCounts) -> Self {
        counts.open.fetch_add(1, Relaxed);
        Self {
            counts,
            began: Instant::now(),
            status: None,
        }
    }

    pub fn answered(&mut self, status: StatusCode) {
        self.status = Some(status);
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.counts.open.fetch_sub(1, Relaxed);
        match self.status {
            Some(status) => self.counts.note(status, self.began.elapsed()),
            None => {
                self.counts.left.fetch_add(1, Relaxed);
            }
        }
    }
}

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
    for (family, help, value) in OF_CLIENTS {
        page.family(family, "counter", Some(help));
        for shown in routes {
            let past = shown
                .route
                .counts
                .past
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let counts = sum(&past, &shown.route.pool().client.counts());
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
