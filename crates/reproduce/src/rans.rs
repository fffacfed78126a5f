//! Five curves of RANS (slides of HotNets 2014).
//! Further rows show the sensitivity of the curves to parameters that the slides do not give.

use crate::band;
use crate::measure::{Figure, Selection, latencies};
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::{ComparisonRow, Statistic};

/// Variant: name, description, and changed keys.
type Variant = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const SHARED: (&str, &str) = ("servers.discipline", "processor-sharing");

/// Studies with all curves at all loads.
const CURVES: [Variant; 2] = [
    ("rans-fifo", "first come first served", &[]),
    ("rans-shared", "links shared as TCP shares them", &[SHARED]),
];

/// Study in which the same curves are simulated with packets: its name and description.
const PACKETS: (&str, &str) = ("rans-packets", "packets of DCTCP");

/// Two studies of the same curves: one on real hosts, and one in the simulator for comparison.
/// Each entry consists of a name, a description and a clock.
const ON_HOSTS: [(&str, &str, &str); 2] = [
    ("rans-hosts-simulated", "simulated", "simulated"),
    ("rans-hosts", "real hosts", "wall"),
];

/// Designs of the curves that are simulated with packets. [`PACKETS_BASE`] is their baseline.
const PACKETS_DESIGNS: [&str; 4] = [
    "duplicate+dctcp",
    "duplicate-low+dctcp",
    "das+dctcp",
    "rans+dctcp",
];
const PACKETS_BASE: &str = "dctcp";

/// Variants of the curves. Each variant changes one parameter that the slides do not give.
const OPEN: [Variant; 8] = [
    (
        "rans-drawn-sizes",
        "objects of 1 to 127 MB",
        &[("workload.sizes", "uniform:1MB:127MB")],
    ),
    (
        "rans-client-link",
        "a client's link is no faster than a server's link",
        &[("servers.client_link", "1Gbps")],
    ),
    (
        "rans-client-link-shared",
        "the same, shared",
        &[("servers.client_link", "1Gbps"), SHARED],
    ),
    (
        "rans-client-link-4",
        "a client's link is four times as fast",
        &[("servers.client_link", "4Gbps")],
    ),
    (
        "rans-purge-delay",
        "a purge takes a tenth of a service time",
        &[("servers.purge_delay", "51ms")],
    ),
    (
        "rans-chunk-purge",
        "chunks of 16 MB are not interrupted",
        &[("servers.chunk", "16MB"), ("servers.preemption", "chunk")],
    ),
    (
        "rans-3-servers",
        "three servers",
        &[("workload.servers", "3")],
    ),
    (
        "rans-100-servers",
        "a hundred servers",
        &[("workload.servers", "100"), ("workload.clients", "100")],
    ),
];

/// Band for the change against the baseline.
/// The published gains are 50 to 80 % at all loads, and the band adds 5 points at either end.
/// The row shows the middle of the published range.
const GAIN: band::Band = (-85.0, -45.0);
const PUBLISHED: f64 = -65.0;

/// Loads at which the variants run.
const OPEN_LOADS: [f64; 3] = [0.1, 0.5, 0.9];

const BASE: &str = "stations";

const MEAN_LATENCY: Figure<'static> = Figure::Of(Statistic::Mean, &latencies);

/// Reproduction of the five curves of RANS.
pub const RANS: Reproduction = Reproduction {
    name: "rans",
    title: "RANS: mean request completion time against load, five curves (slides of HotNets 2014)",
    parts,
    parts_on_real_hosts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    let owned = |keys: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
        let keys = keys.iter();
        keys.map(|&(key, value)| (key, value.to_owned())).collect()
    };
    let part = |(name, _, changes): &Variant, common: &[(&'static str, &str)], quick| Part {
        name,
        scenario: include_str!("../scenarios/reproduce/rans.toml"),
        changes: [owned(common), owned(changes)].concat(),
        quick: owned(quick),
    };
    let short: &[(&'static str, &str)] = &[
        ("loads", "0.1..0.9:0.2"),
        ("flows", "10000"),
        ("seeds", "4"),
    ];
    let curves = CURVES.iter().map(|variant| part(variant, &[], short));
    let some = [
        ("designs", "stations, das, rans"),
        ("loads", "0.1, 0.5, 0.9"),
    ];
    let open = OPEN.iter();
    let open = open.map(|variant| part(variant, &some, &[("seeds", "4"), ("flows", "5000")]));
    let packets = Part {
        name: PACKETS.0,
        scenario: include_str!("../scenarios/reproduce/rans-packets.toml"),
        changes: Vec::new(),
        quick: owned(&[("flows", "600"), ("seeds", "4")]),
    };
    curves.chain([packets]).chain(open).collect()
}

fn parts_on_real_hosts() -> Vec<Part> {
    let parts = ON_HOSTS.iter().map(|&(name, _, clock)| Part {
        name,
        scenario: include_str!("../scenarios/reproduce/rans-hosts.toml"),
        changes: keys(&[("clock", clock)]),
        quick: keys(&[("loads", "0.2, 0.5, 0.8"), ("flows", "400"), ("seeds", "4")]),
    });
    parts.collect()
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for (part, what, _) in CURVES {
        let designs = ["duplicate", "duplicate-low", "das", "rans"];
        rows.extend(curves(results, (part, what), BASE, designs));
    }
    let on_hosts = ON_HOSTS.map(|(part, what, _)| (part, what));
    for part in [PACKETS].into_iter().chain(on_hosts) {
        rows.extend(curves(results, part, PACKETS_BASE, PACKETS_DESIGNS));
    }
    for (part, what, _) in OPEN {
        for load in OPEN_LOADS {
            if !results.has(part, BASE, load) {
                continue;
            }
            let at = Selection::new(results, part, Some(load));
            for design in ["das", "rans"] {
                rows.push(row(
                    format!("{what}, load {load}: {design}, mean against {BASE}, %"),
                    at.change(design, BASE, MEAN_LATENCY),
                    (design == "rans").then_some(PUBLISHED),
                    band::NO_BAND,
                    "",
                ));
            }
        }
    }
    rows
}

/// Returns the rows of the curves of one part. Each row compares a curve with the baseline of the part.
fn curves(
    results: &Results,
    (part, what): (&'static str, &str),
    base: &'static str,
    designs: [&'static str; 4],
) -> Vec<ComparisonRow> {
    let mut rows = Vec::new();
    for load in results.loads(part, base) {
        let at = Selection::new(results, part, Some(load));
        for design in designs {
            let (published, band, why) = expected(design);
            rows.push(row(
                format!("{what}, load {load}: {design}, mean against {base}, %"),
                at.change(design, base, MEAN_LATENCY),
                published,
                band,
                why,
            ));
        }
    }
    rows
}

/// Returns, for a curve, the published value, our band, and the reason why our value may differ.
fn expected(design: &str) -> (Option<f64>, Option<band::Band>, &'static str) {
    match design.trim_end_matches("+dctcp") {
        "rans" => (
            Some(PUBLISHED),
            Some(GAIN),
            "published: 50 to 80 % at all loads; service discipline and sizes are not published",
        ),
        "duplicate-low" | "das" => (
            None,
            Some(band::NEVER_WORSE),
            "published as a chart; low duplicates use only capacity that primaries do not use",
        ),
        _ => (
            None,
            band::NO_BAND,
            "doubles the load, so latency diverges at loads of 0.5 or more",
        ),
    }
}
