//! Capabilities of replica ports: whether a RepNet server listens on a port.
//! A port's capability is learned from probes and from the hellos of flows.
//! A capable target stays capable after the lifetime of the entry.
//! This is safe, because each hello checks the capability again before any byte of the application is sent.

use std::collections::{BTreeMap, HashSet};
use std::net::SocketAddr;
use tailcut_units::{Duration, Time};

/// Largest number of remembered targets.
const LIMIT: usize = 4_096;

/// Capability of one replica port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Capability {
    Capable,
    Incapable,
    /// The port answered with a banner before, but did not answer the last connection.
    Doubtful,
    Unknown,
}

#[derive(Debug)]
pub(crate) struct Capabilities {
    lifetime: Duration,
    known: BTreeMap<SocketAddr, (Capability, Time)>,
    probing: HashSet<SocketAddr>,
}

impl Capabilities {
    pub fn new(lifetime: Duration) -> Self {
        Self {
            lifetime,
            known: BTreeMap::new(),
            probing: HashSet::new(),
        }
    }

    pub fn of(&self, now: Time, at: SocketAddr) -> Capability {
        match self.known.get(&at) {
            Some((Capability::Capable, _)) => Capability::Capable,
            Some((known, until)) if now < *until => *known,
            _ => Capability::Unknown,
        }
    }

    pub fn learn(&mut self, now: Time, at: SocketAddr, capable: bool) {
        self.note(
            now,
            at,
            match capable {
                true => Capability::Capable,
                false => Capability::Incapable,
            },
        );
    }

    /// Marks a target that did not answer in time. Its flows use one plain connection until a probe gets an answer.
    pub fn doubt(&mut self, now: Time, at: SocketAddr) {
        self.note(now, at, Capability::Doubtful);
    }

    /// Restores an earlier capability of a port.
    pub fn restore(&mut self, now: Time, at: SocketAddr, before: Capability) {
        match before {
            Capability::Unknown => {
                self.known.remove(&at);
            }
            known => self.note(now, at, known),
        }
    }

    fn note(&mut self, now: Time, at: SocketAddr, known: Capability) {
        if self.known.len() >= LIMIT && !self.known.contains_key(&at) {
            let oldest = self.known.iter().min_by_key(|(_, (_, until))| *until);
            if let Some(oldest) = oldest.map(|(at, _)| *at) {
                self.known.remove(&oldest);
            }
        }
        self.known
            .insert(at, (known, now.saturating_add(self.lifetime)));
    }

    /// Records that a probe of this port is running.
    /// Returns `false` if a probe of this port is running already, or if too many probes are running.
    /// A caller that gets `true` starts the probe and reports its end.
    pub fn start_probe(&mut self, at: SocketAddr) -> bool {
        self.probing.len() < LIMIT && self.probing.insert(at)
    }

    pub fn end_probe(&mut self, now: Time, at: SocketAddr, capable: bool) {
        self.probing.remove(&at);
        self.learn(now, at, capable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn a_target_that_could_not_is_asked_again_later_and_one_that_could_stays_capable() {
        let mut known = Capabilities::new(Duration::from_ms(60_000));
        let [one, two] = [1, 2].map(|port| SocketAddr::from(([10, 0, 0, 1], port)));
        assert_eq!(known.of(at(0), one), Capability::Unknown);
        known.learn(at(0), one, true);
        known.learn(at(0), two, false);
        assert_eq!(known.of(at(59_999), two), Capability::Incapable);
        assert_eq!(known.of(at(60_000), two), Capability::Unknown);
        assert_eq!(known.of(at(600_000), one), Capability::Capable);
        known.doubt(at(600_000), one);
        assert_eq!(known.of(at(600_001), one), Capability::Doubtful);
    }

    #[test]
    fn a_port_is_asked_once_at_a_time() {
        let mut known = Capabilities::new(Duration::from_ms(1));
        let port = SocketAddr::from(([10, 0, 0, 1], 1));
        assert!(known.start_probe(port));
        assert!(!known.start_probe(port));
        known.end_probe(at(0), port, true);
        assert_eq!(known.of(at(0), port), Capability::Capable);
        assert!(known.start_probe(port));
    }

    #[test]
    fn no_more_than_a_bounded_number_of_targets_is_remembered() {
        let mut known = Capabilities::new(Duration::from_ms(1_000));
        for port in 0..5_000_u16 {
            let target = SocketAddr::from(([10, 0, 0, 1], port));
            known.learn(at(port.into()), target, true);
        }
        assert_eq!(known.known.len(), LIMIT);
        let latest = SocketAddr::from(([10, 0, 0, 1], 4_999));
        assert_eq!(known.of(at(5_000), latest), Capability::Capable);
    }
}
