//! First motivation of RepNet (RepNet paper, section II-A and figure 1): a path is congested only for a short time.
//! Different paths are congested independently of each other.

use crate::band;
use crate::measure::mean;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Verdict};
use tailcut_scenario::record::RunRecord;
use tailcut_scenario::sim::workload::Class;

/// Delay of a probe in microseconds above which its path counts as congested.
/// The limit is a tenth of the time in which a full queue of 100 packets drains at 50 Mb/s (24.6 ms).
/// The delay of a probe is its time minus the time of the fastest probe on the same path.
const CONGESTED_US: f64 = 2_460.0;

/// Numbers of the hosts that send probes, one host for each path.
const PROBERS: [u32; 3] = [0, 1, 2];
const PART: &str = "repnet-probes";

/// Part with six cores, as in section V of the paper. Section II-A has nine cores, because it has no oversubscription.
const SIX_CORES: &str = "repnet-probes-6-cores";

/// Reproduction of the round-trip times of probes.
pub const REPNET_PROBES: Reproduction = Reproduction {
    name: PART,
    title: "Round-trip times of three paths at load 0.3, 6-pod fat-tree (RepNet paper, figure 1)",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
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

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = rows_of(results, PART, "9 cores");
    rows.extend(
        rows_of(results, SIX_CORES, "6 cores")
            .into_iter()
            .map(shown_only),
    );
    rows
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
    let common = "all paths share the present load and the flows of the racks";
    let chart =
        "our paths have five queues, each with a few packets at times; published as a chart";
    vec![
        row(
            format!("{what}: share of {probes} probes a path delayed by a tenth of a queue, %"),
            &by_seed(CONGESTED_US, Paths::congested),
            None,
            // The paper says "low most of the time".
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
            // The paper says "rare". The band allows half of the share that independent paths would have.
            // Three independent paths, each congested half of the time, are all congested 12.5 % of the time.
            (0.0, 6.25),
            chart,
        ),
        row(
            format!(
                "{what}: correlation of delays by half a queue, mean of the three pairs of paths"
            ),
            &by_seed(5.0 * CONGESTED_US, Paths::correlation),
            Some(0.0),
            // Congestion lasts for seconds, so 200 s contain about a hundred independent samples.
            // A correlation of a hundred samples is accurate to 0.1. The limit is twice the accuracy, 0.2.
            (-0.2, 0.2),
            common,
        ),
        row(
            format!(
                "{what}: share of delayed pairs of paths, divided by the product of the paths' shares"
            ),
            &by_seed(5.0 * CONGESTED_US, Paths::joint_over_product),
            Some(1.0),
            // If paths are congested 20 % of the time, a correlation of 0.2 gives a ratio of 1 + 0.2 * 0.8 / 0.2 = 1.8.
            (0.2, 1.8),
            common,
        ),
    ]
}

/// Removes the published value and the band from a row, so that the row only shows the effect of a parameter.
fn shown_only(row: ComparisonRow) -> ComparisonRow {
    let band = band::NO_BAND;
    ComparisonRow {
        theirs: None,
        band,
        verdict: Verdict::of(row.ours, row.ours_ci, band),
        seeds_that_would_do: None,
        why: "the same figures with the six cores of section V, whose links carry a load of 0.45"
            .to_owned(),
        ..row
    }
}

/// State of the three paths at each instant; true means congested.
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

    /// Calls `figure` for each pair of paths, and returns the mean of the results.
    /// The arguments are shares of time: first path congested, second path congested, both paths congested.
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
