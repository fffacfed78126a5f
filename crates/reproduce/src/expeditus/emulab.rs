//! The testbed that the slides name and of which they show nothing: 16 hosts on a fat-tree of 4 pods, in the
//! simulator or on real hosts.

use super::figures::{ECMP, Measure, change};
use crate::band;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::ComparisonRow;

/// See the module.
pub struct Emulab;

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

impl Reproduction for Emulab {
    fn name(&self) -> &'static str {
        PART
    }

    fn title(&self) -> &'static str {
        "Expeditus and CONGA on the fat-tree of 16 hosts of Expeditus' testbed (slides; no figure published)"
    }

    fn parts(&self) -> Vec<Part> {
        vec![part(&[])]
    }

    fn parts_on_real_hosts(&self) -> Vec<Part> {
        vec![part(&[("clock", "wall")])]
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = Vec::new();
        for load in results.loads(PART, ECMP) {
            for design in ["tcp@conga", "tcp@expeditus"] {
                rows.extend(Measure::ALL.map(|measure| {
                    let name = measure.name();
                    row(
                        format!("load {load}: {design}, {name} against ECMP, %"),
                        change(results, (PART, load), design, measure),
                        None,
                        band::SHOWN,
                        "",
                    )
                }));
            }
        }
        rows
    }
}
