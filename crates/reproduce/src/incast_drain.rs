//! Formula for the drain time of an incast that fits into the queue.
//! The incast ends when the receiver's link has transmitted all packets of all flows.

use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;

const SENDERS: f64 = 11.0;
const BYTES: f64 = 64_000.0;
const PAYLOAD: f64 = 1_460.0;
/// Overhead of a packet in bytes: headers, preamble and gap.
const OVERHEAD: f64 = 78.0;
const BYTES_PER_US: f64 = 1_250.0;
const DELAY_US: f64 = 1.0;

/// Returns the end time of the last flow in microseconds.
/// The end time has three parts. The first part is the handshake.
/// The second part ends when a full packet is at the switch.
/// The third part is the transmission of all packets on the receiver's link.
/// The result is slightly too large, because it includes the preamble and gap after the last byte.
/// The result is also slightly too small, because some packets of handshakes are in the queue before the data.
fn closed_form_us() -> f64 {
    let on_the_wire = |bytes: f64| bytes + (bytes / PAYLOAD).ceil() * OVERHEAD;
    let control = OVERHEAD / BYTES_PER_US;
    // All SYNs arrive at the same time and wait for the receiver's link. The last SYN-ACK finds empty queues.
    let handshake = 4.0 * DELAY_US + control * 4.0;
    let first_packet = (PAYLOAD + OVERHEAD) / BYTES_PER_US + 2.0 * DELAY_US;
    handshake + first_packet + SENDERS * on_the_wire(BYTES) / BYTES_PER_US
}

/// Reproduction that compares an incast with the closed form of its drain time.
pub const INCAST_DRAIN: Reproduction = Reproduction {
    name: "incast-drain",
    title: "Closed form: an 11-to-1 incast of 64 KB flows drains at the receiver's line rate",
    parts,
    rows,
    ..Reproduction::EMPTY
};

fn parts() -> Vec<Part> {
    vec![Part {
        name: "incast-drain",
        scenario: include_str!("../scenarios/reproduce/incast-drain.toml"),
        changes: Vec::new(),
        quick: Vec::new(),
    }]
}

fn rows(results: &Results) -> Vec<ComparisonRow> {
    let last = results.runs("incast-drain", "tcp").filter_map(|run| {
        let ends = run
            .flows
            .iter()
            .map(|flow| flow.fct.map(|fct| fct.as_us_f64()));
        ends.collect::<Option<Vec<f64>>>()?
            .into_iter()
            .reduce(f64::max)
    });
    let ours: Vec<f64> = last.collect();
    let expected = closed_form_us();
    vec![row(
        "end of the last flow, us",
        &ours,
        Some(expected),
        (expected * 0.99, expected * 1.01),
        "ACKs and the handshakes of the other flows use the same links for a short time",
    )]
}
