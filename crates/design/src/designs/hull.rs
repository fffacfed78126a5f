//! HULL: DCTCP with pacers, and with phantom queues that mark before a real queue forms.

use super::dctcp;
use crate::design::Design;
use crate::hosts::{HostSeat, Hosts, Nic};
use crate::ports::Ports;
use crate::settings::Settings;
use tailcut_fabric::queue::Phantom;
use tailcut_transport::nic::PacedConfig;
use tailcut_units::stream_seed;

/// Number of the random stream of the pacers, an argument of [`stream_seed`].
const PACER_DRAWS: u64 = 0x0070_6163_6572;

/// Returns the pacer of a host in a run with `seed`.
fn pacer(settings: &Settings, seat: &HostSeat<'_>, seed: u64) -> Option<PacedConfig> {
    Some(PacedConfig {
        pacer: settings.designs.hull.pacer?,
        line_rate: seat.rate,
        overhead: seat.framing.header + seat.framing.preamble_and_gap,
        seed: stream_seed(seed, PACER_DRAWS, u64::from(seat.host.0)),
    })
}

/// Returns the phantom queue of every port.
fn phantom(settings: &Settings) -> Option<Phantom> {
    let parameters = settings.designs.hull.phantom.as_ref()?;
    Some(Phantom {
        drain: parameters.drain,
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
            .with_phantom("hull's phantom queues need a FIFO behind them", phantom),
        ..Design::over_tcp()
    }
}
