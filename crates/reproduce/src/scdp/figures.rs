//! What the figures of this folder share.

use crate::band;
use crate::case::{Case, Keys, section};
use tailcut_scenario::record::{FlowRecord, LinkSample, RunRecord};
use tailcut_scenario::sim::workload::Class;
use tailcut_scenario::units::Time;

/// Payload of a full packet over the bytes that it takes on a link.
pub const PAYLOAD_SHARE: f64 = 1_460.0 / 1_538.0;

/// What the forms for real hosts have in common. SCDP is the only design of its figures that has them, and goes 200
/// times slower, so that 1 Gb/s is 5 Mb/s for the machine: 16 hosts share its processors.
pub const ON_REAL_HOSTS: Keys = &[("clock", "wall"), ("slowdown", "200"), ("designs", "scdp")];

/// The designs that a change of these keys concerns: those of their sections, or all.
pub fn concerned(case: &Case, designs: &[&'static str]) -> Vec<&'static str> {
    let concerns = |section: Option<&str>, design: &str| match section {
        Some("scdp") => design == "scdp",
        Some("ndp") => design.starts_with("ndp"),
        Some("tcp" | "queue" | "pias") => ["tcp", "pias"].contains(&design),
        _ => true,
    };
    let changes = case.changes();
    let is_concerned = |design: &&&str| {
        let mut each = changes.chunks(1);
        changes.is_empty() || each.any(|change| concerns(section(change), design))
    };
    designs.iter().filter(is_concerned).copied().collect()
}

/// Payload over completion time, in Mb/s; 0 for a flow that did not finish.
pub fn goodput_mbps(flow: &FlowRecord) -> f64 {
    let fct = flow.fct.map_or(f64::INFINITY, |fct| fct.as_us_f64());
    flow.bytes.0 as f64 * 8.0 / fct
}

pub fn is_of(flow: &FlowRecord, class: Class) -> bool {
    flow.class == class as u8
}

/// The share of `flows` that hold, in per cent; NaN without flows.
pub fn per_cent<'a>(
    flows: impl Iterator<Item = &'a FlowRecord>,
    holds: impl Fn(&FlowRecord) -> bool,
) -> f64 {
    let (held, all) = flows.fold((0u32, 0u32), |(held, all), flow| {
        (held + u32::from(holds(flow)), all + 1)
    });
    100.0 * f64::from(held) / f64::from(all)
}

/// The samples of the links of these names.
pub fn samples_of<'a>(run: &'a RunRecord, names: &[&str]) -> impl Iterator<Item = &'a LinkSample> {
    let number = |name: &&str| {
        let port = run.ports.iter().find(|port| port.name == *name);
        port.unwrap_or_else(|| panic!("the scenario has no link {name}"))
            .port
    };
    let links: Vec<u32> = names.iter().map(number).collect();
    let samples = run.links.iter();
    samples.filter(move |sample| links.contains(&sample.link))
}

/// Payload that the links of these names carried until `end`, in Mb/s, headers of trimmed packets with it.
pub fn carried_mbps(run: &RunRecord, names: &[&str], end: Time) -> f64 {
    let until = samples_of(run, names).filter(|sample| sample.time <= end);
    let bytes: u64 = until.map(|sample| sample.bytes.0).sum();
    bytes as f64 * PAYLOAD_SHARE * 8.0 / (end.as_secs_f64() * 1e6)
}

/// The band of a change against another design, from the published figures of both.
pub fn against(ours: f64, theirs: f64) -> (f64, band::Band) {
    let change = (ours / theirs - 1.0) * 100.0;
    (change, band::of_gain(change))
}

/// The order that was published: more, or not less than counts as the same.
pub const NOT_LESS: band::Band = band::from(-5.0);

/// The order that was published: less, or not more than counts as the same.
pub const NOT_MORE: band::Band = band::up_to(5.0);
