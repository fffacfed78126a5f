//! Search for the datagram size of a path (RFC 8899).
//! Each object starts with the configured size of the endpoint, or with a smaller size that its path is known to need.
//! If a receiver answers but no symbol arrives at the receiver, probes find the sizes that arrive.

use std::collections::HashMap;
use std::net::IpAddr;
use tailcut_units::{Duration, Time};

/// Size in bytes of a datagram that every path carries (RFC 8899, section 5.1.2: BASE_PLPMTU).
pub(super) const BASE: u16 = 1_200;
/// Sizes of probes in bytes: the UDP payloads of common MTUs.
/// The MTUs are jumbo frames (9,000 and 4,000 bytes), Ethernet (IPv4 and IPv6), tunnels, and the smallest MTU of IPv6.
const SIZES: [u16; 8] = [8_952, 3_952, 1_472, 1_452, 1_432, 1_392, 1_352, BASE];
/// Time after which a larger size is tried again on a path (RFC 8899, section 5.1.1: PMTU_RAISE_TIMER).
const MEMORY: Duration = Duration::from_ms(600_000);
/// Largest number of addresses whose datagram size is stored. Without a limit, the table would grow with each receiver.
const REMEMBERED: usize = 4_096;
/// Number of consecutive fruitless pulls after which all sizes are probed.
/// A pull is fruitless if it asks for missing symbols or reports losses, and no symbol has arrived since the last pull.
/// At the next fruitless pull, the sender uses the largest size whose probe has arrived.
/// RFC 8899, section 5.1.2, allows the same number of lost probes (MAX_PROBES).
const QUESTIONS: u32 = 3;

/// Datagram sizes of the paths that carry less than the endpoint's configured size, by address.
#[derive(Debug, Default)]
pub(super) struct Paths(HashMap<IpAddr, (u16, Time)>);

impl Paths {
    /// Returns the size of a datagram to an address in bytes. The result is at most `size`.
    pub(super) fn size(&self, now: Time, to: IpAddr, size: u16) -> u16 {
        match self.0.get(&to) {
            Some((known, at)) if now.since(*at) < MEMORY => size.min(*known),
            _ => size,
        }
    }

    /// Records that a path carries datagrams of at most `size` bytes.
    pub(super) fn shrink(&mut self, now: Time, to: IpAddr, size: u16) {
        if self.0.len() >= REMEMBERED {
            self.0.retain(|_, (_, at)| now.since(*at) < MEMORY);
        }
        // If the table is full, the size is not stored, and the next object to this address repeats the search.
        if self.0.len() < REMEMBERED {
            self.0.insert(to, (size, now));
        }
    }
}

/// Next step of a search for a datagram size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// Nothing has to be done now.
    Wait,
    /// Send one probe of each of these sizes.
    Probe(Vec<u16>),
    /// Use this size, because larger datagrams do not arrive.
    Shrink(u16),
}

/// Search for the datagram size of the path to one receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Search {
    /// Number of consecutive fruitless pulls.
    questions: u32,
    /// Number of symbols that had arrived at the last pull.
    arrived: u32,
    /// Number of symbols that were lost at the last pull.
    lost: u32,
    /// Size of the largest probe that has arrived, in bytes.
    acked: u16,
}

impl Search {
    /// Handles a pull of the receiver. `asks` is true if the pull only asks for missing symbols.
    /// `arrived` and `lost` are the numbers of symbols so far. The datagram of a symbol has `size` bytes.
    pub(super) fn on_pull(&mut self, size: u16, asks: bool, (arrived, lost): (u32, u32)) -> Step {
        // Symbols of this size arrive, or there is no smaller size to try.
        if arrived > self.arrived || size <= BASE {
            *self = Self {
                arrived,
                lost,
                ..Self::default()
            };
            return Step::Wait;
        }
        let more = lost > self.lost;
        self.lost = lost;
        if !asks && !more {
            return Step::Wait;
        }
        self.questions += 1;
        match self.questions {
            // A probe of the full size is sent. If it arrives, the losses have another cause.
            ..QUESTIONS => Step::Probe(vec![size]),
            QUESTIONS => {
                let smaller = SIZES.iter().copied().filter(|other| *other < size);
                Step::Probe([size].into_iter().chain(smaller).collect())
            }
            // The peer reports the acknowledged size.
            // This size may be wrong, but every path carries datagrams of `BASE` bytes.
            _ if self.acked > 0 => Step::Shrink(self.acked.max(BASE)),
            // All probes may be lost, but every path carries datagrams of `BASE` bytes.
            // With a smaller limit here, probes that are lost by chance would shrink the symbols.
            // With a larger limit, the object waits longer.
            _ if self.questions > 3 * QUESTIONS => Step::Shrink(BASE),
            // The larger probes are lost or late.
            // An acknowledged probe of the smallest size is enough to end the search.
            _ => Step::Probe(vec![BASE]),
        }
    }

    /// Handles the acknowledgement of a probe of `probed` bytes. The datagram of a symbol has `size` bytes.
    pub(super) fn on_ack(&mut self, size: u16, probed: u16) {
        match probed >= size {
            // Datagrams of the full size arrive. So the losses have another cause.
            true => self.questions = 0,
            false => self.acked = self.acked.max(probed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_remembered_for_ten_minutes() {
        let mut paths = Paths::default();
        let to = IpAddr::from([192, 0, 2, 1]);
        let now = Time::from_ns(7);
        assert_eq!(paths.size(now, to, 1_472), 1_472);
        paths.shrink(now, to, 1_392);
        assert_eq!(paths.size(now, to, 1_472), 1_392);
        assert_eq!(paths.size(now, to, 1_300), 1_300);
        assert_eq!(paths.size(now + MEMORY, to, 1_472), 1_472);
    }

    #[test]
    fn losses_are_no_black_hole() {
        let mut search = Search::default();
        // The receiver sometimes asks for missing symbols although other symbols arrive.
        for arrived in 1..100 {
            assert_eq!(search.on_pull(1_472, true, (arrived, arrived)), Step::Wait);
        }
        // Acknowledged probes show that symbols of this size can arrive.
        for _ in 0..100 {
            let step = search.on_pull(1_472, true, (99, 99));
            assert_eq!(step, Step::Probe(vec![1_472]));
            search.on_ack(1_472, 1_472);
        }
    }

    #[test]
    fn the_largest_size_that_arrives_is_taken() {
        let mut search = Search::default();
        assert_eq!(search.on_pull(1_472, false, (0, 0)), Step::Wait);
        let steps = [1, 2, 3].map(|lost| search.on_pull(1_472, false, (0, lost)));
        let all = vec![1_472, 1_452, 1_432, 1_392, 1_352, 1_200];
        assert_eq!(steps[1..], [Step::Probe(vec![1_472]), Step::Probe(all)]);
        search.on_ack(1_472, 1_200);
        search.on_ack(1_472, 1_352);
        assert_eq!(search.on_pull(1_472, true, (0, 3)), Step::Shrink(1_352));
        // If no probe is acknowledged, the smallest size is used.
        let mut search = Search::default();
        let last = (0..10).map(|_| search.on_pull(1_472, true, (0, 0))).last();
        assert_eq!(last, Some(Step::Shrink(BASE)));
    }
}
