//! RED with marks by the current queue length.
//! Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (DCQCN), SIGCOMM 2015, section 3.1.
//! RED itself is from Floyd and Jacobson, "Random Early Detection", 1993.
//! If the queue has at most Kmin bytes, a packet is never marked.
//! If the queue has more than Kmax bytes, a packet is always marked.
//! Between Kmin and Kmax, the probability of a mark grows linearly from 0 to Pmax.
//!
//! Deviations:
//! - The queue length is the current length, as in DCQCN. RED of 1993 uses an average.
//! - A packet that is not ECN-capable is dropped only if the queue is full.

use super::discipline::{BuildDiscipline, Dequeued, Fate, Limit, QueueDiscipline, Verdict};
use super::drop_tail::{DropTail, DropTailQueue};
use super::kind::QueueConfig;
use super::spec::NamedQueue;
use crate::packet::{Ecn, Packet, PacketId};
use alloc::vec::Vec;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_units::Time;
use tailcut_units::parameter::Parameter;

const PARAMETERS: &[Parameter] = &[
    Parameter::bytes(
        "kmin",
        "5KB",
        "Kmin: packets are not marked if at most this number of bytes waits (DCQCN paper, at 40 Gb/s).",
    ),
    Parameter::bytes(
        "kmax",
        "200KB",
        "Kmax: packets are marked if more than this number of bytes waits (DCQCN paper). At least kmin.",
    ),
    Parameter::share(
        "pmax",
        "0.01",
        "Pmax: the probability of a mark just below kmax (DCQCN paper).",
    ),
];

/// Returns the discipline `red` of the key `queue.discipline`.
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
                // If `kmax` were smaller than `kmin`, the ramp would have a negative length.
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

/// Probability of a mark as a function of the bytes in the queue.
#[derive(Clone, Copy, Debug)]
struct Ramp {
    kmin: u64,
    kmax: u64,
    pmax: f64,
}

impl Ramp {
    /// Returns the probability (0 to 1) that a packet is marked if `waiting` bytes wait when it arrives.
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
    draws: Xoshiro256PlusPlus,
    queue: DropTailQueue,
}

impl Red {
    fn new(ramp: Ramp, limit: Limit, seed: u64) -> Self {
        Self {
            ramp,
            draws: Xoshiro256PlusPlus::seed_from_u64(seed),
            queue: DropTailQueue::new(DropTail {
                limit,
                mark_above: None,
            }),
        }
    }

    /// Returns whether a packet is marked if `waiting` bytes wait when it arrives. The result is random.
    fn marks(&mut self, waiting: u64) -> bool {
        // If the result is certain, no random number is drawn.
        // Packets outside the ramp therefore do not change later draws.
        match self.ramp.probability(waiting) {
            0.0 => false,
            1.0 => true,
            // A random draw has 32 bits, so the probability is multiplied by 2^32.
            probability => f64::from(self.draws.next_u32()) < probability * 4_294_967_296.0,
        }
    }
}

impl QueueDiscipline for Red {
    fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        // The length is read before the packet is added, because the packet itself is not counted.
        let waiting = self.queue.backlog_bytes();
        let verdict = self.queue.enqueue(now, id, packets);
        let ecn = &mut packets[id.0 as usize].ecn;
        if verdict.arrival == Fate::Queued && ecn.is_markable() && self.marks(waiting) {
            *ecn = Ecn::Marked;
            return Fate::Marked.into();
        }
        verdict
    }

    fn dequeue(&mut self, now: Time, packets: &mut [Packet]) -> Dequeued {
        self.queue.dequeue(now, packets)
    }

    fn remove(
        &mut self,
        packets: &[Packet],
        matches: &mut dyn FnMut(PacketId) -> bool,
        removed: &mut Vec<PacketId>,
    ) {
        self.queue.remove(packets, matches, removed);
    }

    fn backlog_packets(&self) -> u32 {
        self.queue.backlog_packets()
    }

    fn backlog_bytes(&self) -> u64 {
        self.queue.backlog_bytes()
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
        // If `kmax` equals `kmin`, the ramp is a threshold.
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
        let marks = (0..100_000).filter(|_| queue.marks(2_000)).count();
        // 25,000 marks are expected. The limits are five standard deviations below and above.
        assert!((24_300..25_700).contains(&marks), "{marks}");
    }
}
