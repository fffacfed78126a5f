//! Generators of random headers.

use proptest::prelude::*;
use tailcut_requests::{
    AnswerHeader, ByteRange, CancelScope, CopyId, Order, Purpose, RequestHeader, RequestId,
};
use tailcut_transport::ndp::{NdpHeader, NdpKind};
use tailcut_transport::pfabric::{PFabricHeader, PFabricKind};
use tailcut_transport::scdp::{MAX_ESI, ScdpHeader, ScdpKind};
use tailcut_transport::{Condition, Ecn, Header, PathPin, Segment};
use tailcut_units::{FiveTuple, FlowId, HostId, Protocol, Time};
use tailcut_wire::Prefix;
use tailcut_wire::rans::RansHeader;

fn path() -> impl Strategy<Value = PathPin> {
    prop_oneof![Just(PathPin::NONE), (0..u16::MAX).prop_map(PathPin::to),]
}

fn condition() -> impl Strategy<Value = Condition> {
    prop::sample::select(vec![
        Condition::Whole,
        Condition::Trimmed,
        Condition::Returned,
    ])
}

pub fn prefix() -> impl Strategy<Value = Prefix> {
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u8>());
    (numbers, path(), any::<bool>(), condition()).prop_map(
        |((flow, payload, rank, priority), path, trimmable, condition)| Prefix {
            flow: FlowId(flow),
            payload,
            priority,
            path,
            rank,
            trimmable,
            condition,
        },
    )
}

pub fn ndp() -> impl Strategy<Value = NdpHeader> {
    let kinds = vec![NdpKind::Data, NdpKind::Ack, NdpKind::Nack, NdpKind::Pull];
    let kind = prop::sample::select(kinds);
    (kind, any::<[bool; 3]>(), path(), any::<[u64; 4]>()).prop_map(
        |(kind, [first_window, last, pinned], path, [index, cumulative, pull, sent])| NdpHeader {
            kind,
            first_window,
            last,
            pinned,
            path,
            index,
            cumulative,
            pull,
            sent: Time::from_ps(sent),
        },
    )
}

pub fn pfabric() -> impl Strategy<Value = PFabricHeader> {
    let kind = prop::sample::select(vec![
        PFabricKind::Data,
        PFabricKind::Ack,
        PFabricKind::Probe,
        PFabricKind::ProbeAck,
    ]);
    (kind, any::<[u64; 3]>()).prop_map(|(kind, [index, packets, cumulative])| PFabricHeader {
        kind,
        index,
        packets,
        cumulative,
    })
}

/// Generates SCDP headers of all kinds. Each header has only the fields that its kind contains.
pub fn scdp() -> impl Strategy<Value = ScdpHeader> {
    let kinds = vec![ScdpKind::Symbol, ScdpKind::Pull, ScdpKind::Done];
    let kind = prop::sample::select(kinds);
    let numbers = (
        any::<[u32; 5]>(),
        0..MAX_ESI,
        any::<u64>(),
        any::<[u16; 2]>(),
    );
    (kind, any::<[bool; 3]>(), numbers).prop_map(|(kind, [syn, fin, pinned], numbers)| {
        let ([block, pull, count, blocks, symbol], esi, length, [senders, share]) = numbers;
        let named = ScdpHeader {
            kind,
            syn,
            fin,
            pinned,
            block,
            ..ScdpHeader::default()
        };
        match (kind, syn) {
            (ScdpKind::Symbol, false) => ScdpHeader { esi, ..named },
            (ScdpKind::Symbol, true) => ScdpHeader {
                esi,
                count,
                length,
                blocks,
                symbol,
                senders,
                share,
                ..named
            },
            _ => ScdpHeader {
                pull,
                count,
                blocks,
                ..named
            },
        }
    })
}

pub fn rans() -> impl Strategy<Value = RansHeader> {
    let purpose = prop::sample::select(vec![
        Purpose::Ask,
        Purpose::More,
        Purpose::Cancel(CancelScope::Queued),
        Purpose::Cancel(CancelScope::Running),
        Purpose::Reprioritise,
    ]);
    let copy = (any::<u32>(), any::<u8>()).prop_map(|(request, copy)| CopyId {
        request: RequestId(request),
        copy,
    });
    let sorted = any::<[u64; 3]>().prop_map(|mut numbers| {
        numbers.sort_unstable();
        numbers
    });
    let (told, body) = (prop::option::of(any::<u64>()), any::<u64>());
    (
        copy,
        any::<u8>(),
        sorted,
        any::<bool>(),
        prop::option::of(purpose),
        (told, body),
    )
        .prop_map(
            |(copy, priority, [from, to, object], flag, purpose, (window, body))| match purpose {
                Some(purpose) => RansHeader::Request(RequestHeader {
                    copy,
                    purpose,
                    priority,
                    range: ByteRange { from, to },
                    object,
                    order: match flag {
                        true => Order::Backwards,
                        false => Order::Forwards,
                    },
                    body: if purpose == Purpose::Ask { body } else { 0 },
                }),
                None => RansHeader::Answer(AnswerHeader {
                    copy,
                    priority,
                    offset: from,
                    bytes: to - from,
                    of: object,
                    is_last: flag,
                    window,
                }),
            },
        )
}

/// Generates a segment of NDP, SCDP or pFabric whose addresses and payload fit a packet.
pub fn segment() -> impl Strategy<Value = Segment> {
    let header = prop_oneof![
        ndp().prop_map(Header::Ndp),
        scdp().prop_map(Header::Scdp),
        pfabric().prop_map(Header::PFabric),
    ];
    let ecn = prop::sample::select(vec![Ecn::NotCapable, Ecn::Capable, Ecn::Marked]);
    let host = 0..1u32 << 24;
    let payload = prop_oneof![0..9_000u32, 0..65_000u32];
    (
        prefix(),
        header,
        ecn,
        [host.clone(), host],
        any::<[u16; 2]>(),
        payload,
    )
        .prop_map(
            |(prefix, header, ecn, [src, dst], [src_port, dst_port], payload)| Segment {
                tuple: FiveTuple {
                    src: HostId(src),
                    dst: HostId(dst),
                    src_port,
                    dst_port,
                    protocol: Protocol::Udp,
                },
                flow: prefix.flow,
                payload,
                ecn,
                priority: prefix.priority,
                path: prefix.path,
                rank: prefix.rank,
                trimmable: prefix.trimmable,
                condition: prefix.condition,
                header,
            },
        )
}
