//! Testbed of Expeditus: 16 hosts on a fat-tree of 4 pods. The slides mention this testbed without results.
//! The studies run in the simulator or on real hosts.

use super::figures::{ECMP, Measure, change};
use crate::band;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::ComparisonRow;

const SCENARIO: &str = include_str!("../../scenarios/reproduce/expeditus-emulab.toml");

const PART: &str = "expeditus-emulab";

fn part(changes: &[(&'static str, &str)]) -> Part {
    Part {
        name: PART,
        scenario: SCENARIO,
        changes: keys(changes),
        quick: keys(&[("duration", "4s"), ("loads", "0.5")]),
    }
}

/// Reproduction of Expeditus' testbed.
pub const EMULAB: Reproduction = Reproduction {
    name: PART,
    title: "Expeditus and CONGA on the fat-tree of 16 hosts of Expeditus' testbed (slides; no figure published)",
    parts,
    parts_on_real_hosts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    vec![part(&[])]
}

fn parts_on_real_hosts() -> Vec<Part> {
    vec![part(&[("clock", "wall")])]
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for load in results.loads(PART, ECMP) {
        for design in ["tcp@conga", "tcp@expeditus"] {
            rows.extend(Measure::ALL.map(|measure| {
                let name = measure.name();
                row(
                    format!("load {load}: {design}, {name} against ECMP, %"),
                    change(results, (PART, load), design, measure),
                    None,
                    band::NO_BAND,
                    "",
                )
            }));
        }
    }
    rows
}
