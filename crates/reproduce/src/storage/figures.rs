//! What the figures of this folder share.

use crate::band;
use crate::case::Keys;
use crate::measure::{At, Figure};
use crate::part::{Part, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::{RunRecord, SessionOutcome};
use tailcut_scenario::sim::workload::Class;

pub const SCENARIO: &str = include_str!("../../scenarios/reproduce/scdp-storage.toml");

/// Hosts in the full and in the quick form.
pub const HOSTS: (u32, u32) = (250, 16);

/// The first of the loads, those of blocks of 1 MB, are run on real hosts.
pub const ON_REAL_HOSTS: usize = 2;

/// A load, carried in two ways.
pub struct Load {
    /// For rows.
    pub what: &'static str,
    /// The names of the studies: of the designs' own way, and of the other one.
    pub parts: (&'static str, &'static str),
    pub sizes: &'static str,
    /// Sessions a second a host.
    pub per_host: u32,
}

impl Load {
    /// The study called `name`, with keys that make its way.
    pub fn part(&self, name: &'static str, way: Keys) -> Part {
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
                ("duration", "150ms".to_owned()),
                ("drain", "1s".to_owned()),
                ("workload.sessions_per_second", rate(HOSTS.1)),
            ],
        }
    }

    /// The same on real hosts, 200 times slower: 16 of them, with one design alone.
    pub fn part_on_real_hosts(&self, way: Keys, design: &'static str) -> Part {
        let part = self.part(self.parts.0, way);
        let small = keys(&[
            ("clock", "wall"),
            ("slowdown", "200"),
            ("designs", design),
            ("topology.k", "4"),
            // A long flow outlasts the run, but has to fit into a host's memory.
            ("workload[1].sizes", "fixed:50MB"),
            ("measure_goodput", "false"),
        ]);
        let rate = (self.per_host * HOSTS.1).to_string();
        let rate = ("workload.sessions_per_second", rate);
        Part {
            changes: part
                .changes
                .into_iter()
                .chain(small)
                .chain([rate])
                .collect(),
            quick: keys(&[("duration", "100ms"), ("drain", "100ms")]),
            ..part
        }
    }
}

/// Sessions' goodputs in Mb/s; 0 for one that did not finish.
pub fn goodputs(run: &RunRecord) -> Vec<f64> {
    let outcomes = SessionOutcome::of(&run.sessions);
    let goodput = |session: SessionOutcome| session.goodput_bps().unwrap_or(0.0) / 1e6;
    outcomes.into_iter().map(goodput).collect()
}

pub const MEAN_GOODPUT: Figure<'static> = Figure::Of(Statistic::Mean, &goodputs);

/// The goodput that nine sessions in ten exceed.
pub const LOW_GOODPUT: Figure<'static> = Figure::Of(Statistic::Quantile(0.1), &goodputs);

/// Payload of flows in the background that arrived while sessions did, in Gb/s a flow.
pub fn background(run: &RunRecord) -> f64 {
    let is_of = |class: &u8| *class == Class::Background as u8;
    let flows = run.flows.iter().filter(|flow| is_of(&flow.class)).count();
    let arrived = run.arrived.as_ref();
    let all = arrived.map_or(f64::NAN, |a| a.goodput_bps(Class::Background.name()));
    all / 1e9 / flows as f64
}

pub const BACKGROUND: Figure<'static> = Figure::Run(&background);

/// The published order: more, where no number is; as much counts.
pub const NOT_LESS: band::Band = band::from(-5.0);

/// What is the same for writes and reads: SCDP's sessions by themselves, against the others in the same
/// study and in that of the other way, and the background.
pub fn rows_of(
    results: &Results,
    load: &Load,
    (way, other_way): (&str, &str),
    published: &[(&'static str, f64)],
) -> Vec<ComparisonRow> {
    let (part, other_part) = load.parts;
    let (what, at) = (load.what, At::new(results, part, None));
    let mut rows = Vec::new();
    for design in ["scdp", "scdp-plain"] {
        if !results.ran(part, design) {
            continue;
        }
        for (name, figure) in [
            ("mean goodput of sessions", MEAN_GOODPUT),
            ("goodput that nine sessions in ten exceed", LOW_GOODPUT),
        ] {
            rows.push(row(
                format!("{what}: {design}, {name}, Mb/s"),
                at.ours(design, figure),
                None,
                band::SHOWN,
                "published as ranks",
            ));
        }
    }
    if !results.ran(part, "ndp") {
        // On real hosts, which tell no goodput of flows that do not end.
        return rows;
    }
    for (its_part, by) in [(part, way), (other_part, other_way)] {
        for other in ["ndp", "ndp-plus", "pias"] {
            for (name, figure) in [
                ("mean goodput", MEAN_GOODPUT),
                ("goodput that nine in ten exceed", LOW_GOODPUT),
            ] {
                rows.push(row(
                    format!("{what}: scdp, {name} against {other} by {by}, %"),
                    at.against("scdp", (At::new(results, its_part, None), other), figure),
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
            at.ours(design, BACKGROUND),
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
            at.change("scdp", other.0, BACKGROUND),
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
