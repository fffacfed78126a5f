//! Functions that all storage figures of SCDP share.

use crate::band;
use crate::case::Keys;
use crate::measure::{Figure, Selection};
use crate::part::{Part, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};
use tailcut_scenario::record::{RunRecord, SessionOutcome};
use tailcut_scenario::sim::workload::Class;

pub const SCENARIO: &str = include_str!("../../scenarios/reproduce/scdp-storage.toml");

/// Number of hosts in the full form and in the quick form.
pub const HOSTS: (u32, u32) = (250, 16);

/// Number of loads that also run on real hosts: the first loads in the list, with blocks of 1 MB.
pub const ON_REAL_HOSTS: usize = 2;

/// Load of a storage figure. Its two studies use two different methods of transfer.
pub struct Load {
    /// Description of the load in rows.
    pub description: &'static str,
    /// Names of the two studies.
    /// The first study uses the best method of each design, and the second study uses the method that is not the best.
    pub parts: (&'static str, &'static str),
    /// Sizes of the objects that sessions transfer.
    pub sizes: &'static str,
    /// Sessions per second for each host.
    pub per_host: u32,
}

impl Load {
    /// Returns the study with this name. `way` contains the keys that select the method of transfer.
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

    /// Returns the study on 16 real hosts, with a single design. The network is 200 times slower.
    pub fn part_on_real_hosts(&self, way: Keys, design: &'static str) -> Part {
        let part = self.part(self.parts.0, way);
        let small = keys(&[
            ("clock", "wall"),
            ("slowdown", "200"),
            ("designs", design),
            ("topology.k", "4"),
            // A long flow must last longer than the run, but it must fit into a host's memory.
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

/// Returns the goodputs of sessions in Mb/s. The goodput of an unfinished session is 0.
pub fn goodputs(run: &RunRecord) -> Vec<f64> {
    let outcomes = SessionOutcome::of(&run.sessions);
    let goodput = |session: SessionOutcome| session.goodput_bps().unwrap_or(0.0) / 1e6;
    outcomes.into_iter().map(goodput).collect()
}

pub const MEAN_GOODPUT: Figure<'static> = Figure::Of(Statistic::Mean, &goodputs);

/// 10th percentile of the goodput: nine of ten sessions exceed it.
pub const LOW_GOODPUT: Figure<'static> = Figure::Of(Statistic::Quantile(0.1), &goodputs);

/// Returns the mean goodput of a background flow in Gb/s, during the time in which sessions start.
pub fn background(run: &RunRecord) -> f64 {
    let is_of = |class: &u8| *class == Class::Background as u8;
    let flows = run.flows.iter().filter(|flow| is_of(&flow.class)).count();
    let arrived = run.arrived.as_ref();
    let all = arrived.map_or(f64::NAN, |a| a.goodput_bps(Class::Background.name()));
    all / 1e9 / flows as f64
}

pub const BACKGROUND: Figure<'static> = Figure::Run(&background);

/// Returns the rows that both the figure of writes and the figure of reads have.
/// The rows show SCDP's sessions, the comparison with other designs for both methods, and the background flows.
pub fn rows_of(
    results: &Results,
    load: &Load,
    (way, other_way): (&str, &str),
    published: &[(&'static str, f64)],
) -> Vec<ComparisonRow> {
    let (part, other_part) = load.parts;
    let (description, at) = (load.description, Selection::new(results, part, None));
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
                format!("{description}: {design}, {name}, Mb/s"),
                at.ours(design, figure),
                None,
                band::NO_BAND,
                "published as ranks",
            ));
        }
    }
    if !results.ran(part, "ndp") {
        // Studies on real hosts contain only one design.
        // Studies on real hosts do not measure the goodput of background flows, because background flows do not finish.
        return rows;
    }
    for (its_part, by) in [(part, way), (other_part, other_way)] {
        for other in ["ndp", "ndp-plus", "pias"] {
            for (name, figure) in [
                ("mean goodput", MEAN_GOODPUT),
                ("goodput that nine in ten flows exceed", LOW_GOODPUT),
            ] {
                rows.push(row(
                    format!("{description}: scdp, {name} against {other} by {by}, %"),
                    at.change_from(
                        "scdp",
                        (Selection::new(results, its_part, None), other),
                        figure,
                    ),
                    None,
                    band::NOT_LESS,
                    "published as ranks: up to 50 % higher than NDP and 60 % higher than PIAS",
                ));
            }
        }
    }
    for design in ["scdp", "ndp", "ndp-plus", "pias"] {
        let published = published.iter().find(|(known, _)| *known == design);
        let by = match design {
            "scdp" => String::new(),
            _ => format!(" by {way}"),
        };
        rows.push(row(
            format!("{description}: {design}{by}, goodput of background flows, Gb/s"),
            at.ours(design, BACKGROUND),
            published.map(|(_, gbps)| *gbps),
            band::NO_BAND,
            "depends on the rate of the sessions, which is not legible in the paper",
        ));
    }
    for other in published.iter().filter(|(design, _)| *design != "scdp") {
        rows.push(row(
            format!(
                "{description}: scdp, goodput of background flows against {} by {way}, %",
                other.0
            ),
            at.change("scdp", other.0, BACKGROUND),
            published
                .iter()
                .find(|(design, _)| *design == "scdp")
                .map(|(_, scdp)| (scdp / other.1 - 1.0) * 100.0),
            band::NOT_LESS,
            "the order is published for the highest load",
        ));
    }
    rows
}
