//! Functions that all figures of SCDP share.

use crate::band;
use crate::case::{Case, Keys, section};
use tailcut_scenario::record::{FlowRecord, LinkSample, RunRecord};
use tailcut_scenario::sim::workload::Class;
use tailcut_scenario::units::Time;

/// Payload bytes of a full packet, divided by the bytes that the packet occupies on a link.
pub const PAYLOAD_SHARE: f64 = 1_460.0 / 1_538.0;

/// Changed keys for studies on real hosts. Of the designs in the figures, real hosts support only SCDP.
/// The network is 200 times slower (5 Mb/s instead of 1 Gb/s), because 16 hosts share the processors of one machine.
pub const ON_REAL_HOSTS: Keys = &[("clock", "wall"), ("slowdown", "200"), ("designs", "scdp")];

/// Returns the designs that the changed keys of a case affect. The section of a key determines these designs.
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

/// Returns the payload of a flow divided by its completion time, in Mb/s. Returns 0 for an unfinished flow.
pub fn goodput_mbps(flow: &FlowRecord) -> f64 {
    let fct = flow.fct.map_or(f64::INFINITY, |fct| fct.as_us_f64());
    flow.bytes.0 as f64 * 8.0 / fct
}

pub fn is_of(flow: &FlowRecord, class: Class) -> bool {
    flow.class == class as u8
}

/// Returns the percentage of `flows` for which `holds` returns true; NaN without flows.
pub fn per_cent<'a>(
    flows: impl Iterator<Item = &'a FlowRecord>,
    holds: impl Fn(&FlowRecord) -> bool,
) -> f64 {
    let (held, all) = flows.fold((0u32, 0u32), |(held, all), flow| {
        (held + u32::from(holds(flow)), all + 1)
    });
    100.0 * f64::from(held) / f64::from(all)
}

/// Returns the samples of the links with the given names.
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

/// Returns the rate of payload on the links with the given names until `end`, in Mb/s.
/// The headers of trimmed packets count as payload.
pub fn carried_mbps(run: &RunRecord, names: &[&str], end: Time) -> f64 {
    let until = samples_of(run, names).filter(|sample| sample.time <= end);
    let bytes: u64 = until.map(|sample| sample.bytes.0).sum();
    bytes as f64 * PAYLOAD_SHARE * 8.0 / (end.as_secs_f64() * 1e6)
}

/// Returns the published change against another design, and the band for the change.
/// `ours` is the published value of SCDP, and `published` is the published value of the compared design.
pub fn change_from(ours: f64, published: f64) -> (f64, band::Band) {
    let change = (ours / published - 1.0) * 100.0;
    (change, band::for_gain(change))
}
