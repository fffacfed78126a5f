//! Counters of the proxy and of its flows in the text format of Prometheus (version 0.0.4), by the
//! names of the npm package's proxy.

use crate::counters::{Counter, Stats};
use tailcut_proxy::Page;

/// What a route counts.
#[derive(Debug, Default)]
pub(crate) struct RouteCounts {
    pub flows: Counter,
    pub active: Counter,
    pub bytes_in: Counter,
    pub bytes_out: Counter,
    pub accepted_errors: Counter,
    pub target_errors: Counter,
    pub cut: Counter,
}

type Family = (
    &'static str,
    &'static str,
    &'static str,
    fn(&RouteCounts) -> &Counter,
);

const FAMILIES: [Family; 7] = [
    ("flows_total", "counter", "Flows accepted.", |c| &c.flows),
    ("flows_active", "gauge", "Flows open now.", |c| &c.active),
    (
        "bytes_in_total",
        "counter",
        "Payload bytes from the accepted side, of ended flows.",
        |c| &c.bytes_in,
    ),
    (
        "bytes_out_total",
        "counter",
        "Payload bytes from the target, of ended flows.",
        |c| &c.bytes_out,
    ),
    (
        "accepted_errors_total",
        "counter",
        "Flows ended by an error of the accepted side.",
        |c| &c.accepted_errors,
    ),
    (
        "target_errors_total",
        "counter",
        "Flows ended by an error of the target.",
        |c| &c.target_errors,
    ),
    ("cut_total", "counter", "Flows reset at shutdown.", |c| {
        &c.cut
    }),
];

/// The whole page.
pub(crate) fn render<'a>(
    routes: impl Iterator<Item = (&'a str, &'a RouteCounts)> + Clone,
    stats: &Stats,
) -> String {
    let mut page = Page::new("repnet");
    for (name, kind, help, value) in FAMILIES {
        page.family(&format!("proxy_{name}"), kind, Some(help));
        for (route, counts) in routes.clone() {
            page.sample(&[("route", route)], value(counts).get());
        }
    }
    for (name, value) in [
        ("budget_refusals", stats.budget_refusals),
        ("bytes_sent_twice", stats.bytes_sent_twice),
    ] {
        page.single(name, "untyped", None, value);
    }
    for (family, kinds) in kinds(stats) {
        page.family(family, "untyped", None);
        for (kind, value) in kinds {
            page.sample(&[("kind", kind)], value);
        }
    }
    page.finish()
}

type Kinds = Vec<(&'static str, u64)>;

fn kinds(stats: &Stats) -> [(&'static str, Kinds); 8] {
    [
        (
            "flows",
            vec![
                ("opened", stats.opened),
                ("accepted", stats.accepted),
                ("diverged", stats.diverged),
                ("live", stats.live),
            ],
        ),
        (
            "flows_plain",
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
            vec![
                ("full", stats.refused_full),
                ("closing", stats.refused_closing),
                ("tombstones", stats.refused_tombstones),
            ],
        ),
        (
            "legs",
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
            vec![("0", stats.won_first), ("1", stats.won_second)],
        ),
        (
            "legs_dropped",
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
        ("servers", vec![("paired", stats.servers_paired)]),
        (
            "held",
            vec![
                ("waiting", stats.waiting),
                ("tombstones", stats.tombstones),
                ("pending_hellos", stats.pending_hellos),
                ("lingering", stats.lingering),
            ],
        ),
    ]
}
