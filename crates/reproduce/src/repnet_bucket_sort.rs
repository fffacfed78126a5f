//! The bucket sort (RepNet paper, section IV-C, figure 11): an application whose jobs are as slow as their
//! slowest short flow, as programs on real hosts.

use crate::band;
use crate::ours::{Ours, per_cent};
use crate::part::{Part, Program, Reproduction, Results};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};

/// See the module.
pub struct RepNetBucketSort;

/// Job times over one connection, RepFlow and RepSYN from the experiment's public raw data, in ms.
const RAW: [(Statistic, [f64; 3]); 3] = [
    (Statistic::P50, [96.0, 95.5, 96.0]),
    (Statistic::P99, [842.0, 387.0, 422.0]),
    (Statistic::P999, [1_233.0, 787.0, 738.0]),
];

const NET: &str = "net";
const SCRIPT: &str = "packages/repnet/examples/bucket-sort/lab.js";
const RUST: &str = "target/release/examples/bucket_sort";

const HOSTS: &str = "theirs has 12 hosts with processors of their own; ours share those of one machine, and a \
                     second connection is more work for them";

impl Reproduction for RepNetBucketSort {
    fn name(&self) -> &'static str {
        "repnet-bucket-sort"
    }

    fn title(&self) -> &'static str {
        "RepNet under a bucket sort: job times in Node and in Rust (RepNet paper, section IV-C)"
    }

    /// None: it is an application.
    fn parts(&self) -> Vec<Part> {
        Vec::new()
    }

    fn programs_on_real_hosts(&self) -> Vec<Program> {
        // Four hosts and slow links in the quick form: packets are punctual on two processors that others use, too.
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

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for (program, language) in [("node", "Node"), ("rust", "Rust")] {
            let times = |design| results.times(program, design);
            let Some(net) = times(NET) else { continue };
            let median = Ours::of(&net, Statistic::P50);
            let shown = format!("{language}: {NET}, p50 of job times, ms of the wall's clock");
            rows.push(row(shown, median, None, band::SHOWN, HOSTS));
            for (at, design) in [(1, "repflow"), (2, "repsyn")] {
                let Some(ours) = times(design) else { continue };
                for (statistic, theirs) in RAW {
                    let change = per_cent(theirs[at] / theirs[0]);
                    rows.push(row(
                        format!(
                            "{language}: {design}, {} of job times against {NET}, %",
                            statistic.name()
                        ),
                        Ours::change(&ours, &net, statistic),
                        Some(change),
                        band::of_change(change),
                        HOSTS,
                    ));
                }
            }
        }
        rows
    }
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
        let rows = RepNetBucketSort.rows(&results);
        let verdict = |words: &str| {
            let found = rows.iter().find(|row| row.metric.contains(words));
            found.unwrap_or_else(|| panic!("no row of {words}")).verdict
        };
        assert_eq!(rows.len(), 7, "nothing of Node, which did not run");
        assert_eq!(verdict("Rust: repflow, p50"), Verdict::Outside);
        assert_eq!(verdict("Rust: repsyn, p50"), Verdict::Within);
        assert_eq!(verdict("Rust: repsyn, p99.9"), Verdict::TooFew);
    }
}
