//! Flowlet switching as in LetFlow (Vanini et al., "Let It Flow", NSDI 2017). After a gap in a flow, a switch
//! sends the following packets through a random port. Flowlets on slow paths end sooner, so their sizes
//! balance the load.
//!
//! Deviations: the flowlet table is exact; the paper's table has 64 K entries that flows may share. While one port
//! leads to a destination, no flowlets are stored for it, so flows draw a port again when a second port returns.

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
    /// Idle time after which a flow begins a new flowlet: 500 us (LetFlow paper).
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

/// Flowlets of one switch.
#[derive(Debug)]
pub(crate) struct LetFlow {
    /// Port of each flow, numbered within the switch, until a gap.
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

    /// Returns the index of one of the ports. The function is separate from the code of other balancers, which every
    /// hop runs.
    #[inline(never)]
    pub fn select(&mut self, now: Time, packet: &Packet, ports: &Choices<'_>) -> u32 {
        let key = FlowKey::of(packet);
        // A flowlet stays on its port while this port leads to the destination, whichever other ports do.
        let known = self.flowlets.get(now, key);
        if let Some(index) = known.and_then(|port| ports.position(*port)) {
            return index;
        }
        let index = reduce(self.draws.next_u32(), ports.count());
        self.flowlets.insert(now, key, ports.port(index));
        index
    }

    /// Returns the number of stored flowlets.
    pub fn flowlets(&self, now: Time) -> usize {
        self.flowlets.live(now)
    }
}
