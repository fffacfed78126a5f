//! Causes of bursts: large sends, and a NIC that delays its interrupt until it has received several frames.

use super::figures::{FULL_PACKET, below_zero, throughput_mbps};
use crate::band;
use crate::measure::{Figure, Selection};
use crate::measured_value::MeasuredValue;
use crate::part::{Part, Reproduction, Results, keys};
use crate::row::row;
use tailcut_report::ComparisonRow;
use tailcut_scenario::record::RunRecord;

const SCENARIO: &str = include_str!("../../scenarios/reproduce/hull-bursts.toml");

/// Name of a part, and its changed keys.
type Variant = (&'static str, &'static [(&'static str, &'static str)]);

/// Parts in which a NIC of 10 Gb/s sends a flow of 1 Gb/s.
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

/// One row of the published table.
struct Setting {
    /// Name of the setting in rows.
    name: &'static str,
    /// Number of frames per interrupt.
    frames: &'static str,
    /// Part in which the whole path has 10 Gb/s.
    fast: &'static str,
    /// Part in which one link of the path has 9 Gb/s, so that the NIC has to pause.
    /// Without pauses, there are no bursts.
    paused: &'static str,
    /// Part with large sends, and with a receiver that merges the segments of one interrupt.
    /// `None` if each frame has its own interrupt, because a receiver without coalescing has nothing to merge.
    merged: Option<&'static str>,
    /// Published throughput in Gb/s and burst size in KB.
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

/// Explanation of the row in which the testbed's processor is saturated. The simulation has no processors.
const NO_PROCESSOR: &str =
    "the published run saturated a processor, and processors are not simulated";

/// Reproduction of the table about bursts.
pub const HULL_BURSTS: Reproduction = Reproduction {
    name: "hull-bursts",
    title: "HULL, causes of bursts: large sends and interrupt coalescing at 10 Gb/s (HULL slides)",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
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

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let mut rows = large_sends(results);
    rows.extend(SETTINGS.iter().enumerate().map(|(index, setting)| {
        let published = setting.published.0;
        row(
            format!("{}: throughput, Gb/s", setting.name),
            &Selection::new(results, setting.fast, None)
                .by_seed("tcp", |run| throughput_mbps(run) / 1_000.0),
            Some(published),
            // The line rate without headers is 9.49 Gb/s.
            (index > 0).then_some((published * 0.95, published * 1.05)),
            if index > 0 { "" } else { NO_PROCESSOR },
        )
    }));
    rows.extend(SETTINGS.iter().enumerate().map(|(index, setting)| {
        row(
            format!("{}: mean burst of a flow of 9 Gb/s, KB", setting.name),
            &Selection::new(results, setting.paused, None).by_seed("tcp", burst_kb),
            Some(setting.published.1),
            band::NO_BAND,
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
            &Selection::new(results, part, None).by_seed("tcp", burst_kb),
            Some(setting.published.1),
            band::NO_BAND,
            "one ACK for each interrupt, large sends of 64 KiB",
        ))
    }));
    let steps = SETTINGS[1..].windows(2).map(|step| {
        let [less, more] = [&step[0], &step[1]].map(|s| Selection::new(results, s.paused, None));
        less.change_from("tcp", (more, "tcp"), Figure::Run(&burst_kb))
    });
    rows.push(row(
        "from 2 to 8 to 32 to 128 frames: steps at which bursts grow",
        below_zero(&steps.collect::<Vec<MeasuredValue>>()),
        Some(3.0),
        (3.0, 3.0),
        "",
    ));
    rows
}

const FRAMES_ONLY: &str = "our bursts are released by the ACKs of an interrupt, so they are proportional to \
                           the frames; the published method of measurement is unknown";

fn large_sends(results: &Results) -> Vec<ComparisonRow> {
    let [(large, _), (paced, _), (segments, _)] = LARGE_SENDS;
    let interval_ms = |run: &RunRecord| {
        let bursts = run.host_bursts.map_or(0, |bursts| bursts.bursts);
        run.totals.simulated.as_us_f64() / 1_000.0 / bursts as f64
    };
    let shown = |what: &str, part, design: &'static str| {
        row(
            format!("1 Gb/s flow, {what}: mean burst, KB"),
            &Selection::new(results, part, None).by_seed(design, burst_kb),
            None,
            band::NO_BAND,
            "not in the slides",
        )
    };
    vec![
        row(
            "1 Gb/s flow, large sends, not paced: mean burst, KB",
            &Selection::new(results, large, None).by_seed("tcp", burst_kb),
            Some(65.0),
            (60.0, 70.0),
            "a large send has 64 KiB",
        ),
        row(
            "1 Gb/s flow, large sends, not paced: time from burst to burst, ms",
            &Selection::new(results, large, None).by_seed("tcp", interval_ms),
            Some(0.5),
            (0.45, 0.6),
            "1 Gb/s includes headers",
        ),
        shown("large sends, HULL's pacer", paced, "hull"),
        shown("no large sends, not paced", segments, "tcp"),
    ]
}

/// Returns the mean payload of a burst in KB.
fn burst_kb(run: &RunRecord) -> f64 {
    let (payload, wire) = FULL_PACKET;
    let bytes = run.host_bursts.map_or(f64::NAN, |bursts| bursts.mean_bytes);
    bytes * payload / wire / 1_000.0
}
