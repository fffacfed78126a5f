//! The closed form of an incast that fits into the queue: its last byte arrives when the receiver's
//! link has carried every packet of every flow.

use crate::part::{Part, Reproduction, Results};
use crate::row::row;
use tailcut_report::ComparisonRow;

/// See the module.
pub struct IncastDrain;

const SENDERS: f64 = 11.0;
const BYTES: f64 = 64_000.0;
const PAYLOAD: f64 = 1_460.0;
/// Header, preamble and gap.
const OVERHEAD: f64 = 78.0;
const BYTES_PER_US: f64 = 1_250.0;
const DELAY_US: f64 = 1.0;

impl IncastDrain {
    /// When the last flow ends, in microseconds: the handshake, the first full packet's way to the switch, then every
    /// packet over the receiver's link, one after the other. Preamble and gap of the last packet follow
    /// its last byte, and the handshakes' packets queue before the data.
    fn closed_form_us() -> f64 {
        let on_the_wire = |bytes: f64| bytes + (bytes / PAYLOAD).ceil() * OVERHEAD;
        let control = OVERHEAD / BYTES_PER_US;
        // SYNs arrive together and queue for the receiver's link; the last SYN-ACK's way back is short.
        let handshake = 4.0 * DELAY_US + control * 4.0;
        let first_packet = (PAYLOAD + OVERHEAD) / BYTES_PER_US + 2.0 * DELAY_US;
        handshake + first_packet + SENDERS * on_the_wire(BYTES) / BYTES_PER_US
    }
}

impl Reproduction for IncastDrain {
    fn name(&self) -> &'static str {
        "incast-drain"
    }

    fn title(&self) -> &'static str {
        "Closed form: an 11-to-1 incast of 64 KB flows drains at the receiver's line rate"
    }

    fn parts(&self) -> Vec<Part> {
        vec![Part {
            name: "incast-drain",
            scenario: include_str!("../scenarios/reproduce/incast-drain.toml"),
            changes: Vec::new(),
            quick: Vec::new(),
        }]
    }

    fn rows(&self, results: &Results) -> Vec<ComparisonRow> {
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
        let expected = Self::closed_form_us();
        vec![row(
            "end of the last flow, us",
            &ours,
            Some(expected),
            (expected * 0.99, expected * 1.01),
            "ACKs and the handshakes of the other flows share the links for a moment",
        )]
    }
}
