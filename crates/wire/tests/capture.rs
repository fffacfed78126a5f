//! Tests of captures of simulated segments: tshark decodes the captures.

#[path = "common/frames.rs"]
#[expect(dead_code, reason = "only the checksum is used here")]
mod frames;
#[path = "common/headers.rs"]
#[expect(dead_code, reason = "only segments are drawn here")]
mod headers;
#[path = "common/tshark.rs"]
#[expect(dead_code, reason = "no dissector is used here")]
mod tshark;

use frames::checksum;
use proptest::prelude::*;
use std::collections::VecDeque;
use tailcut_transport::tcp::{Host, SackBlock, Stamp, Stamps, TcpConfig, TcpFlags, TcpHeader};
use tailcut_transport::{
    Condition, Ecn, Header, Message, PathPin, Replication, Segment, Transport,
};
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Protocol, Time};
use tailcut_wire::capture::{
    Connection, Direction, Frame, FrameError, Note, PcapNg, address, frame,
};
use tailcut_wire::foreign::{Content, View};
use tailcut_wire::{EncodeError, decode};

const MSS: u16 = 1_460;
const SEED: u64 = 20_261_122;
/// Time from the sending host to the receiving host.
const DELAY: Duration = Duration::from_ps(5_000_123);
/// Time between two segments of one host.
const GAP: Duration = Duration::from_ps(1_230_400);

/// Number of Wireshark's severity "Note".
const NOTE: u32 = 0x0040_0000;

/// Segment, and the time at which the link of the first host carried it.
type Seen = (Time, Segment);

/// Runs a transfer of `bytes` bytes from the first to the second of two TCP hosts.
/// Returns the segments that cross the link of the first host, in both directions.
/// `is_lost` selects segments from the first host that are lost after this link.
fn exchange(config: &TcpConfig, bytes: u64, is_lost: impl Fn(u32, &Segment) -> bool) -> Vec<Seen> {
    let host = |id| Host::new(HostId(id), config.clone()).expect("a valid configuration");
    let mut hosts = [host(3), host(70_000)];
    hosts[0].submit(
        Time::ZERO,
        Message {
            flow: FlowId(0),
            dst: HostId(70_000),
            bytes,
            path: PathPin::NONE,
            replication: Replication::Off,
        },
    );
    let mut links: [VecDeque<Seen>; 2] = Default::default();
    let mut free = [Time::ZERO; 2];
    let (mut seen, mut sent) = (Vec::new(), 0);
    let mut now = Time::ZERO;
    loop {
        for at in 0..2 {
            while let Some((arrives, _)) = links[1 - at].front()
                && *arrives <= now
            {
                let (_, segment) = links[1 - at].pop_front().expect("the first");
                if at == 0 {
                    seen.push((now, segment));
                }
                hosts[at].on_segment(now, segment);
            }
            hosts[at].on_timeout(now);
            if free[at] <= now
                && let Some(segment) = hosts[at].poll_transmit(now)
            {
                free[at] = now + GAP;
                if at == 0 {
                    seen.push((now, segment));
                    sent += 1;
                }
                if at == 1 || !is_lost(sent, &segment) {
                    links[at].push_back((now + DELAY, segment));
                }
            }
            while hosts[at].poll_event().is_some() {}
        }
        let arrivals = links.iter().filter_map(|link| link.front());
        let ready = (0..2).filter(|&at| hosts[at].has_transmit());
        let timeouts = hosts.iter().filter_map(Transport::next_timeout);
        let next = arrivals
            .map(|(arrives, _)| *arrives)
            .chain(timeouts)
            .chain(ready.map(|at| free[at]))
            .min();
        match next {
            Some(next) => now = next.max(now + Duration::from_ps(1)),
            None => return seen,
        }
    }
}

fn file_of(seen: &[Seen], sack: bool, snap: usize) -> Vec<u8> {
    let mut file = PcapNg::new("tailcut");
    let port = file.interface("h3", snap as u32, Some(10_000_000_000));
    for (at, segment) in seen {
        let connection = Connection::drawn(&segment.tuple, SEED, MSS, sack);
        let frame = frame(segment, &connection, snap).expect("a segment that fits a frame");
        file.packet(port, *at, &frame, &Note::default());
    }
    file.take()
}

/// Returns the messages of all frames that have an expert item with a severity above "Note".
fn above_note(rows: &[Vec<String>], severity: usize, message: usize) -> Vec<String> {
    let is_above = |row: &&Vec<String>| {
        let severities = row[severity].split(',').filter(|cell| !cell.is_empty());
        severities
            .map(|cell| cell.parse::<u32>().expect("a number"))
            .any(|severity| severity > NOTE)
    };
    let above = rows.iter().filter(is_above);
    above.map(|row| row[message].clone()).collect()
}

#[test]
fn a_clean_tcp_exchange_has_nothing_to_remark() {
    let config = TcpConfig::default();
    let seen = exchange(&config, 100_000, |_, _| false);
    let flags = |flags: TcpFlags| {
        let is = |(_, segment): &&Seen| match &segment.header {
            Header::Tcp(header) => header.flags.has(flags),
            _ => false,
        };
        seen.iter().filter(is).count()
    };
    assert_eq!((flags(TcpFlags::SYN), flags(TcpFlags::FIN)), (2, 2));
    for snap in [96, 65_535] {
        let rows = tshark::read(
            &file_of(&seen, false, snap),
            &[],
            &[
                "_ws.expert.severity",
                "_ws.expert.message",
                "frame.time_epoch",
                "frame.len",
                "frame.cap_len",
                "tcp.len",
                "tcp.seq",
                "tcp.ack",
                "ip.src",
                "tcp.options.mss_val",
                "tcp.window_size",
                "tcp.analysis.flags",
            ],
        );
        assert_eq!(rows.len(), seen.len());
        assert_eq!(above_note(&rows, 0, 1), [""; 0]);
        for (row, (at, segment)) in rows.iter().zip(&seen) {
            let ns = at.as_ns();
            let stamp = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
            assert_eq!(row[2], stamp);
            let Header::Tcp(header) = segment.header else {
                panic!("not TCP");
            };
            let is_syn = header.flags.has(TcpFlags::SYN);
            let length = 54 + if is_syn { 8 } else { 0 } + segment.payload as usize;
            assert_eq!(row[3], length.to_string());
            assert_eq!(row[4], length.min(snap).to_string());
            assert_eq!(row[5], segment.payload.to_string());
            // tshark shows relative sequence numbers. The SYN has the number 0, and the first byte has the number 1.
            let sequence = if is_syn { 0 } else { header.offset + 1 };
            assert_eq!(row[6], sequence.to_string());
            if header.flags.has(TcpFlags::ACK) {
                assert_eq!(row[7], (header.ack + 1).to_string());
            }
            let src = address(segment.tuple.src).expect("an address");
            assert_eq!(row[8], src.to_string());
            assert_eq!(row[9], if is_syn { "1460" } else { "" });
            assert_eq!(row[10], if is_syn { "65535" } else { "1073725440" });
            assert_eq!(row[11], "", "retransmissions, duplicates or gaps");
        }
    }
}

#[test]
fn a_lossy_exchange_shows_sack_and_the_retransmissions_that_happened() {
    let config = TcpConfig {
        sack: true,
        ..TcpConfig::default()
    };
    let is_lost = |sent, segment: &Segment| segment.payload > 0 && [12, 14, 17].contains(&sent);
    let seen = exchange(&config, 200_000, is_lost);
    let rows = tshark::read(
        &file_of(&seen, true, 128),
        &[],
        &[
            "_ws.expert.severity",
            "_ws.expert.message",
            "tcp.options.sack_perm",
            "tcp.options.sack_le",
            "tcp.options.sack_re",
            "tcp.ack",
            "tcp.analysis.retransmission",
            "tcp.analysis.out_of_order",
        ],
    );
    assert_eq!(rows.len(), seen.len());
    let (mut blocks_seen, mut sent_again, mut next) = (0, 0, 0);
    for (row, (_, segment)) in rows.iter().zip(&seen) {
        let Header::Tcp(header) = segment.header else {
            panic!("not TCP");
        };
        let mut is_again = false;
        let is_syn = header.flags.has(TcpFlags::SYN);
        assert_eq!(!row[2].is_empty(), is_syn);
        let blocks: Vec<SackBlock> = header.sack.into_iter().filter(|b| b.end > 0).collect();
        blocks_seen += blocks.len();
        let ack: u32 = row[5].parse().expect("a number");
        let edges = |edge: fn(&SackBlock) -> u32| {
            let edges = blocks
                .iter()
                .map(|block| ack.wrapping_add(edge(block)).to_string());
            edges.collect::<Vec<_>>().join(",")
        };
        assert_eq!(row[3], edges(|block| block.start));
        assert_eq!(row[4], edges(|block| block.end));
        if segment.tuple.src == HostId(3) && segment.payload > 0 {
            is_again = header.offset < next;
            sent_again += u32::from(is_again);
            next = next.max(header.offset + 1);
        }
        // If a retransmission follows within a round trip, Wireshark calls it a reordered segment and shows a warning.
        let says_again = !row[6].is_empty() || !row[7].is_empty();
        assert_eq!(says_again, is_again, "{row:?}");
        assert!(
            is_again || above_note(std::slice::from_ref(row), 0, 1).is_empty(),
            "{row:?}"
        );
    }
    assert!(
        blocks_seen > 3 && sent_again >= 3,
        "{blocks_seen} {sent_again}"
    );
}

fn syn() -> Segment {
    Segment {
        tuple: FiveTuple {
            src: HostId(1),
            dst: HostId(2),
            src_port: 40_000,
            dst_port: 80,
            protocol: Protocol::Tcp,
        },
        flow: FlowId(0),
        payload: 0,
        ecn: Ecn::NotCapable,
        priority: 5,
        path: PathPin::NONE,
        rank: 0,
        trimmable: false,
        condition: Condition::Whole,
        header: Header::Tcp(TcpHeader {
            flags: TcpFlags::SYN,
            ..TcpHeader::default()
        }),
    }
}

#[test]
fn a_file_says_what_was_lost_and_which_way_frames_went() {
    let syn = syn();
    let connection = Connection::drawn(&syn.tuple, 1, MSS, true);
    let whole = frame(&syn, &connection, 200).expect("a frame");
    let mut file = PcapNg::new("tailcut");
    let ports = ["leaf0:1", "leaf0:2"].map(|name| file.interface(name, 200, None));
    let notes = [
        Note {
            comment: "dropped: no room",
            direction: Some(Direction::Out),
            drops: 3,
        },
        Note::default(),
        Note {
            direction: Some(Direction::In),
            ..Note::default()
        },
    ];
    // The test takes the file in pieces, like a driver. The last time stamp needs more than 32 bits.
    let mut bytes = file.take();
    assert!(file.is_empty());
    let stamps = [0, 1, 7_000_000_000_123_999].map(Time::from_ps);
    for ((note, at), port) in notes.iter().zip(stamps).zip([ports[0], ports[1], ports[0]]) {
        file.packet(port, at, &whole, note);
        assert!(file.len() > whole.bytes.len());
        bytes.extend(file.take());
    }
    let fields = [
        "frame.interface_name",
        "frame.comment",
        "frame.packet_flags_direction",
        "frame.drop_count",
        "frame.time_epoch",
        "ip.dsfield.dscp",
    ];
    let rows = tshark::read(&bytes, &[], &fields[..3]);
    assert_eq!(rows[0][..2], ["leaf0:1", "dropped: no room"]);
    assert_eq!(rows[1][..2], ["leaf0:2", ""]);
    assert_eq!(rows[2][..2], ["leaf0:1", ""]);
    let ways: Vec<&str> = rows.iter().map(|row| row[2].as_str()).collect();
    assert_eq!(ways, ["0x00000002", "", "0x00000001"]);
    let rows = tshark::read(&bytes, &[], &fields[4..]);
    assert_eq!(rows[2], ["7000.000000123", "5"]);
}

#[test]
fn time_stamps_are_an_option_of_the_syn_and_of_an_ack_with_three_blocks() {
    let block = |start| SackBlock {
        start,
        end: start + 1_000,
    };
    let stamps = Stamps::new(
        Stamp::at(Time::from_ns(70_000_000_000)),
        Stamp::at(Time::from_ns(5_000_000)),
    );
    let mut segment = syn();
    let connection = Connection::drawn(&segment.tuple, 1, MSS, true);
    let mut file = PcapNg::new("tailcut");
    let port = file.interface("host", 200, None);
    for flags in [TcpFlags::SYN, TcpFlags::ACK] {
        let sack = match flags {
            TcpFlags::ACK => [block(2_000), block(4_000), block(6_000)],
            _ => Default::default(),
        };
        let header = TcpHeader {
            flags,
            sack,
            stamps,
            ..TcpHeader::default()
        };
        segment.header = Header::Tcp(header);
        let whole = frame(&segment, &connection, 200).expect("a frame");
        file.packet(port, Time::ZERO, &whole, &Note::default());
    }
    let fields = ["tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr"];
    let rows = tshark::read(&file.take(), &[], &fields);
    assert_eq!(rows, [["70000", "5"], ["70000", "5"]]);
}

/// Returns the type and the contents of each block of a file.
fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let mut found = Vec::new();
    while !file.is_empty() {
        let length = number(&file[4..8]) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(number(&file[length - 4..length]) as usize, length);
        found.push((number(&file[..4]), file[8..length - 4].to_vec()));
        file = &file[length..];
    }
    found
}

#[test]
fn every_block_is_as_long_as_it_says() {
    for length in 0..9usize {
        let mut file = PcapNg::new(&"x".repeat(length));
        let port = file.interface(&"p".repeat(length), 64, Some(1));
        let frame = Frame {
            bytes: vec![7; length],
            length: 100,
        };
        let comment = "c".repeat(length);
        let note = Note {
            comment: &comment,
            direction: None,
            drops: 1,
        };
        file.packet(port, Time::from_ns(u64::from(u32::MAX) + 1), &frame, &note);
        let blocks = blocks(&file.take());
        let kinds: Vec<u32> = blocks.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [0x0a0d_0d0a, 1, 6]);
        // The option states the resolution of time stamps: 10^-9 s.
        let resolution = [9, 0, 1, 0, 9, 0, 0, 0];
        assert!(blocks[1].1.windows(8).any(|option| option == resolution));
        let (head, rest) = blocks[2].1.split_at(20);
        assert_eq!(head[..12], [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(head[12..], [length as u8, 0, 0, 0, 100, 0, 0, 0]);
        assert_eq!(rest[..length], frame.bytes);
    }
}

fn tcp_segment() -> impl Strategy<Value = Segment> {
    let header = (
        any::<u8>(),
        any::<u64>(),
        any::<u64>(),
        any::<[(u32, u32); 3]>(),
    );
    let header = header.prop_map(|(flags, offset, ack, sack)| TcpHeader {
        flags: TcpFlags(flags),
        offset,
        ack,
        sack: sack.map(|(start, end)| SackBlock { start, end }),
        ..TcpHeader::default()
    });
    (headers::segment(), header).prop_map(|(segment, header)| Segment {
        tuple: FiveTuple {
            protocol: Protocol::Tcp,
            ..segment.tuple
        },
        condition: Condition::Whole,
        header: Header::Tcp(header),
        ..segment
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_frame_of_any_segment_says_what_the_segment_says(
        segment in prop_oneof![headers::segment(), tcp_segment()],
        own in any::<u32>(),
        peer in any::<u32>(),
        sack in any::<bool>(),
        snap in 0usize..200,
    ) {
        let connection = Connection { own, peer, mss: MSS, sack };
        let whole = frame(&segment, &connection, usize::MAX).expect("a frame");
        let trimmed = match segment.condition {
            Condition::Whole => 0,
            Condition::Trimmed | Condition::Returned => segment.payload as usize,
        };
        prop_assert_eq!(whole.bytes.len() + trimmed, whole.length as usize);
        let cut = frame(&segment, &connection, snap).expect("a frame");
        prop_assert_eq!(cut.length, whole.length);
        prop_assert_eq!(&cut.bytes[..], &whole.bytes[..snap.min(whole.bytes.len())]);

        let seen = View::read(&whole.bytes).expect("an Ethernet frame");
        let ip = seen.ip.expect("an IP header");
        prop_assert_eq!(ip.ecn, segment.ecn);
        prop_assert_eq!(ip.dscp, segment.priority.min(63));
        prop_assert_eq!(ip.ports, Some([segment.tuple.src_port, segment.tuple.dst_port]));
        prop_assert_eq!(checksum(&whole.bytes[14..34]), 0);
        // The checksum covers the pseudo-header and all bytes after the IP header.
        // The words of the pseudo-header are added in a different order, which does not change their sum.
        let mut summed = vec![0, ip.protocol];
        summed.extend((whole.length as u16 - 34).to_be_bytes());
        summed.extend(&whole.bytes[26..]);
        prop_assert_eq!(checksum(&summed), 0);
        match seen.content {
            Content::Udp { payload } => {
                let (read, _) = decode(segment.tuple, segment.ecn, payload).expect("a header");
                prop_assert_eq!(read, segment);
            }
            Content::Tcp { flags, sequence, payload, .. } => {
                let known = TcpFlags(0xd7);
                let Header::Tcp(header) = segment.header else {
                    panic!("not TCP: {segment:?}");
                };
                prop_assert_eq!(flags.0, header.flags.0 & known.0);
                prop_assert_eq!(payload, segment.payload as usize);
                let in_stream = match header.flags.has(TcpFlags::SYN) {
                    true => 0,
                    false => (header.offset as u32).wrapping_add(1),
                };
                prop_assert_eq!(sequence, own.wrapping_add(in_stream));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_does_not_fit_a_frame_is_refused() {
    let segment = Segment {
        header: Header::Ndp(Default::default()),
        ..syn()
    };
    let connection = Connection::drawn(&segment.tuple, 1, MSS, false);
    let refuse = |segment: &Segment| frame(segment, &connection, 96).expect_err("refused");
    let mut far = segment;
    far.tuple.dst = HostId(1 << 24);
    let found = HostId(1 << 24);
    assert_eq!(refuse(&far), FrameError::Address { found });
    far.tuple.dst = HostId::group(1 << 24);
    let found = far.tuple.dst;
    assert_eq!(refuse(&far), FrameError::Address { found });
    let long = Segment {
        payload: 70_000,
        ..segment
    };
    assert_eq!(refuse(&long), FrameError::Length { found: 70_064 });
    let mut without_room = segment;
    without_room.header = Header::Scdp(tailcut_transport::scdp::ScdpHeader {
        length: 1,
        ..Default::default()
    });
    let error = EncodeError::NotCarried { kind: "symbol" };
    assert_eq!(refuse(&without_room), FrameError::Header(error));
}

#[test]
fn a_group_has_an_address_of_its_own() {
    let group = HostId::group(0x01_80_01);
    let host = HostId(0x01_80_01);
    assert_eq!(address(host).expect("an address").to_string(), "10.1.128.1");
    assert_eq!(
        address(group).expect("an address").to_string(),
        "239.1.128.1"
    );
}
