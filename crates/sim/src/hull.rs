//! HULL in a run: the phantom queues that it puts on switch ports, and the pacers that it puts into NICs.

use crate::config::RunConfig;
use crate::design::TransportKind;
use tailcut_fabric::queue::Phantom;
use tailcut_fabric::topology::Topology;
use tailcut_transport::nic::{PacedConfig, PacerConfig};
use tailcut_units::{HostId, Rate, stream_seed};

/// The phantom queue of a port, if the run's design has them.
pub(crate) fn phantom(config: &RunConfig, rate: Rate) -> Option<Phantom> {
    if config.design.transport != TransportKind::Hull {
        return None;
    }
    let parameters = config.designs.hull.phantom.as_ref()?;
    Some(Phantom {
        drain: Rate::from_bps((rate.as_bps() as f64 * parameters.drain) as u64)?,
        mark_above_bytes: parameters.mark_above.0,
        compare: parameters.compare,
        placement: parameters.placement,
    })
}

/// Random streams of pacers, for [`stream_seed`].
const PACER_DRAWS: u64 = 0x0070_6163_6572;

/// The pacer of a host, if the run's design has them.
pub(crate) fn pacer(config: &RunConfig, topology: &Topology, host: HostId) -> Option<PacedConfig> {
    if config.design.transport != TransportKind::Hull {
        return None;
    }
    let parameters = config.designs.hull.pacer.as_ref()?;
    let line_rate = topology.host_rate(host);
    let hundredth = Rate::from_bps(line_rate.as_bps() / 100).unwrap_or(line_rate);
    Some(PacedConfig {
        pacer: PacerConfig {
            min_rate: parameters.min_rate.unwrap_or(hundredth),
            max_rate: parameters.max_rate.unwrap_or(line_rate),
            ..parameters.pacer
        },
        line_rate,
        overhead: config.framing.header + config.framing.preamble_and_gap,
        seed: stream_seed(config.seed, PACER_DRAWS, u64::from(host.0)),
    })
}
