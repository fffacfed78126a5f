//! SCDP's storage figures (SCDP paper, figure 1, sections V-A, V-D and V-H). What the paper's text does not give is a
//! key of the scenarios.

mod first_figure;
mod hotspots;
mod overhead;
mod reads;
mod sensitivity;
mod writes;

pub use first_figure::FirstFigure;
pub use hotspots::Hotspots;
pub use overhead::Overhead;
pub use reads::Reads;
pub use sensitivity::Sensitivity;
pub use writes::Writes;

use super::case::Keys;
use super::measure::{At, mean, quantile};
use super::{Part, Results, band, keys, row};
use tailcut_record::{RunRecord, SessionOutcome};
use tailcut_report::ComparisonRow;
use tailcut_sim::workload::Class;

const SCENARIO: &str = include_str!("../../../../../scenarios/reproduce/scdp-storage.toml");

/// Hosts in the full and in the quick form.
const HOSTS: (u32, u32) = (250, 16);

/// A load, carried in two ways.
struct Load {
    /// For rows.
    what: &'static str,
    /// The names of the studies: of the designs' own way, and of the other one.
    parts: (&'static str, &'static str),
    sizes: &'static str,
    /// Sessions a second a host.
    per_host: u32,
}

impl Load {
    /// The study called `name`, with keys that make its way.
    fn part(&self, name: &'static str, way: Keys) -> Part {
        let rate = |hosts: u32| (self.per_host * hosts).to_string();
        let load = [
            ("workload.sizes", self.sizes.to_owned()),
            ("workload.sessions_per_second", rate(HOSTS.0)),
        ];
        Part {
            name,
            scenario: SCENARIO,
            changes: load.into_iter().chain(keys(way)).collect(),
            quick: vec![
                ("topology.k", "4".to_owned()),
                ("duration", "300ms".to_owned()),
                ("drain", "1s".to_owned()),
                ("seeds", "3".to_owned()),
                ("workload.sessions_per_second", rate(HOSTS.1)),
            ],
        }
    }
}

/// Sessions' goodputs in Mb/s, sorted; 0 for one that did not finish.
fn goodputs(run: &RunRecord) -> Vec<f64> {
    let outcomes = SessionOutcome::of(&run.sessions);
    let goodput = |session: SessionOutcome| session.goodput_bps().unwrap_or(0.0) / 1e6;
    let mut all: Vec<f64> = outcomes.into_iter().map(goodput).collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

fn mean_goodput(run: &RunRecord) -> f64 {
    mean(&goodputs(run))
}

/// The goodput that nine sessions in ten exceed.
fn low_goodput(run: &RunRecord) -> f64 {
    quantile(&goodputs(run), 0.1)
}

/// Payload of flows in the background that arrived while sessions did, in Gb/s a flow.
fn background(run: &RunRecord) -> f64 {
    let is_of = |class: &u8| *class == Class::Background as u8;
    let flows = run.flows.iter().filter(|flow| is_of(&flow.class)).count();
    let arrived = run.arrived.as_ref();
    let all = arrived.map_or(f64::NAN, |a| a.goodput_bps(Class::Background.name()));
    all / 1e9 / flows as f64
}

/// How many sessions all seeds of a design have.
fn sessions(results: &Results, part: &str, design: &str) -> usize {
    let runs = results.runs(part, design);
    runs.map(|run| SessionOutcome::of(&run.sessions).len())
        .sum()
}

/// The published order: more, where no number is; as much counts.
const NOT_LESS: band::Band = (-5.0, 2_000.0);

/// SCDP's goodput in `part` against another design's in `other_part`, paired by seed.
fn against(
    results: &Results,
    (part, other_part): (&str, &str),
    other: &str,
    figure: fn(&RunRecord) -> f64,
) -> Vec<f64> {
    let pairs = results
        .runs(part, "scdp")
        .zip(results.runs(other_part, other));
    pairs
        .map(|(ours, theirs)| (figure(ours) / figure(theirs) - 1.0) * 100.0)
        .collect()
}

/// What is the same for writes and reads: SCDP's sessions by themselves, against the others in the same
/// study and in that of the other way, and the background.
fn rows_of(
    results: &Results,
    load: &Load,
    (way, other_way): (&str, &str),
    published: &[(&'static str, f64)],
) -> Vec<ComparisonRow> {
    let (part, other_part) = load.parts;
    let (what, at) = (load.what, At::new(results, part, None));
    let count = sessions(results, part, "scdp");
    let mut rows = vec![
        row(
            format!("{what}: scdp, mean goodput of {count} sessions, Mb/s"),
            &at.by_seed("scdp", mean_goodput),
            None,
            band::SHOWN,
            "published as ranks",
        ),
        row(
            format!("{what}: scdp, goodput that nine sessions in ten exceed, Mb/s"),
            &at.by_seed("scdp", low_goodput),
            None,
            band::SHOWN,
            "published as ranks",
        ),
    ];
    for (its_part, by) in [(part, way), (other_part, other_way)] {
        for other in ["ndp", "ndp-plus", "pias"] {
            for (name, figure) in [
                ("mean goodput", mean_goodput as fn(&RunRecord) -> f64),
                ("goodput that nine in ten exceed", low_goodput),
            ] {
                rows.push(row(
                    format!("{what}: scdp, {name} against {other} by {by}, %"),
                    &against(results, (part, its_part), other, figure),
                    None,
                    NOT_LESS,
                    "published as ranks: up to 50 % over NDP and 60 % over PIAS",
                ));
            }
        }
    }
    for design in ["scdp", "ndp", "ndp-plus", "pias"] {
        let theirs = published.iter().find(|(known, _)| *known == design);
        let by = match design {
            "scdp" => String::new(),
            _ => format!(" by {way}"),
        };
        rows.push(row(
            format!("{what}: {design}{by}, goodput of background flows, Gb/s"),
            &at.by_seed(design, background),
            theirs.map(|(_, gbps)| *gbps),
            band::SHOWN,
            "the rate of the sessions is not legible in the paper, and decides it",
        ));
    }
    for other in published.iter().filter(|(design, _)| *design != "scdp") {
        rows.push(row(
            format!(
                "{what}: scdp, goodput of background flows against {} by {way}, %",
                other.0
            ),
            &at.change("scdp", other.0, background),
            published
                .iter()
                .find(|(design, _)| *design == "scdp")
                .map(|(_, scdp)| (scdp / other.1 - 1.0) * 100.0),
            NOT_LESS,
            "the order is published with the heaviest load",
        ));
    }
    rows
}
