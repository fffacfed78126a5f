//! Bucket sort (RepNet paper, section IV-C, figure 11).
//! A job of this application ends when its slowest short flow has arrived.
//! The application is a set of programs that run on real hosts.

use crate::band;
use crate::measured_value::{MeasuredValue, per_cent};
use crate::part::{Program, Reproduction, Results};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};

/// Published job times in ms from the experiment's public raw data, for one connection, RepFlow and RepSYN.
const RAW: [(Statistic, [f64; 3]); 3] = [
    (Statistic::P50, [96.0, 95.5, 96.0]),
    (Statistic::P99, [842.0, 387.0, 422.0]),
    (Statistic::P999, [1_233.0, 787.0, 738.0]),
];

const NET: &str = "net";
const SCRIPT: &str = "packages/repnet/examples/bucket-sort/lab.js";
const RUST: &str = "target/release/examples/bucket_sort";

const HOSTS: &str = "the paper has 12 hosts with their own processors; our hosts share the processors of one \
                     machine, and a second connection is more work for them";

/// Reproduction of the job times of bucket sort.
pub const REPNET_BUCKET_SORT: Reproduction = Reproduction {
    name: "repnet-bucket-sort",
    title: "RepNet under a bucket sort: job times in Node and in Rust (RepNet paper, section IV-C)",
    programs_on_real_hosts,
    rows,
    ..Reproduction::EMPTY
};

fn programs_on_real_hosts() -> Vec<Program> {
    // The quick form has four hosts and slow links.
    // With four hosts and slow links, packets are not late, even on two processors that other programs also use.
    let quick = "--hosts 4 --jobs 10 --numbers 2000 --slowdown 250 --rounds 6";
    let full = "--full --rounds 6";
    vec![
        Program {
            name: "node",
            needs: &[(
                "packages/repnet/dist/index.js",
                "npm ci && npm run build, in packages/repnet",
            )],
            script: SCRIPT,
            arguments: "",
            quick,
            full,
        },
        Program {
            name: "rust",
            needs: &[(
                RUST,
                "cargo build --release -p tailcut-repnet --example bucket_sort",
            )],
            script: SCRIPT,
            arguments: "--program target/release/examples/bucket_sort",
            quick,
            full,
        },
    ]
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for (program, language) in [("node", "Node"), ("rust", "Rust")] {
        let times = |design| results.times(program, design);
        let Some(net) = times(NET) else { continue };
        let median = MeasuredValue::of(&net, Statistic::P50);
        let shown = format!("{language}: {NET}, p50 of job times, ms of the wall's clock");
        rows.push(row(shown, median, None, band::NO_BAND, HOSTS));
        for (at, design) in [(1, "repflow"), (2, "repsyn")] {
            let Some(ours) = times(design) else { continue };
            for (statistic, published) in RAW {
                let change = per_cent(published[at] / published[0]);
                rows.push(row(
                    format!(
                        "{language}: {design}, {} of job times against {NET}, %",
                        statistic.name()
                    ),
                    MeasuredValue::change(&ours, &net, statistic),
                    Some(change),
                    band::for_change(change),
                    HOSTS,
                ));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::part::Times;
    use tailcut_report::Verdict;

    #[test]
    fn job_times_of_each_language_are_held_against_the_published_ones() {
        let rounds = |factor: f64| {
            let round =
                |seed: u64| (0..40).map(move |job| factor * (100 + (job + seed) % 7) as f64);
            (0..6).map(|seed| round(seed).collect()).collect()
        };
        let times = |design: &str, factor| Times {
            program: "rust",
            design: design.to_owned(),
            rounds: rounds(factor),
        };
        let results = Results {
            times: vec![
                times("net", 1.0),
                times("repflow", 2.0),
                times("repsyn", 1.0),
            ],
            ..Results::default()
        };
        let rows = (REPNET_BUCKET_SORT.rows)(&results);
        let verdict = |words: &str| {
            let found = rows.iter().find(|row| row.metric.contains(words));
            found.unwrap_or_else(|| panic!("no row of {words}")).verdict
        };
        assert_eq!(rows.len(), 7, "no rows for Node, which did not run");
        assert_eq!(verdict("Rust: repflow, p50"), Verdict::Outside);
        assert_eq!(verdict("Rust: repsyn, p50"), Verdict::Within);
        assert_eq!(verdict("Rust: repsyn, p99.9"), Verdict::TooFew);
    }
}
