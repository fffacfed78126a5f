//! Choice of the paced flows (HULL paper, section 4.2).
//! Each ACK with ECN-Echo associates its flow with the pacer with a given probability.
//! Long flows are therefore paced, and short flows almost never are. An association expires after a configured time.

use alloc::collections::BTreeMap;
use tailcut_units::{Duration, FiveTuple, HostId, Time, mix64};

/// Identifier of a flow at its host: destination, source port, destination port.
type Key = (HostId, u16, u16);

#[derive(Clone, Copy, Debug)]
struct Entry {
    expires: Time,
    /// Number of packets of the flow in the pacer.
    queued: u32,
}

/// Table of the flows that are associated with the pacer.
#[derive(Debug)]
pub(crate) struct Associations {
    entries: BTreeMap<Key, Entry>,
    expiry: Duration,
    /// Probability of an association, multiplied by 2^32.
    chance: u64,
    seed: u64,
    draws: u64,
}

fn key(tuple: &FiveTuple) -> Key {
    (tuple.dst, tuple.src_port, tuple.dst_port)
}

impl Associations {
    /// Creates an empty table. `probability` is from 0 to 1.
    pub(crate) fn new(probability: f64, expiry: Duration, seed: u64) -> Self {
        Self {
            entries: BTreeMap::new(),
            expiry,
            chance: (probability * 4_294_967_296.0) as u64,
            seed,
            draws: 0,
        }
    }

    /// Sets the expiry of later associations.
    pub(crate) fn set_expiry(&mut self, expiry: Duration) {
        self.expiry = expiry;
    }

    /// Handles an ACK with ECN-Echo for the flow that this host sends with `tuple`.
    /// A random draw decides whether the flow is associated until a new expiry time.
    pub(crate) fn on_echo(&mut self, now: Time, tuple: &FiveTuple) {
        self.draws += 1;
        // A probability of 1 is stored as 2^32, above every 32-bit draw. So this probability needs no special case.
        if mix64(self.seed ^ mix64(self.draws)) >> 32 >= self.chance {
            return;
        }
        let expires = now.saturating_add(self.expiry);
        if let Some(entry) = self.entries.get_mut(&key(tuple)) {
            entry.expires = expires;
            return;
        }
        // Expired entries are removed only here, so that no search is needed for each packet.
        self.entries
            .retain(|_, entry| entry.expires > now || entry.queued > 0);
        self.entries
            .insert(key(tuple), Entry { expires, queued: 0 });
    }

    /// Returns whether a packet with `tuple` passes through the pacer. If so, the packet counts as queued in the pacer.
    /// A flow with packets in the pacer stays associated. Otherwise its later packets would overtake the paced packets.
    pub(crate) fn enters(&mut self, now: Time, tuple: &FiveTuple) -> bool {
        if self.entries.is_empty() {
            return false;
        }
        match self.entries.get_mut(&key(tuple)) {
            Some(entry) if entry.expires > now || entry.queued > 0 => {
                entry.queued += 1;
                true
            }
            _ => false,
        }
    }

    /// Records that a packet with `tuple` left the pacer.
    pub(crate) fn left(&mut self, tuple: &FiveTuple) {
        if let Some(entry) = self.entries.get_mut(&key(tuple)) {
            entry.queued -= 1;
        }
    }

    /// Returns whether a flow is paced at `now`.
    pub(crate) fn is_associated(&self, now: Time, tuple: &FiveTuple) -> bool {
        self.entries
            .get(&key(tuple))
            .is_some_and(|entry| entry.expires > now || entry.queued > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(number: u32) -> FiveTuple {
        FiveTuple {
            dst: HostId(number),
            src_port: 40_000,
            dst_port: 80,
            ..FiveTuple::default()
        }
    }

    const EXPIRY: Duration = Duration::from_ms(10);

    #[test]
    fn an_echo_associates_its_flow_with_the_probability_that_was_asked_for() {
        const DRAWS: u32 = 40_000;
        for (probability, seed) in [(0.125, 1), (0.5, 2), (0.01, 3)] {
            let mut table = Associations::new(probability, EXPIRY, seed);
            for number in 0..DRAWS {
                table.on_echo(Time::ZERO, &flow(number));
            }
            let associated = table.entries.len() as f64;
            let mean = f64::from(DRAWS) * probability;
            // 99.9 % of binomial draws are within 3.29 standard deviations.
            let deviation = libm::sqrt(mean * (1.0 - probability));
            assert!((associated - mean).abs() < 3.29 * deviation, "{associated}");
        }
    }

    #[test]
    fn certain_and_impossible_associations_are_just_that() {
        let mut always = Associations::new(1.0, EXPIRY, 7);
        let mut never = Associations::new(0.0, EXPIRY, 7);
        for number in 0..1_000 {
            always.on_echo(Time::ZERO, &flow(number));
            never.on_echo(Time::ZERO, &flow(number));
        }
        assert_eq!(always.entries.len(), 1_000);
        assert_eq!(never.entries.len(), 0);
    }

    #[test]
    fn a_short_flow_is_hardly_ever_associated_and_a_long_one_almost_always() {
        let share = |echoes: u32| {
            let mut table = Associations::new(0.125, EXPIRY, 11);
            for number in 0..10_000 {
                for _ in 0..echoes {
                    table.on_echo(Time::ZERO, &flow(number));
                }
            }
            table.entries.len() as f64 / 10_000.0
        };
        // Expected share of associated flows: 1 - (1 - p)^echoes.
        assert!((share(1) - 0.125).abs() < 0.01);
        assert!((share(50) - 0.9987).abs() < 0.001);
    }

    #[test]
    fn an_association_expires_unless_packets_of_the_flow_wait() {
        let mut table = Associations::new(1.0, EXPIRY, 0);
        let at = |ms| Time::ZERO + Duration::from_ms(ms);
        table.on_echo(at(0), &flow(0));
        assert!(table.enters(at(9), &flow(0)));
        assert!(table.enters(at(12), &flow(0)), "its packet still waits");
        table.left(&flow(0));
        assert!(table.is_associated(at(13), &flow(0)));
        table.left(&flow(0));
        assert!(!table.enters(at(13), &flow(0)));
        table.on_echo(at(20), &flow(0));
        table.on_echo(at(25), &flow(0));
        assert!(
            table.is_associated(at(34), &flow(0)),
            "associated anew at 25 ms"
        );
        assert!(!table.is_associated(at(35), &flow(0)));
    }
}
