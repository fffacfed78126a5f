//! RepNet's first motivation (RepNet paper, section II-A and figure 1): congestion of a path is brief,
//! and independent of that of other paths.

use crate::band;
use crate::measure::mean;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Verdict};
use tailcut_scenario::record::RunRecord;
use tailcut_scenario::sim::workload::Class;

/// See the module.
pub struct RepNetProbes;

/// A tenth of the time that one full queue of 100 packets takes to drain at 50 Mb/s (24.6 ms); a probe
/// is delayed by as much as it takes longer than the fastest one of its path.
const CONGESTED_US: f64 = 2_460.0;

/// The hosts that probe, one a path.
const PROBERS: [u32; 3] = [0, 1, 2];
const PART: &str = "repnet-probes";

/// Section II-A has no oversubscription, which takes nine cores; section V has six.
const SIX_CORES: &str = "repnet-probes-6-cores";

impl Reproduction for RepNetProbes {
    fn name(&self) -> &'static str {
        PART
    }

    fn title(&self) -> &'static str {
        "Round-trip times of three paths at load 0.3, 6-pod fat-tree (RepNet paper, figure 1)"
    }

    fn parts(&self) -> Vec<Part> {
        let part = |name, changes: &[(&'static str, &str)]| Part {
            name,
            scenario: include_str!("../scenarios/reproduce/repnet-probes.toml"),
            changes: keys(changes),
            quick: keys(&[("duration", "40s")]),
        };
        vec![
            part(PART, &[]),
            part(SIX_CORES, &[("topology.cores_per_aggregation", "2")]),
        ]
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = rows_of(results, PART, "9 cores");
        rows.extend(
            rows_of(results, SIX_CORES, "6 cores")
                .into_iter()
                .map(shown_only),
        );
        rows
    }
}

fn rows_of(results: &Results, part: &str, what: &str) -> Vec<ComparisonRow> {
    let runs = |threshold_us: f64| -> Vec<Paths> {
        results
            .runs(part, "cubic")
            .map(|run| Paths::of(run, threshold_us))
            .collect()
    };
    let by_seed = |threshold_us: f64, figure: fn(&Paths) -> f64| {
        runs(threshold_us).iter().map(figure).collect::<Vec<f64>>()
    };
    let probes: usize = runs(CONGESTED_US).iter().map(|paths| paths.0.len()).sum();
    let common = "the load of a moment, and the racks' flows, are common to all paths";
    let chart =
        "a path of ours crosses five queues, each with a few packets at times; theirs is a chart";
    vec![
        row(
            format!("{what}: share of {probes} probes a path delayed by a tenth of a queue, %"),
            &by_seed(CONGESTED_US, Paths::congested),
            None,
            // "Low most of the time".
            (0.0, 50.0),
            chart,
        ),
        row(
            format!("{what}: share of probes delayed by half a queue, %"),
            &by_seed(5.0 * CONGESTED_US, Paths::congested),
            None,
            (0.0, 50.0),
            chart,
        ),
        row(
            format!("{what}: share of instants with all paths delayed by half a queue, %"),
            &by_seed(5.0 * CONGESTED_US, Paths::all_congested),
            None,
            // "Rare": the cube of what is still "most of the time", 0.5, is an eighth; half of that.
            (0.0, 6.25),
            chart,
        ),
        row(
            format!(
                "{what}: correlation of delays by half a queue, mean of the three pairs of paths"
            ),
            &by_seed(5.0 * CONGESTED_US, Paths::correlation),
            Some(0.0),
            // Congestion lasts for seconds, so that 200 s hold about a hundred independent
            // instants: a correlation is good to 0.1, and 0.2 is twice that.
            (-0.2, 0.2),
            common,
        ),
        row(
            format!("{what}: share of delayed pairs of paths over the product of their shares"),
            &by_seed(5.0 * CONGESTED_US, Paths::joint_over_product),
            Some(1.0),
            // With a share of 0.2 and a correlation within 0.2 the ratio is within 1.8.
            (0.2, 1.8),
            common,
        ),
    ]
}

/// A row that shows what a parameter does, and that nothing was published for.
fn shown_only(row: ComparisonRow) -> ComparisonRow {
    let band = band::SHOWN;
    ComparisonRow {
        theirs: None,
        band,
        verdict: Verdict::of(row.ours, row.ours_ci, band),
        seeds_that_would_do: None,
        why: "the same with the six cores of section V, whose links carry a load of 0.45"
            .to_owned(),
        ..row
    }
}

/// At each instant, whether each path is congested.
struct Paths(Vec<[bool; 3]>);

impl Paths {
    fn of(run: &RunRecord, threshold_us: f64) -> Self {
        let rtts = PROBERS.map(|host| {
            let probes = run
                .flows
                .iter()
                .filter(|flow| flow.src.0 == host && flow.class == Class::Probe as u8);
            let rtts =
                probes.map(|flow| flow.handshake.map_or(f64::INFINITY, |rtt| rtt.as_us_f64()));
            rtts.collect::<Vec<f64>>()
        });
        let idle = rtts
            .each_ref()
            .map(|path| path.iter().copied().fold(f64::INFINITY, f64::min));
        let instants = rtts.iter().map(Vec::len).min().unwrap_or(0);
        let congested = |path: usize, i: usize| rtts[path][i] > idle[path] + threshold_us;
        Self(
            (0..instants)
                .map(|i| [congested(0, i), congested(1, i), congested(2, i)])
                .collect(),
        )
    }

    fn share(&self, of: impl Fn(&[bool; 3]) -> bool) -> f64 {
        self.0.iter().filter(|paths| of(paths)).count() as f64 / self.0.len() as f64
    }

    fn congested(&self) -> f64 {
        100.0 * mean(&[0, 1, 2].map(|path| self.share(|paths| paths[path])))
    }

    fn all_congested(&self) -> f64 {
        100.0 * self.share(|paths| paths.iter().all(|&congested| congested))
    }

    /// The mean over the pairs of paths of a figure of both shares and the joint one.
    fn over_pairs(&self, figure: impl Fn(f64, f64, f64) -> f64) -> f64 {
        mean(&[(0, 1), (0, 2), (1, 2)].map(|(a, b)| {
            let both = self.share(|paths| paths[a] && paths[b]);
            figure(
                self.share(|paths| paths[a]),
                self.share(|paths| paths[b]),
                both,
            )
        }))
    }

    fn correlation(&self) -> f64 {
        self.over_pairs(|a, b, both| (both - a * b) / (a * (1.0 - a) * b * (1.0 - b)).sqrt())
    }

    fn joint_over_product(&self) -> f64 {
        self.over_pairs(|a, b, both| both / (a * b))
    }
}

#[cfg(test)]
mod tests {
    use super::Paths;

    #[test]
    fn independent_paths_are_uncorrelated_and_equal_ones_fully() {
        let every = (0..8u8).map(|i| [i & 1 > 0, i & 2 > 0, i & 4 > 0]);
        let independent = Paths(every.collect());
        assert_eq!(independent.congested(), 50.0);
        assert_eq!(independent.all_congested(), 12.5);
        assert_eq!(independent.correlation(), 0.0);
        assert_eq!(independent.joint_over_product(), 1.0);
        let equal = Paths(vec![[true; 3], [false; 3], [false; 3], [false; 3]]);
        assert_eq!(equal.correlation(), 1.0);
        assert_eq!(equal.joint_over_product(), 4.0);
    }
}
