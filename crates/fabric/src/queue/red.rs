//! RED's ramp on the instantaneous length of the queue (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments"
//! (DCQCN), SIGCOMM 2015, section 3.1; Floyd and Jacobson, "Random Early Detection", 1993): no mark up to Kmin, each packet
//! marked above Kmax, and between them a probability that grows in proportion from 0 to Pmax.
//!
//! Deviations:
//! - The length is the instantaneous one, as in DCQCN; RED of 1993 averages it.
//! - Packets that cannot be marked are dropped only when the queue is full.

use super::discipline::{
    BuildDiscipline, Dequeued, DropReason, Fate, Limit, QueueDiscipline, Verdict, remove_from,
};
use super::kind::QueueConfig;
use super::spec::NamedQueue;
use crate::packet::{Ecn, Packet, PacketId};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::Time;
use tailcut_units::parameter::Parameter;

const PARAMETERS: &[Parameter] = &[
    Parameter::bytes(
        "kmin",
        "5KB",
        "Kmin: a packet that finds at most this waiting is not marked (DCQCN paper, at 40 Gb/s).",
    ),
    Parameter::bytes(
        "kmax",
        "200KB",
        "Kmax: a packet that finds more than this waiting is marked (DCQCN paper). At least kmin.",
    ),
    Parameter::share(
        "pmax",
        "0.01",
        "Pmax: the probability of a mark just below kmax (DCQCN paper).",
    ),
];

/// Returns `queue.discipline = "red"`.
pub(super) fn discipline() -> NamedQueue {
    let summary =
        "FIFO that marks with a probability that grows between two thresholds: RED's ramp";
    NamedQueue {
        source: "SIGCOMM 2015",
        parameters: PARAMETERS,
        ..NamedQueue::new("red", summary, |port, values| {
            let kmin = values.bytes("kmin").0;
            let ramp = Ramp {
                kmin,
                kmax: values.bytes("kmax").0.max(kmin),
                pmax: values.number("pmax"),
            };
            let limit = port.limit;
            QueueConfig::Custom(BuildDiscipline::new(move |seed| {
                Red::new(ramp, limit, seed)
            }))
        })
    }
}

/// Probability of a mark by the bytes that wait.
#[derive(Clone, Copy, Debug)]
struct Ramp {
    kmin: u64,
    kmax: u64,
    pmax: f64,
}

impl Ramp {
    /// Returns the probability of a mark, 0 to 1, of a packet that finds `waiting` bytes.
    fn probability(&self, waiting: u64) -> f64 {
        if waiting <= self.kmin {
            0.0
        } else if waiting > self.kmax {
            1.0
        } else {
            self.pmax * (waiting - self.kmin) as f64 / (self.kmax - self.kmin) as f64
        }
    }
}

#[derive(Debug)]
struct Red {
    ramp: Ramp,
    limit: Limit,
    draws: Xoshiro256PlusPlus,
    waiting: VecDeque<PacketId>,
    bytes: u64,
}

impl Red {
    fn new(ramp: Ramp, limit: Limit, seed: u64) -> Self {
        Self {
            ramp,
            limit,
            draws: Xoshiro256PlusPlus::seed_from_u64(seed),
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    fn marks(&mut self) -> bool {
        let probability = self.ramp.probability(self.bytes);
        // A draw only on the ramp, so that the stream does not depend on packets outside it.
        match probability {
            0.0 => false,
            1.0 => true,
            _ => f64::from(self.draws.next_u32()) < probability * 4_294_967_296.0,
        }
    }
}

impl QueueDiscipline for Red {
    fn enqueue(&mut self, _: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        let packet = &mut packets[id.0 as usize];
        let size = u64::from(packet.size);
        let packets_with = self.waiting.len() as u32 + 1;
        if self.limit.is_exceeded(packets_with, self.bytes + size) {
            return Fate::Dropped(DropReason::QueueFull).into();
        }
        let is_marked = packet.ecn.is_markable() && self.marks();
        self.waiting.push_back(id);
        self.bytes += size;
        if is_marked {
            packet.ecn = Ecn::Marked;
            return Fate::Marked.into();
        }
        Fate::Queued.into()
    }

    fn dequeue(&mut self, _: Time, packets: &mut [Packet]) -> Dequeued {
        let head = self.waiting.pop_front();
        if let Some(id) = head {
            self.bytes -= u64::from(packets[id.0 as usize].size);
        }
        head.into()
    }

    fn remove(
        &mut self,
        packets: &[Packet],
        matches: &mut dyn FnMut(PacketId) -> bool,
        removed: &mut Vec<PacketId>,
    ) {
        self.bytes -= remove_from(&mut self.waiting, |id| *id, packets, matches, removed);
    }

    fn backlog_packets(&self) -> u32 {
        self.waiting.len() as u32
    }

    fn backlog_bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probability_grows_in_proportion_between_the_thresholds() {
        let ramp = Ramp {
            kmin: 5_000,
            kmax: 200_000,
            pmax: 0.01,
        };
        for (waiting, expected) in [
            (0, 0.0),
            (5_000, 0.0),
            (102_500, 0.005),
            (200_000, 0.01),
            (200_001, 1.0),
        ] {
            let found = ramp.probability(waiting);
            assert!((found - expected).abs() < 1e-12, "{waiting}: {found}");
        }
        // Without a ramp it is a threshold.
        let step = Ramp {
            kmax: 5_000,
            ..ramp
        };
        assert_eq!(
            [5_000, 5_001].map(|waiting| step.probability(waiting)),
            [0.0, 1.0]
        );
    }

    #[test]
    fn the_share_of_marks_is_the_probability() {
        let ramp = Ramp {
            kmin: 1_000,
            kmax: 3_000,
            pmax: 0.5,
        };
        let mut queue = Red::new(ramp, Limit::Packets(100), 7);
        queue.bytes = 2_000;
        let marks = (0..100_000).filter(|_| queue.marks()).count();
        // 0.25 +- 5 standard deviations.
        assert!((24_300..25_700).contains(&marks), "{marks}");
    }
}
