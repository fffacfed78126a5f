//! The pacers that HULL puts into NICs.

use crate::own::HostSeat;
use crate::parameters::PacerParameters;
use tailcut_transport::nic::{PacedConfig, PacerConfig};
use tailcut_units::{Rate, stream_seed};

/// Random streams of pacers, for [`stream_seed`].
const PACER_DRAWS: u64 = 0x0070_6163_6572;

/// The pacer of a host in a run with `seed`.
pub(super) fn config(parameters: &PacerParameters, seat: &HostSeat<'_>, seed: u64) -> PacedConfig {
    let line_rate = seat.rate;
    let hundredth = Rate::from_bps(line_rate.as_bps() / 100).unwrap_or(line_rate);
    PacedConfig {
        pacer: PacerConfig {
            min_rate: parameters.min_rate.unwrap_or(hundredth),
            max_rate: parameters.max_rate.unwrap_or(line_rate),
            ..parameters.pacer
        },
        line_rate,
        overhead: seat.framing.header + seat.framing.preamble_and_gap,
        seed: stream_seed(seed, PACER_DRAWS, u64::from(seat.host.0)),
    }
}
