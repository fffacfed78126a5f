//! Tests of the changes that a router makes in a packet, and of its message about an expired TTL.

#[path = "common/frames.rs"]
#[allow(dead_code, reason = "each test file uses its own part")]
mod frames;

use frames::{MAC_A, V4, V6, checksum, tagged, tcp};
use proptest::prelude::*;
use std::net::Ipv4Addr;
use tailcut_wire::foreign::{
    Content, IcmpKind, LONGEST_TIME_EXCEEDED, RewriteError, RouterAddress, View, set_ttl,
    time_exceeded,
};

const ROUTER: RouterAddress = RouterAddress {
    mac: [2, 0, 0, 0, 9, 9],
    ipv4: Ipv4Addr::new(10, 0, 255, 1),
};

fn answer(frame: &[u8]) -> Option<Vec<u8>> {
    let mut out = [0xaa; LONGEST_TIME_EXCEEDED];
    let length = time_exceeded(frame, ROUTER, &mut out)?;
    Some(out[..length].to_vec())
}

#[test]
fn the_sender_is_told_and_gets_its_own_headers_back() {
    let syn = V4 {
        ttl: 1,
        ..V4::default()
    };
    let syn = syn.tcp([40_000, 80], 0x02, &[]);
    let told = answer(&syn).expect("an answer");
    let seen = View::read(&told).expect("a frame");
    assert_eq!((seen.destination, seen.source), (MAC_A, ROUTER.mac));
    let ip = seen.ip.expect("IP");
    assert_eq!(
        (ip.src, ip.dst),
        (ROUTER.ipv4.into(), V4::default().src.into())
    );
    assert_eq!((ip.ttl, ip.dscp), (64, 48));
    assert_eq!(seen.content, Content::Icmp(IcmpKind::TimeExceeded));
    assert_eq!(told[34..36], [11, 0], "type and code");
    // The message quotes the whole packet, including ports and sequence number.
    assert_eq!(told[42..], syn[14..]);
    assert_eq!((checksum(&told[14..34]), checksum(&told[34..])), (0, 0));
    assert_eq!(answer(&tagged(&syn, 7)), answer(&syn), "behind a VLAN tag");
}

#[test]
fn a_long_packet_is_quoted_as_far_as_576_bytes_go() {
    let told = answer(&V4::default().udp([5, 6], &[7; 1_400])).expect("an answer");
    assert_eq!(told.len(), LONGEST_TIME_EXCEEDED);
    assert_eq!(checksum(&told[34..]), 0);
}

#[test]
fn routers_are_silent_on_errors_later_fragments_and_what_is_for_many() {
    let of = |packet: V4, protocol, payload: &[u8]| answer(&packet.frame(protocol, payload));
    let error = [3, 1, 0, 0, 0, 0, 0, 0];
    let echo = [8, 0, 0, 0, 0, 1, 0, 1];
    assert_eq!(of(V4::default(), 1, &error), None, "an ICMP error");
    assert!(of(V4::default(), 1, &echo).is_some(), "a ping");
    let fragment = |bits| V4 {
        fragment: bits,
        ..V4::default()
    };
    assert!(of(fragment(0x2000), 17, &[1; 32]).is_some(), "the first");
    assert_eq!(of(fragment(0x0001), 17, &[1; 32]), None, "the last");
    for dst in [Ipv4Addr::BROADCAST, Ipv4Addr::new(239, 1, 2, 3)] {
        let packet = V4 {
            dst,
            ..V4::default()
        };
        assert_eq!(of(packet, 17, &[0; 8]), None, "{dst}");
    }
    assert_eq!(answer(&V6::default().frame(6, &tcp([1, 2], 2, &[]))), None);
    assert_eq!(
        time_exceeded(&V4::default().udp([5, 6], b"x"), ROUTER, &mut [0; 60]),
        None
    );
}

proptest! {
    #[test]
    fn a_ttl_is_set_with_the_checksum_that_a_new_header_would_have(
        ttl in any::<u8>(),
        before in any::<u8>(),
        id in any::<u16>(),
        words in 0..10_usize,
    ) {
        let packet = |ttl| V4 { ttl, id, options: vec![[1; 4]; words], ..V4::default() };
        let mut frame = packet(before).udp([5, 6], b"hello");
        prop_assert_eq!(set_ttl(&mut frame, ttl), Ok(()));
        let expected = packet(ttl).udp([5, 6], b"hello");
        prop_assert_eq!(&frame[14..], &expected[14..]);
        let mut other = V6::default().udp([5, 6], b"hello");
        prop_assert_eq!(set_ttl(&mut other, ttl), Err(RewriteError::NoIp));
    }

    #[test]
    fn whatever_a_frame_holds_it_is_answered_soundly_or_not_at_all(
        changes in prop::collection::vec((0..80_usize, any::<u8>()), 0..6),
        length in 0..120_usize,
    ) {
        let mut frame = V4::default().tcp([40_000, 80], 0x02, &[9; 40]);
        for (at, value) in changes {
            frame[at] = value;
        }
        frame.truncate(length);
        if let Some(told) = answer(&frame) {
            let seen = View::read(&told).expect("a frame");
            prop_assert_eq!(seen.content, Content::Icmp(IcmpKind::TimeExceeded));
            prop_assert_eq!((checksum(&told[14..34]), checksum(&told[34..])), (0, 0));
        }
    }
}
