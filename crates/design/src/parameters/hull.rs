//! Parameters of HULL, and parameters of NICs for all designs.

use std::num::NonZeroU32;
use tailcut_fabric::queue::{Compare, Placement};
use tailcut_transport::nic::{Coalescing, PacerConfig};
use tailcut_units::{Bytes, Duration};

/// Parameters of HULL. Its DCTCP uses the parameters of TCP.
#[derive(Clone, PartialEq, Debug)]
pub struct HullParameters {
    /// Phantom queues. `None`: the network's queues mark, as with DCTCP.
    pub phantom: Option<PhantomParameters>,
    /// Pacer in the NIC of every host. `None`: NICs have no pacer.
    pub pacer: Option<PacerConfig>,
}

impl Default for HullParameters {
    fn default() -> Self {
        Self {
            phantom: Some(PhantomParameters::default()),
            pacer: Some(PacerConfig::default()),
        }
    }
}

/// Phantom queue of every switch port. With phantom queues, the real queue marks no packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PhantomParameters {
    /// Drain rate gamma, as a fraction of the link's present rate, above 0 and at most 1: 0.95 ("PQ950", HULL paper).
    pub drain: f64,
    /// Counter value above which packets are marked: 6 KB, from the published sweep of 1 to 30 KB.
    pub mark_above: Bytes,
    /// Counter value that is compared with `mark_above`. The default is the value without the arriving packet.
    /// One public emulator adds the arriving packet before the comparison.
    pub compare: Compare,
    /// Position of the counter. The default is on the link behind the port, as in the hardware.
    /// In public simulation code, the counter is parallel to the port's queue.
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

/// Parameters of the hosts' queues and NICs, for all designs.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct NicParameters {
    /// Length of the host's queue in packets. The queue is a FIFO between transport and NIC.
    /// `None`: there is no queue, and the transport serves its connections in turn when the link is free.
    pub queue: Option<NonZeroU32>,
    /// Receive interrupt coalescing. `None`: one interrupt per frame.
    pub coalescing: Option<Coalescing>,
    /// Longest random delay of each packet before it leaves the host. Zero: packets leave when the link is free.
    pub jitter: Duration,
    /// Largest deviation of a host's clock in parts per million. The clock sets the rate of the host's uplinks.
    /// Each host has a random deviation. `None`: clocks are exact.
    pub drift: Option<f64>,
}
