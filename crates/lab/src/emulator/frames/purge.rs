//! Purging by resets: when a TCP reset passes a switch, the switch removes the queued segments of its connection.

use super::tcp::TcpSegment;
use tailcut_fabric::Hints;
use tailcut_transport::tcp::TcpFlags;
use tailcut_units::HostId;

/// Returns `hints` with the key of the segment's connection. Both directions of a connection have the same key.
/// For a reset, the hints order switches to remove all queued segments with this key.
/// For other segments, the hints mark the segment as removable by this key. A reset itself is not removable.
pub fn by_reset(from: HostId, to: HostId, tcp: &TcpSegment, hints: Hints) -> Hints {
    let tuple = tcp.tuple(from, to);
    let (there, back) = (tuple.hash(), tuple.reversed().hash());
    // Sorting the two values gives both directions of a connection the same key.
    let both = u64::from(there.min(back)) << 32 | u64::from(there.max(back));
    // Key 0 means no purging. The last bit distinguishes IPv4 and IPv6, because two connections may use the same ports.
    let key = (both << 1 | u64::from(tcp.is_ipv6)).max(1);
    match tcp.flags.has(TcpFlags::RST) {
        true => Hints {
            purges: key,
            ..hints
        },
        false => Hints {
            purge_key: key,
            ..hints
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(from: u32, to: u32, ports: [u16; 2], is_ipv6: bool, flags: TcpFlags) -> Hints {
        let tcp = TcpSegment {
            ports,
            is_ipv6,
            flags,
            sequence: 0,
            acknowledged: 0,
            payload: 0,
        };
        by_reset(HostId(from), HostId(to), &tcp, Hints::NONE)
    }

    #[test]
    fn a_reset_purges_its_own_connection_in_both_directions_and_no_other() {
        let reset = hints(1, 2, [7_000, 40_000], false, TcpFlags::RST);
        assert_eq!(reset.purge_key, 0);
        let own = [(1, 2, [7_000, 40_000]), (2, 1, [40_000, 7_000])];
        for (from, to, ports) in own {
            let data = hints(from, to, ports, false, TcpFlags::ACK);
            assert_eq!((data.purge_key, data.purges), (reset.purges, 0));
        }
        let others = [
            hints(1, 2, [7_000, 40_001], false, TcpFlags::ACK),
            hints(1, 3, [7_000, 40_000], false, TcpFlags::ACK),
            hints(1, 2, [7_000, 40_000], true, TcpFlags::ACK),
        ];
        assert!(others.iter().all(|other| other.purge_key != reset.purges));
    }
}
