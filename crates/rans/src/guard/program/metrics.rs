//! Metrics of a guard for Prometheus.

use crate::guard::{ClassCounts, GuardCounts};
use crate::request_log::AnswerCounts;
use tailcut_proxy::metrics::{ConstCounter, ConstGauge, Page, Unit};

const CLASSES: [&str; 3] = ["primary", "duplicate", "optional"];

type Counter = (&'static str, &'static str, fn(&ClassCounts) -> u64);

const COUNTERS: [Counter; 7] = [
    ("requests", "Requests that arrived", |class| class.arrived),
    ("done", "Requests whose answer was sent whole", |class| {
        class.done
    }),
    (
        "purged",
        "Requests whose client left while they waited",
        |class| class.purged,
    ),
    (
        "killed",
        "Requests stopped when their client left",
        |class| class.killed,
    ),
    (
        "held",
        "Requests that ran to their end after their client left",
        |class| class.held,
    ),
    (
        "displaced",
        "Requests ended because their client took nothing of the answer while another client waited",
        |class| class.displaced,
    ),
    ("shed", "Requests refused with 503", |class| class.refused),
];

/// Returns the text of the metrics page.
pub(super) fn metrics(counts: &GuardCounts, finished: &AnswerCounts, dropped_lines: u64) -> String {
    let classes = || {
        CLASSES
            .map(|class| [("class", class)])
            .into_iter()
            .zip(&counts.classes)
    };
    let mut page = Page::new("tailcut_guard");
    for (name, help, value) in COUNTERS {
        let samples = classes().map(|(label, class)| (label, ConstCounter::new(value(class))));
        page.family(name, None, help, samples);
    }
    let queued = classes().map(|(label, class)| (label, ConstGauge::new(class.waiting)));
    page.family("queued", None, "Requests that wait", queued);
    let wasted = |class: &ClassCounts| ConstCounter::new(class.wasted.as_secs_f64());
    page.family(
        "wasted",
        Some(Unit::Seconds),
        "Running time of requests whose answer no client received",
        classes().map(|(label, class)| (label, wasted(class))),
    );
    page.single(
        "running",
        "Workers that run a request",
        ConstGauge::new(counts.running),
    );
    page.family(
        "answers",
        None,
        "Requests that are over, by status, and by the reason why they failed",
        finished
            .labels()
            .into_iter()
            .map(|(labels, count)| (labels, ConstCounter::new(count))),
    );
    page.single(
        "log_lines_dropped",
        "Lines of logs that were dropped, because their output was too slow",
        ConstCounter::new(dropped_lines),
    );
    page.text()
}
