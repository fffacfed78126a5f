//! Tests of the Wireshark dissector: it decodes the golden vectors.

mod common;
#[path = "common/frames.rs"]
#[expect(dead_code, reason = "frames of UDP and TCP are enough")]
mod frames;
#[path = "common/tshark.rs"]
mod tshark;

use common::vectors;
use frames::V4;
use std::net::IpAddr;
use tailcut_requests::{Order, Purpose};
use tailcut_transport::scdp::Want;
use tailcut_units::Time;
use tailcut_wire::capture::{Frame, Note, PcapNg};
use tailcut_wire::rans::RansHeader;
use tailcut_wire::scdp::credit::{self, Message};
use tailcut_wire::scdp::paper;
use tailcut_wire::{Prefix, ndp, pfabric, rans};

const PORTS: [u16; 2] = [40_000, 41_000];

fn file_of(frames: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut file = PcapNg::new("tailcut");
    let port = file.interface("h0", 65_535, None);
    for bytes in frames {
        let length = bytes.len() as u32;
        file.packet(port, Time::ZERO, &Frame { bytes, length }, &Note::default());
    }
    file.take()
}

/// Returns a datagram with the header `header` and `payload` bytes of payload.
fn datagram(header: &[u8], payload: usize) -> Vec<u8> {
    let mut bytes = header.to_vec();
    bytes.resize(header.len() + payload, 0);
    V4::default().udp(PORTS, &bytes)
}

/// Returns the fields `fields` and the columns that the dissector shows for each vector of a protocol.
fn dissected(protocol: &str, frames: Vec<Vec<u8>>, fields: &[&str]) -> Vec<Vec<String>> {
    let mut named = vec!["_ws.col.Protocol".to_owned(), "_ws.col.Info".to_owned()];
    named.push("_ws.expert.message".to_owned());
    named.extend(
        fields
            .iter()
            .map(|field| format!("tailcut_{protocol}.{field}")),
    );
    let named: Vec<&str> = named.iter().map(String::as_str).collect();
    let count = frames.len();
    let rows = tshark::read(&file_of(frames), &["-X", &tshark::dissector()], &named);
    assert_eq!(rows.len(), count);
    for row in &rows {
        assert_eq!(row[2], "", "{row:?}");
    }
    rows
}

const PREFIX_FIELDS: [&str; 7] = [
    "flow",
    "payload",
    "priority",
    "path",
    "rank",
    "trimmable",
    "condition",
];

fn prefix_values(prefix: &Prefix) -> Vec<String> {
    let numbers = [
        u64::from(prefix.flow.0),
        u64::from(prefix.payload),
        u64::from(prefix.priority),
        u64::from(prefix.path.index().unwrap_or(u16::MAX)),
        u64::from(prefix.rank),
        u64::from(prefix.trimmable),
        prefix.condition as u64,
    ];
    numbers.map(|number| number.to_string()).to_vec()
}

/// Compares the output of the dissector for each vector of a protocol over UDP with the expected rows.
fn hold(
    protocol: &str,
    title: &str,
    fields: &[&str],
    read: impl Fn(&[u8]) -> (Prefix, Vec<Option<u64>>),
) -> Vec<String> {
    let vectors = vectors(protocol);
    let payload = |bytes: &[u8]| {
        let (prefix, _) = read(bytes);
        match prefix.condition {
            tailcut_transport::Condition::Whole => prefix.payload as usize,
            _ => 0,
        }
    };
    let frames = vectors
        .iter()
        .map(|(_, bytes)| datagram(bytes, payload(bytes)));
    let named: Vec<&str> = PREFIX_FIELDS.iter().chain(fields).copied().collect();
    let rows = dissected(protocol, frames.collect(), &named);
    for (row, (name, bytes)) in rows.iter().zip(&vectors) {
        assert_eq!(row[0], title, "{name}");
        let (prefix, values) = read(bytes);
        let mut expected = prefix_values(&prefix);
        let shown = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        expected.extend(values.into_iter().map(shown));
        assert_eq!(row[3..], expected, "{name}");
    }
    rows.into_iter().map(|row| row[1].clone()).collect()
}

#[test]
fn ndp_packets_are_dissected() {
    let fields = [
        "kind",
        "first_window",
        "last",
        "pinned",
        "answered_path",
        "index",
        "cumulative",
        "pull",
        "sent",
    ];
    let said = hold("ndp", "NDP", &fields, |bytes| {
        let (packet, _) = ndp::decode(bytes).expect("a header");
        let header = packet.header;
        let values = [
            header.kind as u64,
            header.first_window.into(),
            header.last.into(),
            header.pinned.into(),
            header.path.index().unwrap_or(u16::MAX).into(),
            header.index,
            header.cumulative,
            header.pull,
            header.sent.as_ps(),
        ];
        (packet.prefix, values.map(Some).to_vec())
    });
    assert_eq!(said[0], "data flow 16909060 packet 7 path 3");
    assert_eq!(said[2], "data flow 16909060 packet 7 path 3 trimmed");
    assert_eq!(said[4], "ACK flow 16909060 packet 7 below 5 pulls 12");
    assert_eq!(said[6], "pull flow 16909060 below 6 pulls 13");
}

#[test]
fn scdp_packets_are_dissected() {
    let fields = [
        "kind", "syn", "fin", "pinned", "block", "esi", "pull", "count", "blocks", "length",
        "symbol", "senders", "share",
    ];
    let said = hold("scdp", "SCDP", &fields, |bytes| {
        let (packet, _) = paper::decode(bytes).expect("a header");
        let header = packet.header;
        let is_symbol = header.kind == tailcut_transport::scdp::ScdpKind::Symbol;
        let of_symbol = |value: u64| is_symbol.then_some(value);
        let of_pull = |value: u32| (!is_symbol).then_some(value.into());
        let of_both = |value: u32| (header.syn || !is_symbol).then_some(value.into());
        let of_syn = |value: u64| header.syn.then_some(value);
        let values = vec![
            Some(header.kind as u64),
            Some(header.syn.into()),
            Some(header.fin.into()),
            Some(header.pinned.into()),
            Some(header.block.into()),
            of_symbol(header.esi.into()),
            of_pull(header.pull),
            of_both(header.count),
            of_both(header.blocks),
            of_syn(header.length),
            of_syn(header.symbol.into()),
            of_syn(header.senders.into()),
            of_syn(header.share.into()),
        ];
        (packet.prefix, values)
    });
    assert_eq!(said[0], "symbol flow 77 block 3 symbol 11259375");
    assert_eq!(said[2], "symbol flow 77 SYN block 0 symbol 1 path 4");
    assert_eq!(said[4], "pull flow 77 FIN block 29 pulls 88");
    assert_eq!(said[5], "done flow 77");
}

#[test]
fn scdp_packets_under_credits_are_dissected() {
    let fields = [
        "kind",
        "sealed",
        "share",
        "session",
        "number",
        "block",
        "esi",
        "class",
        "stamp",
        "trimmed",
        "probe",
        "fin",
        "granted",
        "next",
        "whole",
        "lost",
        "ahead",
        "symbols",
        "length",
        "blocks",
        "symbol",
        "senders",
        "pushed",
        "slab",
        "root",
        "used",
        "asks",
        "hash",
        "reason",
        "size",
        "probe_number",
        "full",
        "check_size",
        "check_number",
        "traffic_class",
        "group",
        "seen_port",
        "seen_address",
        "buffer",
    ];
    let vectors = vectors("cast");
    let frames = vectors.iter().map(|(_, bytes)| datagram(bytes, 0));
    let rows = dissected("cast", frames.collect(), &fields);
    for (row, (name, bytes)) in rows.iter().zip(&vectors) {
        assert_eq!(row[0], "SCDP", "{name}");
        let (envelope, message, _) = credit::decode(bytes).expect("a packet");
        let mut expected = std::collections::BTreeMap::new();
        let mut put = |name: &'static str, value: u64| expected.insert(name, value.to_string());
        put("kind", u64::from(bytes[0] & 0x0f));
        put("sealed", 0);
        put("share", envelope.share.into());
        match message {
            Message::Symbol(symbol) => {
                put("number", symbol.number.into());
                put("block", symbol.block.into());
                put("esi", symbol.esi.into());
                put("class", symbol.class.into());
                put("stamp", symbol.stamp.into());
                put("trimmed", symbol.trimmed.into());
            }
            Message::Pull(pull) => {
                put("probe", pull.probe.into());
                put("fin", pull.fin.into());
                put("granted", pull.granted.into());
                put("next", pull.next.into());
                put("whole", pull.whole.into());
                put("lost", pull.lost.into());
                if pull.wants[0] != Want::NONE {
                    let [first, second, ..] = pull.wants;
                    let both = format!("{},{}", first.ahead, second.ahead);
                    expected.insert("ahead", both);
                    let both = format!("{},{}", first.symbols, second.symbols);
                    expected.insert("symbols", both);
                }
            }
            Message::Offer(offer) => {
                put("length", offer.length);
                put("blocks", offer.blocks.into());
                put("symbol", offer.symbol.into());
                put("senders", offer.senders.into());
                put("pushed", offer.pushed.into());
                put("slab", offer.slab.into());
                put("stamp", offer.stamp.into());
                expected.insert("root", format!("0x{:016x}", offer.root));
            }
            Message::Status { used, stamp, asks } => {
                put("used", used.into());
                put("stamp", stamp.into());
                put("asks", asks.into());
            }
            Message::Done { hash } => {
                expected.insert("hash", format!("0x{hash:016x}"));
            }
            Message::Close { reason } => {
                put("reason", reason.into());
            }
            Message::Probe { size, number } | Message::ProbeAck { size, number } => {
                put("size", size.into());
                put("probe_number", number.into());
            }
            Message::Check(check) => {
                put("full", check.is_full.into());
                put("check_size", check.size.into());
                put("check_number", check.number.into());
                expected.insert("traffic_class", format!("0x{:02x}", check.class));
            }
            Message::Echo(echo) => {
                put("group", echo.is_group.into());
                put("check_number", echo.number.into());
                put("seen_port", echo.seen.port().into());
                put("buffer", echo.buffer.into());
                expected.insert("traffic_class", format!("0x{:02x}", echo.class));
                let seen = match echo.seen.ip() {
                    IpAddr::V4(address) => address.to_ipv6_mapped(),
                    IpAddr::V6(address) => address,
                };
                expected.insert("seen_address", seen.to_string());
            }
            Message::Retry(_) | Message::Proof(_) => {}
        }
        expected.insert("session", format!("0x{:016x}", envelope.session));
        for (field, found) in fields.iter().zip(&row[3..]) {
            let expected = expected.get(field).map_or("", String::as_str);
            assert_eq!(found, expected, "{field} of {name}");
        }
    }
    let session = "session 0102030405060708";
    assert_eq!(
        rows[1][1],
        format!("symbol {session} block 9 symbol 11259375 credit 77 trimmed")
    );
    assert_eq!(
        rows[2][1],
        format!("pull {session} probe credits 500 whole 3 lost 7")
    );
    assert_eq!(
        rows[5][1],
        format!("offer {session} bytes 16000000 with a token")
    );
}

#[test]
fn under_a_key_the_dissector_tells_what_it_can_see() {
    let mut symbol = vectors("cast")[0].1.clone();
    symbol[1] |= 0x80;
    let mut offer = vectors("cast")[4].1.clone();
    offer[1] |= 0x80;
    let frames = vec![datagram(&symbol, 100), datagram(&offer, 36)];
    let rows = dissected("cast", frames, &["sealed", "block", "length"]);
    let session = "session 0102030405060708 under a key";
    assert_eq!(
        rows[0][1],
        format!("symbol {session} block 9 symbol 11259375 credit 77")
    );
    assert_eq!(rows[1][1], format!("offer {session}"));
    assert_eq!(rows[0][3..], ["1", "9", ""]);
    assert_eq!(rows[1][3..], ["1", "", ""]);
    let mut changed = vectors("cast")[0].1.clone();
    changed[20] ^= 1;
    let rows = dissected("cast", vec![datagram(&changed, 100)], &["kind"]);
    assert_eq!(rows[0][0], "UDP", "its checksum is wrong");
}

#[test]
fn pfabric_packets_are_dissected() {
    let fields = ["kind", "index", "packets", "cumulative"];
    let said = hold("pfabric", "pFabric", &fields, |bytes| {
        let (packet, _) = pfabric::decode(bytes).expect("a header");
        let header = packet.header;
        let kind = header.kind as u64;
        let values = [kind, header.index, header.packets, header.cumulative];
        (packet.prefix, values.map(Some).to_vec())
    });
    assert_eq!(said[0], "data flow 5 packet 10");
    assert_eq!(said[3], "probe ACK flow 5 below 9 path 1");
}

#[test]
fn rans_messages_are_dissected_over_tcp() {
    let fields = [
        "kind",
        "priority",
        "copy",
        "request",
        "from",
        "to",
        "object",
        "backwards",
        "queued",
        "offset",
        "bytes",
        "of",
        "window",
        "last",
        "body",
    ];
    let vectors = vectors("rans");
    // Each vector is in a segment of a different connection.
    // With one connection, tshark could take a segment for a retransmission.
    let frame = |(number, (_, bytes)): (u16, &(String, Vec<u8>))| {
        V4::default().tcp([40_000 + number, 41_000], 0x18, bytes)
    };
    let frames: Vec<Vec<u8>> = (0..).zip(&vectors).map(frame).collect();
    let rows = dissected("rans", frames, &fields);
    for (row, (name, bytes)) in rows.iter().zip(&vectors) {
        assert_eq!(row[0], "RANS", "{name}");
        let (header, _) = rans::decode(bytes).expect("a header");
        let kind = u64::from(bytes[3]);
        let values = match header {
            RansHeader::Request(header) => {
                let queued = u64::from(bytes[4] & 2 != 0);
                let mut values = [
                    kind,
                    header.priority.into(),
                    header.copy.copy.into(),
                    header.copy.request.0.into(),
                    header.range.from,
                    header.range.to,
                    header.object,
                    u64::from(header.order == Order::Backwards),
                    queued,
                ]
                .map(Some)
                .to_vec();
                values.resize(fields.len() - 1, None);
                values.push((header.purpose == Purpose::Ask).then_some(header.body));
                values
            }
            RansHeader::Answer(header) => {
                let mut values = [
                    kind,
                    header.priority.into(),
                    header.copy.copy.into(),
                    header.copy.request.0.into(),
                ]
                .map(Some)
                .to_vec();
                values.resize(9, None);
                let window = header.window.unwrap_or(0);
                let rest = [header.offset, header.bytes, header.of, window];
                values.extend(rest.map(Some));
                values.extend([Some(header.is_last.into()), None]);
                values
            }
        };
        let shown = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let expected: Vec<String> = values.into_iter().map(shown).collect();
        assert_eq!(row[3..], expected, "{name}");
    }
    assert_eq!(
        rows[2][1],
        "more request 1000 copy 2 bytes 500000 to 600000"
    );
    assert_eq!(
        rows[6][1],
        "answer request 1000 copy 0 at 65536 bytes 16384"
    );
}

#[test]
fn two_messages_of_one_segment_are_both_dissected_and_the_request_between_them_is_not() {
    let vectors = vectors("rans");
    let request = [0xe4; 300];
    let both = [&vectors[0].1[..], &request, &vectors[5].1].concat();
    let frame = V4::default().tcp(PORTS, 0x18, &both);
    let rows = dissected("rans", vec![frame], &["kind"]);
    assert_eq!(rows[0][3], "0,3");
    let said = "ask request 1000 copy 0 bytes 0 to 1000000; reprioritise request 1000 copy 0";
    assert_eq!(rows[0][1], said);
}

#[test]
fn what_is_not_ours_is_left_to_others() {
    let mut version_2 = vectors("ndp")[0].1.clone();
    version_2[1] = 2;
    let mut too_long = vectors("scdp")[0].1.clone();
    too_long[2] += 1;
    let early = vectors("pfabric")[0].1[..47].to_vec();
    let others = [version_2, too_long, early, b"hello, world".to_vec()];
    let frames = others.iter().map(|bytes| datagram(bytes, 0)).collect();
    for row in dissected("ndp", frames, &["kind"]) {
        assert_eq!(row[0], "UDP", "{row:?}");
    }
}
