//! HULL: DCTCP, phantom queues that mark before a queue forms, and pacers.

use super::dctcp;
use crate::design::Design;
use crate::hosts::{HostSeat, Hosts, Nic};
use crate::ports::Ports;
use crate::settings::Settings;
use tailcut_fabric::queue::{Phantom, PortBuffer};
use tailcut_transport::nic::{PacedConfig, PacerConfig};
use tailcut_units::{Rate, stream_seed};

/// Random streams of pacers, for [`stream_seed`].
const PACER_DRAWS: u64 = 0x0070_6163_6572;

/// Returns the pacer of a host in a run with `seed`.
fn pacer(settings: &Settings, seat: &HostSeat<'_>, seed: u64) -> Option<PacedConfig> {
    let parameters = settings.designs.hull.pacer.as_ref()?;
    let line_rate = seat.rate;
    let hundredth = Rate::from_bps(line_rate.as_bps() / 100).unwrap_or(line_rate);
    Some(PacedConfig {
        pacer: PacerConfig {
            min_rate: parameters.min_rate.unwrap_or(hundredth),
            max_rate: parameters.max_rate.unwrap_or(line_rate),
            ..parameters.pacer
        },
        line_rate,
        overhead: seat.framing.header + seat.framing.preamble_and_gap,
        seed: stream_seed(seed, PACER_DRAWS, u64::from(seat.host.0)),
    })
}

/// Returns the phantom queue of a port.
fn phantom(settings: &Settings, port: &PortBuffer) -> Option<Phantom> {
    let parameters = settings.designs.hull.phantom.as_ref()?;
    Some(Phantom {
        drain: Rate::from_bps((port.rate.as_bps() as f64 * parameters.drain) as u64)?,
        mark_above_bytes: parameters.mark_above.0,
        compare: parameters.compare,
        placement: parameters.placement,
    })
}

pub(super) fn design() -> Design {
    Design {
        name: "hull",
        summary: "HULL: DCTCP, phantom queues that mark early, and pacers",
        source: "NSDI 2012",
        hosts: Hosts::tcp(dctcp::controller()),
        nic: Nic::Paced(pacer, &["hull.*"]),
        ports: Ports::network(|settings| settings.designs.hull.phantom.is_none())
            .with_phantom("hull's phantom queues stand before a FIFO", phantom),
        ..Design::over_tcp()
    }
}
