//! Counters of the proxy and of its flows in the text format of Prometheus (version 0.0.4).
//! The names are the same as in the npm package's proxy.

use crate::counters::Stats;
use std::time::Duration;
use tailcut_proxy::metrics::{Counter, Gauge, Histogram, Page, Unit, Untyped};
use tailcut_transport::repnet::Leg;

/// Upper bounds of the histograms of times, in seconds.
const BOUNDS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];

/// Times of flows, separately for each connection that can win.
#[derive(Debug)]
pub(crate) struct Times([(&'static str, Histogram); 3]);

impl Default for Times {
    fn default() -> Self {
        Self(["0", "1", "none"].map(|winner| (winner, Histogram::new(BOUNDS))))
    }
}

impl Times {
    /// Adds a flow. `winner` is the connection that was faster, if the flow had two.
    pub fn observe(&self, winner: Option<Leg>, time: Duration) {
        let [(_, first), (_, second), (_, none)] = &self.0;
        let histogram = match winner {
            Some(Leg::First) => first,
            Some(Leg::Second) => second,
            None => none,
        };
        histogram.observe(time.as_secs_f64());
    }
}

/// Counters of a route.
#[derive(Debug)]
pub(crate) struct RouteCounts {
    /// Times until the connection to the target was open.
    pub connect: Histogram,
    /// Times until the first byte of the target.
    pub first_byte: Times,
    /// Times until the end of the flow.
    pub whole: Times,
    pub flows: Counter,
    pub active: Gauge,
    pub bytes_in: Counter,
    pub bytes_out: Counter,
    pub accepted_errors: Counter,
    pub target_errors: Counter,
    pub cut: Counter,
}

impl Default for RouteCounts {
    fn default() -> Self {
        Self {
            connect: Histogram::new(BOUNDS),
            first_byte: Times::default(),
            whole: Times::default(),
            flows: Counter::default(),
            active: Gauge::default(),
            bytes_in: Counter::default(),
            bytes_out: Counter::default(),
            accepted_errors: Counter::default(),
            target_errors: Counter::default(),
            cut: Counter::default(),
        }
    }
}

type Family = (&'static str, &'static str, fn(&RouteCounts) -> &Counter);

const COUNTERS: [Family; 6] = [
    ("flows", "Flows accepted", |c| &c.flows),
    (
        "bytes_in",
        "Payload bytes from the accepted side, of ended flows",
        |c| &c.bytes_in,
    ),
    (
        "bytes_out",
        "Payload bytes from the target, of ended flows",
        |c| &c.bytes_out,
    ),
    (
        "accepted_errors",
        "Flows ended by an error of the accepted side",
        |c| &c.accepted_errors,
    ),
    (
        "target_errors",
        "Flows ended by an error of the target",
        |c| &c.target_errors,
    ),
    ("cut", "Flows reset at shutdown", |c| &c.cut),
];

type TimeFamily = (&'static str, &'static str, fn(&RouteCounts) -> &Times);

/// Returns the page with all metrics.
pub(crate) fn render<'a>(
    routes: impl Iterator<Item = (&'a str, &'a RouteCounts)> + Clone,
    stats: &Stats,
) -> String {
    let mut page = Page::new("repnet");
    let routes = routes.map(|(name, counts)| ([("route", name.to_owned())], counts));
    for (name, help, value) in COUNTERS {
        let samples = routes.clone();
        let samples = samples.map(|(label, counts)| (label, value(counts).clone()));
        page.family(&format!("proxy_{name}"), None, help, samples);
    }
    let connect = routes.clone();
    let connect = connect.map(|(label, counts)| (label, counts.connect.clone()));
    let help = "Time until the connection to the target was open";
    page.family("proxy_connect", Some(Unit::Seconds), help, connect);
    let times: [TimeFamily; 2] = [
        (
            "proxy_first_byte",
            "Time until the first byte of the target, by the leg that won",
            |counts| &counts.first_byte,
        ),
        (
            "proxy_flow",
            "Time until the end of a flow, by the leg that won",
            |counts| &counts.whole,
        ),
    ];
    for (name, help, times) in times {
        let samples = routes.clone().flat_map(|(label, counts)| {
            let [route] = label;
            let of_winner = |(winner, histogram): &(&'static str, Histogram)| {
                let labels = [route.clone(), ("winner", (*winner).to_owned())];
                (labels, histogram.clone())
            };
            times(counts).0.iter().map(of_winner).collect::<Vec<_>>()
        });
        page.family(name, Some(Unit::Seconds), help, samples);
    }
    let active = routes.map(|(label, counts)| (label, counts.active.clone()));
    page.family("proxy_flows_active", None, "Flows open now", active);
    for (name, help, value) in [
        (
            "budget_refusals",
            "Flows that ran plain, or as RepSYN, because of the budget",
            stats.budget_refusals,
        ),
        (
            "bytes_sent_twice",
            "Payload bytes that were written to a second leg",
            stats.bytes_sent_twice,
        ),
    ] {
        page.single(name, help, Untyped(value));
    }
    for (name, help, kinds) in kinds(stats) {
        let samples = kinds.into_iter();
        let samples = samples.map(|(kind, value)| ([("kind", kind)], Untyped(value)));
        page.family(name, None, help, samples);
    }
    page.text()
}

type Kinds = Vec<(&'static str, u64)>;

fn kinds(stats: &Stats) -> [(&'static str, &'static str, Kinds); 8] {
    [
        (
            "flows",
            "Replicated flows",
            vec![
                ("opened", stats.opened),
                ("accepted", stats.accepted),
                ("diverged", stats.diverged),
                ("live", stats.live),
            ],
        ),
        (
            "flows_plain",
            "Flows that ran over one plain connection, by the cause",
            vec![
                ("unknown", stats.plain_unknown),
                ("incapable", stats.plain_incapable),
                ("doubtful", stats.plain_doubtful),
                ("silent", stats.plain_silent),
                ("budget", stats.plain_budget),
                ("fallback", stats.plain_fallback),
            ],
        ),
        (
            "flows_refused",
            "Flows that were not accepted as replicated ones",
            vec![
                ("full", stats.refused_full),
                ("closing", stats.refused_closing),
                ("tombstones", stats.refused_tombstones),
            ],
        ),
        (
            "legs",
            "Connections of replicated flows",
            vec![
                ("opened", stats.legs_opened),
                ("established", stats.legs_established),
                ("paired", stats.legs_paired),
                ("rejoined", stats.legs_rejoined),
                ("late", stats.legs_late),
            ],
        ),
        (
            "legs_won",
            "Paired flows by the leg that brought more of the bytes first",
            vec![("0", stats.won_first), ("1", stats.won_second)],
        ),
        (
            "legs_dropped",
            "Legs given up, by the cause",
            vec![
                ("leg_failed", stats.dropped_failed),
                ("leg_deadline", stats.dropped_leg_deadline),
                ("lost", stats.dropped_lost),
                (
                    "archive_over_threshold",
                    stats.dropped_archive_over_threshold,
                ),
                ("bytes_over_limit", stats.dropped_bytes_over_limit),
                ("lag_over_cap", stats.dropped_lag_over_cap),
                ("confirm_timeout", stats.dropped_confirm_timeout),
                ("abort", stats.dropped_abort),
                ("diverged", stats.dropped_diverged),
                ("foreign", stats.dropped_foreign),
                ("other_instance", stats.dropped_other_instance),
                ("refused", stats.dropped_refused),
                ("early_fin", stats.dropped_early_fin),
                ("behind", stats.dropped_behind),
                ("replaced", stats.dropped_replaced),
                ("not_needed", stats.dropped_not_needed),
                ("hello_timeout", stats.dropped_hello_timeout),
                ("other_address", stats.dropped_other_address),
            ],
        ),
        (
            "servers",
            "Listeners",
            vec![("paired", stats.servers_paired)],
        ),
        (
            "held",
            "Flows and connections that are remembered now",
            vec![
                ("waiting", stats.waiting),
                ("tombstones", stats.tombstones),
                ("pending_hellos", stats.pending_hellos),
                ("lingering", stats.lingering),
            ],
        ),
    ]
}
