//! Flowlet switching as in LetFlow (Vanini et al., "Let It Flow", NSDI 2017): a switch sends what
//! follows a gap in a flow through a port drawn at random, and the sizes of flowlets do the rest,
//! since those on slow paths end sooner.
//!
//! Deviations: the flowlet table is exact, where the paper's has 64 K entries that flows may share.

use super::flow_table::{FlowKey, FlowTable};
use crate::packet::Packet;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::parameter::{Parameter, Values};
use tailcut_units::{Duration, Time, reduce};

/// LetFlow's parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LetFlowConfig {
    /// A flow that has sent nothing for longer than this begins a new flowlet: 500 us (LetFlow paper).
    pub gap: Duration,
}

pub(super) const PARAMETERS: &[Parameter] = &[Parameter::duration(
    "gap",
    "500us",
    "A flow that has sent nothing for longer than this begins a new flowlet, on a path drawn at random (LetFlow paper).",
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

/// The flowlets of one switch.
#[derive(Debug)]
pub(crate) struct LetFlow {
    /// Which of its equal-cost ports each flow takes, until a gap.
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

    /// An index below `count`. Apart from the code of other balancers, which every hop runs through.
    #[inline(never)]
    pub fn select(&mut self, now: Time, packet: &Packet, count: u32) -> u32 {
        let key = FlowKey::of(packet);
        match self.flowlets.get(now, key) {
            // Fewer ports than at the flowlet's start: a link has failed.
            Some(&mut index) if index < count => index,
            _ => {
                let index = reduce(self.draws.next_u32(), count);
                self.flowlets.insert(now, key, index);
                index
            }
        }
    }

    /// Flowlets that are remembered now.
    pub fn flowlets(&self, now: Time) -> usize {
        self.flowlets.live(now)
    }
}
