//! Tests of frames of other programs: decoding, and the changes that switches make.

#[path = "common/frames.rs"]
mod frames;

#[path = "common/headers.rs"]
#[expect(dead_code, reason = "only segments are drawn here")]
mod headers;

use frames::{MAC_A, MAC_B, V4, V6, checksum, ethernet, tagged, tcp};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use tailcut_transport::tcp::TcpFlags;
use tailcut_transport::{Condition, Ecn, Segment};
use tailcut_wire::foreign::{
    Change, Content, Fragment, IcmpKind, Ip, Membership, Neighbour, Record, RewriteError, TooShort,
    Trimmable, View, set_dscp, set_ecn, shorten, trim,
};
use tailcut_wire::scdp::credit;
use tailcut_wire::{DecodeError, decode, encode};

fn view(frame: &[u8]) -> View<'_> {
    View::read(frame).expect("an Ethernet frame")
}

fn ip(frame: &[u8]) -> Ip {
    view(frame).ip.expect("an IP header")
}

const GROUP: IpAddr = IpAddr::V4(Ipv4Addr::new(239, 1, 2, 3));
const GROUP_6: Ipv6Addr = Ipv6Addr::new(0xff15, 0, 0, 0, 0, 0, 0, 0x42);

#[test]
fn a_tcp_syn_shows_its_addresses_its_class_and_that_it_is_one() {
    let packet = V4 {
        traffic_class: 46 << 2 | 1,
        ..V4::default()
    };
    let frame = packet.tcp([40_000, 80], 0xc2, &[]);
    let seen = view(&frame);
    assert_eq!((seen.size, seen.vlan, seen.ether_type), (54, None, 0x0800));
    assert_eq!((seen.source, seen.destination), (MAC_A, MAC_B));
    let expected = Ip {
        src: Ipv4Addr::new(10, 0, 0, 1).into(),
        dst: Ipv4Addr::new(10, 0, 0, 2).into(),
        protocol: 6,
        ports: Some([40_000, 80]),
        dscp: 46,
        ecn: Ecn::CapableOne,
        ttl: 64,
        fragment: None,
        is_cut: false,
    };
    assert_eq!(seen.ip, Some(expected));
    let flags = TcpFlags::SYN.with(TcpFlags::ECE).with(TcpFlags::CWR);
    let payload = 0;
    let sequence = 9;
    let expected = Content::Tcp {
        flags,
        sequence,
        acknowledged: 5,
        payload,
    };
    assert_eq!(seen.content, expected);
    assert!(seen.content.is_syn() && !seen.content.is_syn_ack());
}

#[test]
fn only_a_syn_with_an_ack_is_the_second_of_a_handshake() {
    let content = |flags| {
        let frame = V6::default().frame(6, &tcp([80, 40_000], flags, b"x"));
        let content = view(&frame).content;
        (content.is_syn(), content.is_syn_ack())
    };
    assert_eq!(content(0x12), (false, true));
    assert_eq!(content(0x02), (true, false));
    assert_eq!(content(0x10), (false, false));
}

#[test]
fn both_directions_of_a_connection_know_each_others_hash() {
    let there = V4::default().frame(6, &tcp([40_000, 80], 0x10, &[]));
    let back = V4 {
        src: V4::default().dst,
        dst: V4::default().src,
        ..V4::default()
    };
    let back = back.frame(6, &tcp([80, 40_000], 0x10, &[]));
    assert_eq!(ip(&there).hash(), ip(&back).reversed_hash());
    assert_eq!(ip(&there).reversed_hash(), ip(&back).hash());
    assert_ne!(ip(&there).hash(), ip(&back).hash());
    let other = V4::default().frame(6, &tcp([40_000, 81], 0x10, &[]));
    assert_ne!(ip(&there).hash(), ip(&other).hash());
}

#[test]
fn all_fragments_of_a_datagram_have_one_hash() {
    let fragment = |bits, payload: &[u8]| {
        let packet = V4 {
            fragment: bits,
            ..V4::default()
        };
        packet.frame(17, payload)
    };
    let first = fragment(0x2000, &[0x9c, 0x40, 0, 80, 0, 40, 0, 0]);
    let last = fragment(0x0001, &[1; 32]);
    assert_eq!(view(&first).content, Content::Fragment);
    assert_eq!(ip(&first).ports, None);
    assert_eq!(ip(&first).hash(), ip(&last).hash());
    let id = Some(0x1234);
    let at = |offset, more| Some(Fragment { id, offset, more });
    assert_eq!(ip(&first).fragment, at(0, true));
    assert_eq!(ip(&last).fragment, at(8, false));

    let header = [17, 0, 0, 0x10 | 1, 0xde, 0xad, 0xbe, 0xef];
    let of_ipv6 = V6::default().frame(44, &[&header[..], &[1; 32]].concat());
    assert_eq!(view(&of_ipv6).content, Content::Fragment);
    let expected = Fragment {
        id: Some(0xdead_beef),
        offset: 16,
        more: true,
    };
    assert_eq!(ip(&of_ipv6).fragment, Some(expected));
    assert_eq!(ip(&of_ipv6).protocol, 17);
}

#[test]
fn a_datagram_shows_its_payload_behind_tags_options_and_extensions() {
    let packet = V4 {
        options: vec![[1; 4]; 3],
        ..V4::default()
    };
    let payload = Content::Udp { payload: b"hello" };
    let plain = packet.udp([5, 6], b"hello");
    let frame = tagged(&tagged(&plain, 7), 0x2000 | 42);
    assert_eq!(view(&frame).content, payload);
    assert_eq!(
        (view(&frame).vlan, view(&frame).ether_type),
        (Some(42), 0x0800)
    );
    assert_eq!(ip(&frame).hash(), ip(&plain).hash());

    let plain = V6::default().udp([5, 6], b"hello");
    let mut hop_by_hop = vec![17, 0, 5, 2, 0, 0, 1, 0];
    hop_by_hop.extend(&plain[54..]);
    let frame = V6::default().frame(0, &hop_by_hop);
    assert_eq!(view(&frame).content, payload);
    assert_eq!(ip(&frame).ports, Some([5, 6]));
}

#[test]
fn a_frame_that_ends_before_its_packet_is_told() {
    let frame = V4::default().udp([5, 6], &[7; 100]);
    let cut = view(&frame[..80]);
    assert!(cut.ip.expect("an IP header").is_cut);
    assert_eq!(cut.content, Content::Udp { payload: &[7; 38] });
    // The padding of a short frame must not become part of the payload.
    let mut padded = V4::default().udp([5, 6], b"x");
    padded.resize(60, 0);
    assert_eq!(view(&padded).content, Content::Udp { payload: b"x" });
    assert!(!ip(&padded).is_cut);
}

#[test]
fn icmp_has_one_name_for_each_kind_in_both_versions() {
    let four = |kind, code, rest: [u8; 4]| {
        let frame = V4::default().frame(1, &[&[kind, code, 0, 0], &rest[..], &[0; 20]].concat());
        match view(&frame).content {
            Content::Icmp(kind) => kind,
            other => panic!("{other:?}"),
        }
    };
    let six = |kind, code, rest: [u8; 4]| {
        let frame = V6::default().frame(58, &[&[kind, code, 0, 0], &rest[..], &[0; 20]].concat());
        match view(&frame).content {
            Content::Icmp(kind) => kind,
            other => panic!("{other:?}"),
        }
    };
    let none = [0; 4];
    for (kind, in_four, in_six) in [
        (IcmpKind::EchoRequest, 8, 128),
        (IcmpKind::EchoReply, 0, 129),
        (IcmpKind::TimeExceeded, 11, 3),
        (IcmpKind::Redirect, 5, 137),
        (IcmpKind::ParameterProblem, 12, 4),
    ] {
        assert_eq!(four(in_four, 0, none), kind);
        assert_eq!(six(in_six, 0, none), kind);
    }
    assert_eq!(four(3, 1, none), IcmpKind::Unreachable { code: 1 });
    assert_eq!(six(1, 4, none), IcmpKind::Unreachable { code: 4 });
    assert_eq!(four(3, 4, [0, 0, 5, 0xdc]), IcmpKind::TooBig { mtu: 1500 });
    assert_eq!(six(2, 0, [0, 1, 0, 0]), IcmpKind::TooBig { mtu: 65_536 });
    let other = IcmpKind::Other { kind: 13, code: 9 };
    assert_eq!(four(13, 9, none), other);
}

#[test]
fn neighbours_ask_and_answer() {
    let arp = |operation: u8| {
        let header = [0, 1, 8, 0, 6, 4, 0, operation];
        let sender = [&MAC_A[..], &[10, 0, 0, 1]].concat();
        let target = [&MAC_B[..], &[10, 0, 0, 2]].concat();
        let frame = ethernet(0x0806, &[&header[..], &sender, &target].concat());
        match view(&frame).content {
            Content::Neighbour(neighbour) => neighbour,
            other => panic!("{other:?}"),
        }
    };
    let [asker, asked] = [1, 2].map(|last| IpAddr::from(Ipv4Addr::new(10, 0, 0, last)));
    assert_eq!(arp(1), Neighbour::Request { target: asked });
    assert_eq!(arp(2), Neighbour::Reply { target: asker });
    assert_eq!(arp(8), Neighbour::Other);

    let nd = |kind, length, expected| {
        let target = V6::default().dst.octets();
        let message = [&[kind, 0, 0, 0, 0, 0, 0, 0], &target[..]].concat();
        let frame = V6::default().frame(58, &message[..length]);
        assert_eq!(view(&frame).content, expected);
    };
    let target = IpAddr::from(V6::default().dst);
    let is = Content::Neighbour;
    nd(135, 24, is(Neighbour::Request { target }));
    nd(136, 24, is(Neighbour::Reply { target }));
    nd(133, 8, is(Neighbour::RouterSolicitation));
    nd(134, 16, is(Neighbour::RouterAdvertisement));
    nd(135, 23, Content::Malformed);
}

fn records(frame: &[u8]) -> Vec<Record> {
    match view(frame).content {
        Content::Membership(Membership::Report(records)) => records.collect(),
        other => panic!("{other:?}"),
    }
}

fn query(frame: &[u8]) -> Option<IpAddr> {
    match view(frame).content {
        Content::Membership(Membership::Query { group }) => group,
        other => panic!("{other:?}"),
    }
}

#[test]
fn hosts_join_and_leave_groups_by_igmp() {
    let igmp = |message: &[u8]| {
        let mut message = message.to_vec();
        let sum = checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        // The IP option is "router alert" (RFC 2113).
        let packet = V4 {
            options: vec![[0x94, 4, 0, 0]],
            ..V4::default()
        };
        packet.frame(2, &message)
    };
    let one = |change| {
        [Record {
            group: GROUP,
            change,
        }]
    };
    assert_eq!(
        records(&igmp(&[0x16, 0, 0, 0, 239, 1, 2, 3])),
        one(Change::Join)
    );
    assert_eq!(
        records(&igmp(&[0x12, 0, 0, 0, 239, 1, 2, 3])),
        one(Change::Join)
    );
    assert_eq!(
        records(&igmp(&[0x17, 0, 0, 0, 239, 1, 2, 3])),
        one(Change::Leave)
    );
    assert_eq!(query(&igmp(&[0x11, 10, 0, 0, 0, 0, 0, 0])), None);
    assert_eq!(query(&igmp(&[0x11, 10, 0, 0, 239, 1, 2, 3])), Some(GROUP));

    // The four records are: join with all senders, join with one sender, leave, and removal of one sender.
    let record = |kind: u8, sources: u8| {
        let mut record = vec![kind, 0, 0, sources, 239, 1, 2, 3];
        record.extend(std::iter::repeat_n(9, 4 * usize::from(sources)));
        record
    };
    let all = [record(4, 0), record(3, 1), record(3, 0), record(6, 1)].concat();
    let report = [&[0x22, 0, 0, 0, 0, 0, 0, 4], &all[..]].concat();
    let changes: Vec<Change> = records(&igmp(&report))
        .iter()
        .map(|one| one.change)
        .collect();
    let expected = [Change::Join, Change::Join, Change::Leave, Change::Neither];
    assert_eq!(changes, expected);
    // If a report is cut, only its complete records are returned.
    let early = igmp(&report[..report.len() - 1]);
    assert_eq!(records(&early).len(), 3);
    let boundless = [&[0x22, 0, 0, 0, 0, 0, 0xff, 0xff], &all[..]].concat();
    assert_eq!(records(&igmp(&boundless)).len(), 4);
}

#[test]
fn hosts_join_and_leave_groups_by_mld() {
    // The MLD message follows a hop-by-hop header with the option "router alert" (RFC 2711).
    let mld = |message: &[u8]| {
        let alert = [58, 0, 5, 2, 0, 0, 1, 0];
        V6::default().frame(0, &[&alert[..], message].concat())
    };
    let group = IpAddr::from(GROUP_6);
    let short = |kind| [&[kind, 0, 0, 0, 0, 0, 0, 0], &GROUP_6.octets()[..]].concat();
    let one = |change| [Record { group, change }];
    assert_eq!(records(&mld(&short(131))), one(Change::Join));
    assert_eq!(records(&mld(&short(132))), one(Change::Leave));
    assert_eq!(query(&mld(&short(130))), Some(group));
    let general = [&[130, 0, 0, 0, 0, 0, 0, 0], &[0; 16][..]].concat();
    assert_eq!(query(&mld(&general)), None);

    let record = |kind: u8| [&[kind, 0, 0, 0], &GROUP_6.octets()[..]].concat();
    let all = [record(4), record(3)].concat();
    let report = [&[143, 0, 0, 0, 0, 0, 0, 2], &all[..]].concat();
    let changes = [Change::Join, Change::Leave];
    assert_eq!(
        records(&mld(&report)),
        changes.map(|change| Record { group, change })
    );
}

#[test]
fn what_is_no_frame_or_none_that_can_be_read_is_told() {
    assert_eq!(View::read(&[0; 13]), Err(TooShort { found: 13 }));
    assert_eq!(view(&ethernet(0x88cc, &[1, 2, 3])).content, Content::Other);
    assert_eq!(view(&ethernet(0x0800, &[0x45])).content, Content::Malformed);
    // The IP header has a length of 16 bytes, and at least 20 are required.
    let mut frame = V4::default().udp([1, 2], b"x");
    frame[14] = 0x44;
    assert_eq!(view(&frame).content, Content::Malformed);
    assert_eq!(view(&frame).ip, None);
    let frame = V4::default().frame(6, &[0; 19]);
    assert_eq!(view(&frame).content, Content::Malformed);
    assert_eq!(ip(&frame).protocol, 6);
}

/// Generates frames with UDP over IPv4 or IPv6, with or without VLAN tags.
fn datagrams(payload: impl Strategy<Value = Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let four = (any::<[u32; 2]>(), any::<u16>(), any::<u8>(), 0usize..11);
    let six = (any::<[u128; 2]>(), any::<u32>());
    let tags = prop::collection::vec(0u16..4096, 0..3);
    let kind = any::<bool>();
    (
        four,
        six,
        any::<u8>(),
        any::<[u16; 2]>(),
        tags,
        payload,
        kind,
    )
        .prop_map(
            |(four, six, traffic_class, ports, tags, payload, is_ipv4)| {
                let ([src, dst], id, ttl, options) = four;
                let frame = if is_ipv4 {
                    let packet = V4 {
                        src: src.into(),
                        dst: dst.into(),
                        traffic_class,
                        ttl,
                        id,
                        fragment: 0x4000,
                        options: vec![[1; 4]; options],
                    };
                    packet.udp(ports, &payload)
                } else {
                    let ([src, dst], label) = six;
                    let packet = V6 {
                        src: src.into(),
                        dst: dst.into(),
                        traffic_class,
                        flow_label: label & 0xf_ffff,
                        hop_limit: ttl,
                    };
                    packet.udp(ports, &payload)
                };
                tags.iter().fold(frame, |frame, tag| tagged(&frame, *tag))
            },
        )
}

/// Returns the position of the IP header of a frame.
fn ip_at(frame: &[u8]) -> usize {
    let mut at = 12;
    while frame[at..at + 2] == [0x81, 0x00] {
        at += 4;
    }
    at + 2
}

/// Checks the checksums in the frame of a datagram. The function computes each checksum again over all covered bytes.
fn hold_checksums(frame: &[u8]) {
    let ip = ip_at(frame);
    let (pseudo, udp) = match frame[ip] >> 4 {
        4 => {
            let header = usize::from(frame[ip] & 15) * 4;
            let total = usize::from(u16::from_be_bytes([frame[ip + 2], frame[ip + 3]]));
            assert_eq!(total, frame.len() - ip);
            assert_eq!(checksum(&frame[ip..ip + header]), 0, "IPv4");
            (frame[ip + 12..ip + 20].to_vec(), ip + header)
        }
        _ => {
            let length = usize::from(u16::from_be_bytes([frame[ip + 4], frame[ip + 5]]));
            assert_eq!(length, frame.len() - ip - 40);
            (frame[ip + 8..ip + 40].to_vec(), ip + 40)
        }
    };
    let datagram = &frame[udp..];
    let length = u16::from_be_bytes([datagram[4], datagram[5]]);
    assert_eq!(usize::from(length), datagram.len());
    let mut summed = pseudo;
    summed.extend([0, 17]);
    summed.extend(length.to_be_bytes());
    summed.extend(datagram);
    assert_eq!(checksum(&summed), 0, "UDP");
}

fn any_datagram() -> impl Strategy<Value = Vec<u8>> {
    datagrams(prop::collection::vec(any::<u8>(), 0..200))
}

fn ours() -> impl Strategy<Value = (Segment, Vec<u8>)> {
    let payload = headers::segment().prop_map(|mut segment| {
        segment.condition = Condition::Whole;
        segment.payload %= 300;
        let mut bytes = vec![0; 128];
        let length = encode(&segment, &mut bytes).expect("room for a header");
        bytes.resize(length, 0);
        bytes.resize(length + segment.payload as usize, 0x5a);
        (segment, bytes)
    });
    payload.prop_flat_map(|(segment, bytes)| (Just(segment), datagrams(Just(bytes))))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_new_ecn_field_and_dscp_leave_sound_checksums(
        frame in any_datagram(),
        ecn in 0u8..4,
        dscp in 0u8..64,
    ) {
        let before = ip(&frame);
        let mut changed = frame.clone();
        let ecn = Ecn::from_bits(ecn);
        prop_assert_eq!(set_ecn(&mut changed, ecn), Ok(()));
        hold_checksums(&changed);
        prop_assert_eq!(ip(&changed), Ip { ecn, ..before });
        prop_assert_eq!(set_dscp(&mut changed, dscp), Ok(()));
        hold_checksums(&changed);
        prop_assert_eq!(ip(&changed), Ip { ecn, dscp, ..before });
        prop_assert_eq!(set_dscp(&mut changed, before.dscp), Ok(()));
        prop_assert_eq!(set_ecn(&mut changed, before.ecn), Ok(()));
        prop_assert_eq!(changed, frame);
    }

    #[test]
    fn a_wrong_checksum_is_not_mended(wrong in 1u16..0xffff, ecn in 0u8..4) {
        let mut frame = V4::default().udp([1, 2], b"x");
        let stored = u16::from_be_bytes([frame[24], frame[25]]);
        frame[24..26].copy_from_slice(&(stored ^ wrong).to_be_bytes());
        prop_assume!(checksum(&frame[14..34]) != 0);
        prop_assert_eq!(set_ecn(&mut frame, Ecn::from_bits(ecn)), Ok(()));
        prop_assert!(checksum(&frame[14..34]) != 0);
    }

    #[test]
    fn a_shortened_datagram_is_the_front_of_what_it_was(
        frame in any_datagram(),
        at in any::<prop::sample::Index>(),
    ) {
        let Content::Udp { payload } = view(&frame).content else {
            panic!("no datagram");
        };
        let kept = at.index(payload.len() + 1);
        let mut changed = frame.clone();
        let length = shorten(&mut changed, kept).expect("a whole datagram");
        prop_assert_eq!(length, frame.len() - (payload.len() - kept));
        changed.truncate(length);
        hold_checksums(&changed);
        prop_assert_eq!(view(&changed).content, Content::Udp { payload: &payload[..kept] });
        prop_assert_eq!(ip(&changed), ip(&frame));

        let found = payload.len();
        let mut again = frame.clone();
        let kept = found + 1;
        prop_assert_eq!(shorten(&mut again, kept), Err(RewriteError::TooShort { kept, found }));
        prop_assert_eq!(again, frame);
    }

    #[test]
    fn a_trimmed_datagram_of_ours_still_says_everything((segment, frame) in ours()) {
        let mut changed = frame.clone();
        let length = trim(&mut changed, Condition::Trimmed).expect("a header of ours");
        changed.truncate(length);
        hold_checksums(&changed);
        let Content::Udp { payload } = view(&changed).content else {
            panic!("no datagram");
        };
        let expected = Segment { condition: Condition::Trimmed, ..segment };
        let read = decode(segment.tuple, segment.ecn, payload);
        prop_assert_eq!(read, Ok((expected, payload.len())));
    }

    #[test]
    fn a_trimmed_symbol_under_credits_keeps_its_header_which_says_so(
        symbol in (any::<u32>(), any::<u32>(), 0u32..1 << 24, any::<u8>(), any::<u32>()),
        session in any::<u64>(),
        rest in prop::collection::vec(any::<u8>(), 1..1_400),
        (is_v6, is_sealed) in any::<(bool, bool)>(),
    ) {
        let (number, block, esi, class, stamp) = symbol;
        let symbol = credit::Symbol { number, block, esi, class, stamp, trimmed: false };
        let envelope = credit::Envelope { session, share: 3 };
        let mut payload = vec![0; credit::SYMBOL_BYTES];
        let written = credit::encode(&envelope, &credit::Message::Symbol(symbol), &mut payload);
        prop_assert_eq!(written, Ok(credit::SYMBOL_BYTES));
        if is_sealed {
            payload[1] |= credit::SEALED;
        }
        prop_assert_eq!(Trimmable::of(&payload), None, "nothing to cut off");
        payload.extend(&rest);
        let kept = credit::SYMBOL_BYTES;
        prop_assert_eq!(Trimmable::of(&payload), Some(Trimmable { kept, class }));
        let frame = match is_v6 {
            true => V6::default().udp([7, 9], &payload),
            false => V4::default().udp([7, 9], &payload),
        };
        let mut changed = frame.clone();
        let length = trim(&mut changed, Condition::Trimmed).expect("a symbol");
        prop_assert_eq!(length, frame.len() - rest.len());
        changed.truncate(length);
        hold_checksums(&changed);
        let Content::Udp { payload: left } = view(&changed).content else {
            panic!("no datagram");
        };
        prop_assert_eq!(Trimmable::of(left), None, "it is trimmed");
        let mut left = left.to_vec();
        left[1] &= !credit::SEALED;
        let expected = credit::Message::Symbol(credit::Symbol { trimmed: true, ..symbol });
        prop_assert_eq!(credit::decode(&left), Ok((envelope, expected, kept)));
        // A symbol's header with one wrong bit is not recognised as a symbol.
        payload[12] ^= 1;
        prop_assert_eq!(Trimmable::of(&payload), None);
    }

    #[test]
    fn frames_changed_at_random_are_read_and_rewritten_without_a_panic(
        frame in prop_oneof![any_datagram(), ours().prop_map(|(_, frame)| frame)],
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        length in any::<prop::sample::Index>(),
    ) {
        let mut frame = frame;
        for (at, value) in changes {
            let at = at.index(frame.len().min(80));
            frame[at] = value;
        }
        frame.truncate(length.index(frame.len() + 1));
        if let Ok(seen) = View::read(&frame)
            && let Content::Membership(Membership::Report(records)) = seen.content
        {
            prop_assert!(records.count() <= frame.len());
        }
        let before = frame.len();
        for kept in [0, 30, 1000] {
            let mut copy = frame.clone();
            let shorter = shorten(&mut copy, kept);
            prop_assert!(shorter.is_ok_and(|length| length <= before) || copy == frame);
        }
        let mut copy = frame.clone();
        let trimmed = trim(&mut copy, Condition::Trimmed);
        prop_assert!(trimmed.is_ok_and(|length| length <= before) || copy == frame);
        let has_ip = View::read(&frame).is_ok_and(|seen| seen.ip.is_some());
        prop_assert_eq!(set_ecn(&mut copy, Ecn::Marked).is_ok(), has_ip);
    }
}

#[test]
fn an_unused_udp_checksum_stays_unused_over_ipv4() {
    let mut frame = V4::default().udp([1, 2], &[9; 40]);
    frame[40..42].copy_from_slice(&[0, 0]);
    let length = shorten(&mut frame, 10).expect("a whole datagram");
    assert_eq!((length, &frame[40..42]), (52, &[0, 0][..]));
}

#[test]
fn what_cannot_be_cut_is_left_alone() {
    let refuse = |frame: Vec<u8>| {
        let mut changed = frame.clone();
        let error = trim(&mut changed, Condition::Trimmed).expect_err("refused");
        assert_eq!(changed, frame);
        error
    };
    let segment = V4::default().frame(6, &tcp([1, 2], 0x10, &[0; 9]));
    assert_eq!(refuse(segment), RewriteError::NoDatagram);
    assert_eq!(refuse(ethernet(0x0806, &[0; 28])), RewriteError::NoIp);
    let found = 0x68;
    let foreign = V4::default().udp([1, 2], b"hello");
    let error = RewriteError::Header(DecodeError::Unknown { found });
    assert_eq!(refuse(foreign), error);
    let mut cut = V4::default().udp([1, 2], &[0xe2; 90]);
    cut.truncate(100);
    assert_eq!(refuse(cut), RewriteError::NoDatagram);
}
