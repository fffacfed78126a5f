//! Flowlet switching as in LetFlow (Vanini et al., "Let It Flow", NSDI 2017).
//! After a gap in a flow, a switch sends the following packets through a random port.
//! On slow paths, flowlets end sooner and are smaller. The sizes of flowlets therefore balance the load.
//!
//! Deviations: each flow has its own entry in the flowlet table.
//! In the paper, the table has 64 K entries, which flows may share.
//! While only one port leads to a destination, no flowlets are stored for it.
//! When a second port is available again, flows therefore draw a new port.

use super::flow_table::{FlowKey, FlowTable};
use crate::forwarding::Choices;
use crate::packet::Packet;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::parameter::{Parameter, Values};
use tailcut_units::{Duration, Time, reduce};

/// Parameter of LetFlow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LetFlowConfig {
    /// Idle time after which the next packet of a flow begins a new flowlet: 500 us (LetFlow paper).
    pub gap: Duration,
}

pub(super) const PARAMETERS: &[Parameter] = &[Parameter::duration(
    "gap",
    "500us",
    "Idle time after which a flow begins a new flowlet, on a random path (LetFlow paper).",
)];

impl From<&Values> for LetFlowConfig {
    fn from(values: &Values) -> Self {
        Self {
            gap: values.duration("gap"),
        }
    }
}

impl Default for LetFlowConfig {
    fn default() -> Self {
        Self::from(&Values::of(PARAMETERS))
    }
}

/// Flowlets at one switch.
#[derive(Debug)]
pub(crate) struct LetFlow {
    /// Port of each flow's current flowlet. Ports are numbered within the switch.
    flowlets: FlowTable<u32>,
    draws: Xoshiro256PlusPlus,
}

impl LetFlow {
    pub fn new(config: LetFlowConfig, seed: u64) -> Self {
        Self {
            flowlets: FlowTable::new(config.gap.as_ps()),
            draws: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Returns the index of one of the ports.
    /// The choice of a flowlet's port is a separate function, because every hop runs the code of other balancers.
    #[inline(never)]
    pub fn select(&mut self, now: Time, packet: &Packet, ports: &Choices<'_>) -> u32 {
        let key = FlowKey::of(packet);
        // A flowlet keeps its port while this port leads to the destination. Changes of other ports have no effect.
        let known = self.flowlets.get(now, key);
        if let Some(index) = known.and_then(|port| ports.position(*port)) {
            return index;
        }
        let index = reduce(self.draws.next_u32(), ports.count());
        self.flowlets.insert(now, key, ports.port(index));
        index
    }

    /// Returns the number of flowlets that are stored and have not expired.
    pub fn flowlets(&self, now: Time) -> usize {
        self.flowlets.live(now)
    }
}
