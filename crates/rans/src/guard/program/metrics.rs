//! A guard's counts for Prometheus.

use crate::guard::{ClassCounts, GuardCounts};
use tailcut_proxy::Page;

const CLASSES: [&str; 3] = ["primary", "duplicate", "optional"];

/// The page.
pub(super) fn metrics(counts: &GuardCounts) -> String {
    type Value = fn(&ClassCounts) -> f64;
    let by_class: [(&str, &str, &str, Value); 8] = [
        (
            "requests_total",
            "counter",
            "Requests that came.",
            |class| class.came as f64,
        ),
        ("queued", "gauge", "Requests that wait.", |class| {
            class.waiting as f64
        }),
        (
            "done_total",
            "counter",
            "Requests whose answer went out whole.",
            |class| class.done as f64,
        ),
        (
            "purged_total",
            "counter",
            "Requests whose client left while they waited.",
            |class| class.purged as f64,
        ),
        (
            "killed_total",
            "counter",
            "Requests stopped when their client left.",
            |class| class.killed as f64,
        ),
        (
            "held_total",
            "counter",
            "Requests that ran on when their client left.",
            |class| class.held as f64,
        ),
        (
            "shed_total",
            "counter",
            "Requests refused with 503.",
            |class| class.refused as f64,
        ),
        (
            "wasted_seconds_total",
            "counter",
            "Time that requests had run whose answer nobody got.",
            |class| class.wasted.as_secs_f64(),
        ),
    ];
    let mut page = Page::new("tailcut_guard");
    for (name, kind, help, value) in by_class {
        page.family(name, kind, Some(help));
        for (class, counts) in CLASSES.iter().zip(&counts.classes) {
            page.sample(&[("class", class)], value(counts));
        }
    }
    page.single(
        "running",
        "gauge",
        Some("Workers that are taken."),
        counts.running,
    );
    page.finish()
}
