//! Switches as routers: which of them answer to packets whose TTL has ended there, and how often.
//!
//! Sources: RFC 1812, 4.3.2.8 (a router limits the rate of its ICMP errors, here by a token bucket) and 5.3.1
//! (TTL). The default limit is Linux's own for all errors of a machine, `net.ipv4.icmp_msgs_per_sec` and
//! `icmp_msgs_burst`; hardware routers allow some 100 to 1,000 a second.
//!
//! Deviations
//! - A switch has one address, whatever the link over which it was reached.
//! - There is no second limit for each receiver (Linux's `icmp_ratelimit`).

use crate::emulator::addresses;
use crate::emulator::frames::line_time;
use std::num::NonZeroU32;
use tailcut_fabric::Packet;
use tailcut_units::Time;
use tailcut_wire::foreign::{RouterAddress, time_exceeded};

/// Answers that a switch may give at once after it has been silent.
const BURST: f64 = 50.0;
/// Answers a second unless said otherwise.
pub const USUAL_RATE: NonZeroU32 = NonZeroU32::new(1_000).unwrap();
/// The class of internetwork control.
const PRIORITY: u8 = 0;

/// What a switch has done as a router.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct RouterCounts {
    /// Packets whose TTL ended there.
    pub ended: u64,
    /// Answers that it has sent.
    pub answered: u64,
}

#[derive(Clone, Debug)]
struct Router {
    counts: RouterCounts,
    tokens: f64,
    filled_at: Time,
}

/// All switches of a lab, as routers.
#[derive(Clone, Debug)]
pub struct Routers {
    /// Answers a second of each.
    rate: f64,
    routers: Vec<Router>,
}

impl Routers {
    /// So many switches, each of which gives `rate` answers a second at most, and 50 at once.
    pub fn new(switches: usize, rate: NonZeroU32) -> Self {
        let router = Router {
            counts: RouterCounts::default(),
            tokens: BURST,
            filled_at: Time::ZERO,
        };
        Self {
            rate: f64::from(rate.get()),
            routers: vec![router; switches],
        }
    }

    /// A packet from `src` has ended at a switch. Writes the frame that the switch answers with, if it may
    /// answer now, and gives its packet and length. `ended` is the frame as the switch got it.
    pub fn answer(
        &mut self,
        now: Time,
        switch: u32,
        packet: &Packet,
        ended: &[u8],
        out: &mut [u8],
    ) -> Option<(Packet, usize)> {
        let router = self.routers.get_mut(switch as usize)?;
        router.counts.ended += 1;
        let since = now.since(router.filled_at).as_secs_f64();
        router.tokens = (router.tokens + since * self.rate).min(BURST);
        router.filled_at = now;
        if router.tokens < 1.0 {
            return None;
        }
        let address = RouterAddress {
            mac: addresses::switch_mac(switch),
            ipv4: addresses::switch_ipv4(switch),
        };
        let length = time_exceeded(ended, address, out)?;
        router.tokens -= 1.0;
        router.counts.answered += 1;
        let answer = Packet {
            // A switch is no host; the one that the packet was for stands for it.
            src: packet.dst,
            dst: packet.src,
            flow_hash: packet.flow_hash,
            size: line_time(length),
            priority: PRIORITY,
            path: Packet::ANY_PATH,
            ..Packet::default()
        };
        Some((answer, length))
    }

    /// What each switch has done.
    pub fn counts(&self) -> impl Iterator<Item = RouterCounts> {
        self.routers.iter().map(|router| router.counts)
    }
}

/// What switches look at of a host's packet: its TTL. One of 0 ends at the first switch as one of 1 does.
pub fn hop_limit(ttl: Option<u8>) -> u8 {
    ttl.map_or(0, |ttl| ttl.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_units::{Duration, HostId};

    /// A datagram of host 0 for host 1.
    fn frame() -> Vec<u8> {
        let [from, to] = [0, 1].map(HostId);
        let macs = (addresses::mac(from), addresses::mac(to));
        let addresses = [from, to].map(|host| addresses::ipv4(host).octets());
        let builder = etherparse::PacketBuilder::ethernet2(macs.0, macs.1);
        let builder = builder.ipv4(addresses[0], addresses[1], 1).udp(7, 9);
        let mut frame = Vec::new();
        builder.write(&mut frame, &[0; 10]).expect("fits");
        frame
    }

    fn packet() -> Packet {
        Packet {
            src: HostId(0),
            dst: HostId(1),
            ..Packet::default()
        }
    }

    #[test]
    fn a_switch_answers_at_its_rate_and_a_burst_after_silence() {
        let mut routers = Routers::new(2, NonZeroU32::new(100).expect("above 0"));
        let frame = frame();
        let mut answers = |switch: u32, at: Time, asked: u32| {
            let mut out = [0; 600];
            let asked = (0..asked).map(|_| routers.answer(at, switch, &packet(), &frame, &mut out));
            asked.flatten().count()
        };
        assert_eq!(answers(0, Time::ZERO, 80), 50);
        assert_eq!(answers(1, Time::ZERO, 3), 3, "each has its own bucket");
        let later = Time::ZERO.saturating_add(Duration::from_ms(105));
        assert_eq!(answers(0, later, 80), 10);
        let much_later = later.saturating_add(Duration::from_ms(60_000));
        assert_eq!(answers(0, much_later, 80), 50);
        let counts: Vec<RouterCounts> = routers.counts().collect();
        assert_eq!((counts[0].ended, counts[0].answered), (240, 110));
    }

    #[test]
    fn an_answer_goes_back_to_the_sender_with_the_switchs_own_address() {
        let mut routers = Routers::new(3, USUAL_RATE);
        let mut out = [0; 600];
        let answer = routers.answer(Time::ZERO, 2, &packet(), &frame(), &mut out);
        let (answer, length) = answer.expect("an answer");
        assert_eq!((answer.src, answer.dst), (HostId(1), HostId(0)));
        // Ethernet, IP and ICMP headers, and the datagram with its own of IP and UDP.
        assert_eq!(length, 14 + 20 + 8 + 20 + 8 + 10);
        assert_eq!(answer.size, line_time(length));
        assert_eq!(out[26..30], addresses::switch_ipv4(2).octets());
        assert!(
            routers
                .answer(Time::ZERO, 3, &packet(), &frame(), &mut out)
                .is_none()
        );
    }
}
