//! Parameters of HULL, and of what any design's NICs may have.

use std::num::NonZeroU32;
use tailcut_fabric::queue::{Compare, Placement};
use tailcut_transport::nic::{Coalescing, PacerConfig};
use tailcut_units::{Bytes, Rate};

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
