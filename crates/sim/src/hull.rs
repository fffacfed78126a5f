//! HULL in a run: its parameters, the phantom queues that it puts on switch ports, and the pacers that
//! it puts into NICs. And interrupt coalescing, which any design's NICs may have.

use crate::config::RunConfig;
use crate::design::TransportKind;
use std::num::NonZeroU32;
use tailcut_fabric::queue::{Compare, Phantom, Placement};
use tailcut_fabric::topology::Topology;
use tailcut_transport::nic::{Coalescing, PacedConfig, PacerConfig};
use tailcut_units::{Bytes, Duration, HostId, Rate, stream_seed};

/// Parameters of HULL. DCTCP's are those of TCP.
#[derive(Clone, PartialEq, Debug)]
pub struct HullParameters {
    /// The phantom queues; `None` leaves marking to the topology's queues, as DCTCP does.
    pub phantom: Option<PhantomParameters>,
    /// The pacers; `None` for NICs without.
    pub pacer: Option<PacerParameters>,
}

impl Default for HullParameters {
    fn default() -> Self {
        Self {
            phantom: Some(PhantomParameters::default()),
            pacer: Some(PacerParameters::default()),
        }
    }
}

/// A phantom queue on every switch port; the real queue then marks nothing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PhantomParameters {
    /// Gamma, the drain rate as a fraction of the link's, above 0 to 1: 0.95 ("PQ950", HULL paper).
    pub drain: f64,
    /// Packets are marked when the counter is above this: 6 KB of the published sweep of 1 to 30 KB.
    pub mark_above: Bytes,
    /// Which value of the counter: what the packet finds; one public emulator counts the packet first.
    pub compare: Compare,
    /// On the link behind the port, as in the hardware; public simulation code has it beside the port.
    pub placement: Placement,
}

impl Default for PhantomParameters {
    fn default() -> Self {
        Self {
            drain: 0.95,
            mark_above: Bytes(6_000),
            compare: Compare::Before,
            placement: Placement::Series,
        }
    }
}

/// A pacer in every host's NIC.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct PacerParameters {
    /// Everything but the bounds of the rate.
    pub pacer: PacerConfig,
    /// The lower bound of the rate; `None`: a hundredth of the host's link (10 Mb/s at 1 Gb/s in public
    /// code).
    pub min_rate: Option<Rate>,
    /// The upper bound of the rate; `None`: that of the host's link (public code).
    pub max_rate: Option<Rate>,
}

/// What the hosts' queues and NICs do whatever the design.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct NicParameters {
    /// The length of the host's own queue in packets, a FIFO between transport and NIC. `None`: there is
    /// none, and the transport serves its connections in turn when the link is free.
    pub queue: Option<NonZeroU32>,
    /// Receive interrupt coalescing; `None`: an interrupt a frame.
    pub coalescing: Option<Coalescing>,
}

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

/// The longest that a frame waits for others where nobody says: unknown in the sources.
pub const COALESCING_TIMEOUT: Duration = Duration::from_us(100);
