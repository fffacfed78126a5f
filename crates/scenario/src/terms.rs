//! Terms that network engineers know for parts and keys whose names differ in this project.

use crate::error::did_you_mean;
use tailcut_sim::{Design, NamedBalancer, NamedQueue, REPLICATIONS, Registered, UnknownDesign};

/// Usual terms for designs and load balancers, each with the name in this project.
const PARTS: [(&str, &str); 12] = [
    ("reno", "tcp"),
    ("newreno", "tcp"),
    ("hstcp", "highspeed"),
    ("ecn", "dctcp"),
    ("rps", "spray"),
    ("random", "spray"),
    ("packet", "spray"),
    ("packet-spraying", "spray"),
    ("per-packet", "spray"),
    ("flowlet", "letflow"),
    ("flowlets", "letflow"),
    ("wcmp", "weighted-ecmp"),
];

/// Names of known congestion controls and load balancers that this project does not implement.
const ABSENT: [&str; 21] = [
    "bbr", "bbr2", "bbr3", "bic", "copa", "dcqcn", "detail", "drill", "drb", "hedera", "homa",
    "hpcc", "illinois", "ledbat", "plug", "presto", "quic", "swift", "timely", "vegas", "westwood",
];

/// Usual terms for keys of a scenario, each with the key.
const KEYS: [(&str, &str); 27] = [
    ("bandwidth", "topology.rate"),
    ("bw", "topology.rate"),
    ("line_rate", "topology.rate"),
    ("link_rate", "topology.rate"),
    ("link_speed", "topology.rate"),
    ("speed", "topology.rate"),
    ("latency", "topology.delay"),
    ("link_delay", "topology.delay"),
    ("propagation", "topology.delay"),
    ("racks", "topology.leaves"),
    ("tors", "topology.leaves"),
    ("paths", "topology.spines"),
    ("servers", "topology.hosts"),
    ("buffer", "queue.limit"),
    ("buffers", "queue.limit"),
    ("buffer_size", "queue.limit"),
    ("qlen", "queue.limit"),
    ("queue_size", "queue.limit"),
    ("aqm", "queue.discipline"),
    ("ecn", "queue.mark_above"),
    ("ecn_threshold", "queue.mark_above"),
    ("marking_threshold", "queue.mark_above"),
    ("rto", "tcp.min_rto"),
    ("rto_min", "tcp.min_rto"),
    ("mtu", "tcp.mss"),
    ("iw", "tcp.initial_window"),
    ("initial_cwnd", "tcp.initial_window"),
];

/// Other spellings of units, each with the spelling of scenarios.
const UNITS: [(&str, &str); 25] = [
    ("msec", "ms"),
    ("msecs", "ms"),
    ("millis", "ms"),
    ("usec", "us"),
    ("usecs", "us"),
    ("micros", "us"),
    ("nsec", "ns"),
    ("sec", "s"),
    ("secs", "s"),
    ("seconds", "s"),
    ("b", "B"),
    ("bytes", "B"),
    ("kb", "KB"),
    ("mb", "MB"),
    ("gb", "GB"),
    ("pkt", " packets"),
    ("pkts", " packets"),
    ("p", " packets"),
    ("Gb", "Gbps"),
    ("Gbit", "Gbps"),
    ("Gbits", "Gbps"),
    ("mbps", "Mbps"),
    ("Mb", "Mbps"),
    ("Mbit", "Mbps"),
    ("Mbits", "Mbps"),
];

/// Returns the text with another spelling of its unit, if `is_allowed` accepts it.
pub(crate) fn with_usual_unit(text: &str, is_allowed: impl Fn(&str) -> bool) -> Option<String> {
    let text = text.trim();
    let end = text.rfind(|letter: char| letter.is_ascii_digit())? + 1;
    let (number, unit) = text.split_at(end);
    let spellings = UNITS
        .iter()
        .filter(|(spelling, _)| *spelling == unit.trim());
    let mut meant = spellings.map(|(_, usual)| format!("{number}{usual}"));
    meant.find(|text| is_allowed(text))
}

/// Returns the key that a usual term of network engineers means.
pub(crate) fn key_for(term: &str) -> Option<&'static str> {
    let term = term.to_ascii_lowercase().replace('-', "_");
    entry(&KEYS, &term)
}

fn entry(terms: &[(&'static str, &'static str)], term: &str) -> Option<&'static str> {
    let found = terms.iter().find(|(known, _)| *known == term);
    found.map(|(_, meant)| *meant)
}

/// Returns whether a name stands for a known part that has no implementation here.
pub(crate) fn is_absent(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ABSENT.contains(&name.trim_start_matches("tcp-"))
}

/// Returns the name of a design that a user probably meant.
pub(crate) fn meant_design(unknown: &UnknownDesign) -> Option<String> {
    let (name, part) = (&unknown.name, &unknown.part);
    if part.is_empty() || is_absent(part) {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let (stack, balancer) = match lower.split_once('@') {
        Some((stack, balancer)) => (stack, Some(balancer)),
        None => (lower.as_str(), None),
    };
    let is_balancer = |name: &str| NamedBalancer::named(name).is_some();
    let is_design = |name: &str| Design::named(name).is_some();
    let is_replication = |name: &str| REPLICATIONS.iter().any(|one| one.name == name);
    // The user may have written the parts in the wrong order or with the wrong sign.
    let moved = match (stack.split_once('+'), balancer) {
        (Some((design, balancer)), None) if is_design(design) && is_balancer(balancer) => {
            Some(format!("{design}@{balancer}"))
        }
        (Some((design, layer)), None) if is_design(design) && is_replication(layer) => {
            Some(format!("{layer}+{design}"))
        }
        (None, Some(design)) if is_balancer(stack) && is_design(design) => {
            Some(format!("{design}@{stack}"))
        }
        (None, Some(design)) if is_design(stack) && is_design(design) => Some(design.to_owned()),
        (None, Some(layer)) if is_design(stack) && is_replication(layer) => {
            Some(format!("{layer}+{stack}"))
        }
        (None, None) if is_balancer(stack) => Some(format!("tcp@{stack}")),
        (None, None) if NamedQueue::named(stack).is_some() => {
            Some(format!("tcp:queue.discipline={stack}"))
        }
        _ => None,
    };
    if let Some(moved) = moved.filter(|moved| moved != name) {
        return Some(moved);
    }
    let term = part.to_ascii_lowercase();
    let own = term.trim_start_matches("tcp-");
    let near = entry(&PARTS, own)
        .or_else(|| {
            is_design(own)
                .then_some(own)
                .filter(|own| unknown.allowed.contains(own))
        })
        .map(str::to_owned);
    let near =
        near.or_else(|| did_you_mean(part, unknown.allowed.iter().copied()).map(str::to_owned))?;
    // The user may have written a load balancer without its sign, such as `spry` or `flowlet`.
    if balancer.is_none() && is_balancer(&near) {
        return Some(format!("tcp@{near}"));
    }
    Some(name.replacen(part.as_str(), &near, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::KeyPath;
    use crate::{Location, schema};

    #[test]
    fn terms_mean_names_that_exist_and_are_no_names_themselves() {
        for (term, meant) in KEYS {
            assert!(
                KeyPath::parse(meant, &Location::Value).is_ok(),
                "{term}: {meant}"
            );
            let top = schema::section("").expect("the top");
            assert!(top.key(term).is_none(), "{term}");
        }
        for (term, meant) in PARTS {
            let is_known = Design::named(meant).is_some() || NamedBalancer::named(meant).is_some();
            assert!(is_known, "{term}: {meant}");
        }
        for absent in ABSENT {
            let is_known =
                Design::named(absent).is_some() || NamedBalancer::named(absent).is_some();
            assert!(!is_known, "{absent}");
        }
    }
}
