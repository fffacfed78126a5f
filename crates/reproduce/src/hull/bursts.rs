//! Where bursts come from: large sends, and interrupts that are coalesced by frames.

use super::figures::{FULL_PACKET, below_zero, throughput_mbps};
use crate::band;
use crate::measure::{At, Figure};
use crate::ours::Ours;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::ComparisonRow;
use tailcut_scenario::record::RunRecord;

/// See the module.
pub struct HullBursts;

const SCENARIO: &str = include_str!("../../scenarios/reproduce/hull-bursts.toml");

/// A part's name and keys.
type Variant = (&'static str, &'static [(&'static str, &'static str)]);

/// A flow of 1 Gb/s from a NIC of 10 Gb/s.
const LARGE_SENDS: [Variant; 3] = [
    (
        "large-sends",
        &[("topology.fabric_rate", "1Gbps"), ("tcp.lso", "65536")],
    ),
    (
        "large-sends-paced",
        &[
            ("designs", "hull"),
            ("topology.fabric_rate", "1Gbps"),
            ("tcp.lso", "65536"),
        ],
    ),
    ("segment-sends", &[("topology.fabric_rate", "1Gbps")]),
];

/// A setting of the table: frames an interrupt, the parts that measure it, and the published throughput
/// in Gb/s and burst size in KB.
struct Setting {
    name: &'static str,
    frames: &'static str,
    /// At 10 Gb/s all the way.
    fast: &'static str,
    /// Through 9 Gb/s: a NIC that never pauses has no bursts.
    paused: &'static str,
    /// The same where the receiver's stack merges what an interrupt brings, and sends are large; without
    /// coalescing there is nothing to merge.
    merged: Option<&'static str>,
    published: (f64, f64),
}

const SETTINGS: [Setting; 5] = [
    Setting {
        name: "no coalescing",
        frames: "1",
        fast: "frames-1-10g",
        paused: "frames-1-9g",
        merged: None,
        published: (7.7, 67.4),
    },
    Setting {
        name: "rx-frames 2",
        frames: "2",
        fast: "frames-2-10g",
        paused: "frames-2-9g",
        merged: Some("frames-2-9g-merged"),
        published: (9.3, 11.4),
    },
    Setting {
        name: "rx-frames 8",
        frames: "8",
        fast: "frames-8-10g",
        paused: "frames-8-9g",
        merged: Some("frames-8-9g-merged"),
        published: (9.5, 12.2),
    },
    Setting {
        name: "rx-frames 32",
        frames: "32",
        fast: "frames-32-10g",
        paused: "frames-32-9g",
        merged: Some("frames-32-9g-merged"),
        published: (9.5, 16.5),
    },
    Setting {
        name: "rx-frames 128",
        frames: "128",
        fast: "frames-128-10g",
        paused: "frames-128-9g",
        merged: Some("frames-128-9g-merged"),
        published: (9.5, 64.0),
    },
];

/// The processor is not simulated, and its row of the table is where it is saturated.
const NO_PROCESSOR: &str = "theirs is a saturated processor, which is not simulated";

impl Reproduction for HullBursts {
    fn name(&self) -> &'static str {
        "hull-bursts"
    }

    fn title(&self) -> &'static str {
        "HULL, where bursts come from: large sends and interrupt coalescing at 10 Gb/s (HULL slides)"
    }

    fn parts(&self) -> Vec<Part> {
        let part = |name, changes| Part {
            name,
            scenario: SCENARIO,
            changes,
            quick: Vec::new(),
        };
        let large_sends = LARGE_SENDS
            .iter()
            .map(|(name, changes)| part(name, keys(changes)));
        let settings = SETTINGS.iter().flat_map(|setting| {
            let at = |rate| {
                keys(&[
                    ("nic.rx_frames", setting.frames),
                    ("topology.fabric_rate", rate),
                ])
            };
            [
                part(setting.fast, at("10Gbps")),
                part(setting.paused, at("9Gbps")),
            ]
        });
        let merged = SETTINGS.iter().filter_map(|setting| {
            let changes = [
                ("nic.rx_frames", setting.frames),
                ("nic.gro", "true"),
                ("tcp.lso", "65536"),
                ("topology.fabric_rate", "9Gbps"),
            ];
            setting.merged.map(|name| part(name, keys(&changes)))
        });
        large_sends.chain(settings).chain(merged).collect()
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
        let mut rows = large_sends(results);
        rows.extend(SETTINGS.iter().enumerate().map(|(index, setting)| {
            let theirs = setting.published.0;
            row(
                format!("{}: throughput, Gb/s", setting.name),
                &At::new(results, setting.fast, None)
                    .by_seed("tcp", |run| throughput_mbps(run) / 1_000.0),
                Some(theirs),
                // The line rate less headers is 9.49.
                (index > 0).then_some((theirs * 0.95, theirs * 1.05)),
                if index > 0 { "" } else { NO_PROCESSOR },
            )
        }));
        rows.extend(SETTINGS.iter().enumerate().map(|(index, setting)| {
            row(
                format!("{}: mean burst of a flow of 9 Gb/s, KB", setting.name),
                &At::new(results, setting.paused, None).by_seed("tcp", burst_kb),
                Some(setting.published.1),
                band::SHOWN,
                if index > 0 { FRAMES_ONLY } else { NO_PROCESSOR },
            )
        }));
        rows.extend(SETTINGS.iter().filter_map(|setting| {
            let part = setting.merged?;
            Some(row(
                format!(
                    "{}, merged: mean burst of a flow of 9 Gb/s, KB",
                    setting.name
                ),
                &At::new(results, part, None).by_seed("tcp", burst_kb),
                Some(setting.published.1),
                band::SHOWN,
                "an ACK an interrupt, large sends of 64 KiB",
            ))
        }));
        let steps = SETTINGS[1..].windows(2).map(|step| {
            let [less, more] = [&step[0], &step[1]].map(|s| At::new(results, s.paused, None));
            less.against("tcp", (more, "tcp"), Figure::Run(&burst_kb))
        });
        rows.push(row(
            "from 2 to 8 to 32 to 128 frames: steps at which bursts grow",
            below_zero(&steps.collect::<Vec<Ours>>()),
            Some(3.0),
            (3.0, 3.0),
            "",
        ));
        rows
    }
}

const FRAMES_ONLY: &str = "ours are what the ACKs of an interrupt release, so in proportion to the \
                           frames; how theirs were measured is not said";

fn large_sends(results: &Results) -> Vec<ComparisonRow> {
    let [(large, _), (paced, _), (segments, _)] = LARGE_SENDS;
    let interval_ms = |run: &RunRecord| {
        let bursts = run.host_bursts.map_or(0, |bursts| bursts.bursts);
        run.totals.simulated.as_us_f64() / 1_000.0 / bursts as f64
    };
    let shown = |what: &str, part, design: &'static str| {
        row(
            format!("1 Gb/s flow, {what}: mean burst, KB"),
            &At::new(results, part, None).by_seed(design, burst_kb),
            None,
            band::SHOWN,
            "not in the slides",
        )
    };
    vec![
        row(
            "1 Gb/s flow, large sends, not paced: mean burst, KB",
            &At::new(results, large, None).by_seed("tcp", burst_kb),
            Some(65.0),
            (60.0, 70.0),
            "a large send has 64 KiB",
        ),
        row(
            "1 Gb/s flow, large sends, not paced: time from burst to burst, ms",
            &At::new(results, large, None).by_seed("tcp", interval_ms),
            Some(0.5),
            (0.45, 0.6),
            "1 Gb/s holds headers too",
        ),
        shown("large sends, HULL's pacer", paced, "hull"),
        shown("no large sends, not paced", segments, "tcp"),
    ]
}

/// Payload of the mean burst.
fn burst_kb(run: &RunRecord) -> f64 {
    let (payload, wire) = FULL_PACKET;
    let bytes = run.host_bursts.map_or(f64::NAN, |bursts| bursts.mean_bytes);
    bytes * payload / wire / 1_000.0
}
