//! Outcast (SCDP paper, section V-E, figures 12c and 12d).
//! Two near flows over 4 hops and twelve far flows over 6 hops share a drop-tail port.
//! With TCP, this port drops many consecutive packets from the input port of the near flows ("port blackout").

use super::figures::{ON_REAL_HOSTS, carried_mbps, concerned, per_cent};
use crate::band;
use crate::case::{Case, case, cases};
use crate::measure::Selection;
use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;
use tailcut_scenario::record::{FlowRecord, RunRecord};
use tailcut_scenario::units::{Duration, Time};

const SCENARIO: &str = include_str!("../../scenarios/reproduce/scdp-outcast.toml");

const AS_IS: Case = case("outcast", "", "");

const CHANGED: &str = include_str!("../../cases/scdp-outcast.txt");

/// Name of the link to the receiver of the near flows. The far flows have another receiver.
const NEAR: [&str; 1] = ["rack>receiver[0]"];
const FAR: [&str; 1] = ["rack>receiver[1]"];

fn is_near(flow: &FlowRecord) -> bool {
    flow.dst.0 == 0
}

/// Returns the time until which both groups send: the time at which the first group has received all its bytes.
fn both_until(run: &RunRecord) -> Time {
    let ends = |near: bool| {
        let group = run.flows.iter().filter(|flow| is_near(flow) == near);
        let ends = group.map(|flow| flow.fct.map_or(Time::MAX, |fct| flow.start + fct));
        ends.max().unwrap_or(Time::MAX)
    };
    let end = ends(true).min(ends(false));
    // A sample covers an interval of 100 us. The time is therefore rounded down to the end of a sample.
    let interval = Duration::from_us(100).as_ps();
    Time::from_ps(end.as_ps() / interval * interval)
}

fn goodput(run: &RunRecord, links: &[&str]) -> f64 {
    carried_mbps(run, links, both_until(run))
}

/// Returns the percentage of a group's flows that waited for a retransmission timeout.
fn timed_out(run: &RunRecord, near: bool) -> f64 {
    let group = run.flows.iter().filter(|flow| is_near(flow) == near);
    per_cent(group, |flow| flow.timeouts > 0)
}

/// Returns the retransmitted bytes of a group as a percentage of the group's bytes.
fn sent_again(run: &RunRecord, near: bool) -> f64 {
    let group = run.flows.iter().filter(|flow| is_near(flow) == near);
    let (sent, bytes) = group.fold((0, 0), |(sent, bytes), flow| {
        (sent + flow.payload_sent.0, bytes + flow.bytes.0)
    });
    100.0 * (sent as f64 / bytes as f64 - 1.0)
}

const DESIGNS: [&str; 3] = ["scdp", "ndp", "tcp"];

/// Reproduction of the two figures about outcast.
pub const OUTCAST: Reproduction = Reproduction {
    name: "scdp-outcast",
    title: "Outcast: two near flows against twelve far ones (SCDP paper, figures 12c and 12d)",
    parts,
    parts_on_real_hosts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let cases = std::iter::once(AS_IS).chain(cases(CHANGED));
    cases.map(|case| case.part(SCENARIO, &[], &[])).collect()
}

fn parts_on_real_hosts() -> Vec<Part> {
    vec![AS_IS.part(SCENARIO, ON_REAL_HOSTS, &[("seeds", "6")])]
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let at = Selection::new(results, AS_IS.name, None);
    let why = "payload of both groups until the first group is complete";
    let mut rows = Vec::new();
    // The band allows half to twice the published goodput, but not more than the capacity of the link.
    // The goodput of TCP depends on its timeouts, so only the order of the two groups is checked.
    for (design, near, far) in [
        ("scdp", Some(460.0), Some(435.0)),
        ("ndp", None, None),
        ("tcp", Some(113.0), Some(274.0)),
    ] {
        if !results.ran(AS_IS.name, design) {
            continue;
        }
        for (what, links, published) in [("near", NEAR, near), ("far", FAR, far)] {
            let band = published.filter(|_| design == "scdp");
            rows.push(row(
                format!("{design}: {what} flows, goodput while both groups send, Mb/s"),
                &at.by_seed(design, |run| goodput(run, &links)),
                published,
                band.map(|published| (published / 2.0, 2.0 * published)),
                why,
            ));
        }
        let published = near.zip(far);
        rows.push(row(
            format!("{design}: goodput of near flows, relative to far flows, %"),
            &at.by_seed(design, |run| {
                100.0 * goodput(run, &NEAR) / goodput(run, &FAR)
            }),
            published.map(|(near, far)| 100.0 * near / far),
            match design {
                "tcp" => Some((0.0, 82.0)),
                "scdp" => Some((50.0, 200.0)),
                _ => band::NO_BAND,
            },
            why,
        ));
        rows.push(row(
            format!("{design}: goodput of both groups while both send, Mb/s"),
            &at.by_seed(design, |run| goodput(run, &NEAR) + goodput(run, &FAR)),
            published.map(|(near, far)| near + far),
            match design {
                "tcp" => Some((0.0, 774.0)),
                _ => Some((800.0, 950.0)),
            },
            why,
        ));
    }
    let with_tcp = [("near", true), ("far", false)].into_iter();
    for (what, near) in with_tcp.filter(|_| results.ran(AS_IS.name, "tcp")) {
        rows.push(row(
            format!("tcp: {what} flows that wait for a timeout, %"),
            &at.by_seed("tcp", |run| timed_out(run, near)),
            None,
            band::NO_BAND,
            "the blackout",
        ));
        rows.push(row(
            format!("tcp: bytes that {what} flows retransmit, %"),
            &at.by_seed("tcp", |run| sent_again(run, near)),
            None,
            band::NO_BAND,
            "the blackout",
        ));
    }
    let changed = cases(CHANGED)
        .filter(|case| results.ran(case.name, "scdp") || results.ran(case.name, "tcp"));
    for case in changed {
        let Case {
            name, description, ..
        } = case;
        let at = Selection::new(results, name, None);
        for design in concerned(&case, &DESIGNS) {
            for (group, links) in [("near", NEAR), ("far", FAR)] {
                rows.push(row(
                    format!("{description}: {design}, {group} flows, Mb/s"),
                    &at.by_seed(design, |run| goodput(run, &links)),
                    None,
                    band::NO_BAND,
                    "each case changes one parameter",
                ));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scdp::figures::samples_of;
    use tailcut_scenario::sim::Unattended;
    use tailcut_scenario::{Location, Scenario, Study};

    #[test]
    fn both_receivers_links_carry_bytes() {
        let mut scenario = Scenario::parse("scdp-outcast.toml", "", SCENARIO).expect("a scenario");
        for (key, value) in [("seeds", "1"), ("drain", "1ms")] {
            let place = Location::flag(key);
            scenario.set(key, value, &place).expect("a key");
        }
        let study = Study::of(&scenario).expect("a study");
        let run = tailcut_scenario::sim::run(&study.runs[0], &Unattended).expect("a run");
        for links in [NEAR, FAR] {
            let bytes: u64 = samples_of(&run, &links).map(|sample| sample.bytes.0).sum();
            assert!(bytes > 10_000, "{links:?}: {bytes}");
        }
    }
}
