//! Tests that peers cannot exceed the limits of a host's work and memory, and that other peers are still served.

use tailcut_transport::scdp::{
    DecodeSpeed, Host, Limits, ModelCodec, ScdpConfig, ScdpHeader, ScdpKind,
};
use tailcut_transport::{Header, Segment, Transport};
use tailcut_units::{FiveTuple, FlowId, HostId, Protocol, Time};

fn host(limits: Limits) -> Host<ModelCodec> {
    let config = ScdpConfig {
        symbol: 1_424,
        limits,
        ..ScdpConfig::default()
    };
    let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1);
    Host::new(HostId(0), config, codec).expect("a valid configuration")
}

/// Returns the options of an object of 200 symbols of 1,424 B in two blocks.
fn options() -> ScdpHeader {
    ScdpHeader {
        kind: ScdpKind::Symbol,
        syn: true,
        count: 8,
        blocks: 2,
        length: 200 * 1_424,
        symbol: 1_424,
        senders: 1,
        ..ScdpHeader::default()
    }
}

/// Returns the first symbol of session `number` of host `peer`.
fn first(peer: u32, number: u16, header: ScdpHeader) -> Segment {
    let tuple = FiveTuple {
        src: HostId(peer),
        dst: HostId(0),
        src_port: 33_000 + number,
        dst_port: 80,
        protocol: Protocol::Udp,
    };
    let mut segment = Segment::new(tuple, FlowId(1), header.symbol, Header::Scdp(header));
    segment.trimmable = true;
    segment
}

#[test]
fn what_no_socket_carries_opens_no_session() {
    let beyond = [
        ScdpHeader {
            symbol: 63,
            blocks: 100,
            ..options()
        },
        ScdpHeader {
            symbol: 8_897,
            ..options()
        },
        ScdpHeader {
            blocks: 1,
            length: 257 * 1_424,
            ..options()
        },
        ScdpHeader {
            senders: 257,
            ..options()
        },
        ScdpHeader {
            count: 11,
            ..options()
        },
    ];
    for header in beyond {
        let mut careful = host(Limits::SOCKETS);
        careful.on_segment(Time::ZERO, first(1, 0, header));
        assert_eq!(
            (careful.open_sessions(), careful.ignored()),
            (0, 1),
            "{header:?}"
        );
        let mut trusting = host(Limits::WIDEST);
        trusting.on_segment(Time::ZERO, first(1, 0, header));
        assert_eq!(trusting.open_sessions(), 1, "{header:?}");
    }
    let mut careful = host(Limits::SOCKETS);
    careful.on_segment(Time::ZERO, first(1, 0, options()));
    assert_eq!(careful.open_sessions(), 1);
    let short = ScdpHeader {
        length: 5,
        symbol: 5,
        blocks: 1,
        count: 1,
        ..options()
    };
    careful.on_segment(Time::ZERO, first(2, 0, short));
    assert_eq!(careful.ignored(), 0, "a short object is one short symbol");
}

#[test]
fn one_peer_cannot_take_all_sessions_and_forged_addresses_cannot_either() {
    let limits = Limits {
        half_open: 10,
        sessions_of_peer: 4,
        ..Limits::SOCKETS
    };
    let mut host = host(limits);
    for number in 0..100 {
        host.on_segment(Time::ZERO, first(1, number, options()));
    }
    assert_eq!((host.open_sessions(), host.half_open()), (4, 4));
    for peer in 2..100 {
        host.on_segment(Time::ZERO, first(peer, 0, options()));
    }
    assert_eq!((host.open_sessions(), host.half_open()), (10, 10));
    // A peer is accepted if the driver has verified its address.
    // A peer that answers is no longer half-open, so another peer is accepted too.
    host.on_vouched(Time::ZERO, first(100, 0, options()));
    assert_eq!((host.open_sessions(), host.half_open()), (11, 10));
    let asked_for = ScdpHeader {
        syn: false,
        count: 0,
        blocks: 0,
        length: 0,
        symbol: 0,
        senders: 0,
        block: 0,
        esi: 8,
        ..options()
    };
    host.on_segment(Time::ZERO, first(1, 0, asked_for));
    assert_eq!(host.half_open(), 9);
    host.on_segment(Time::ZERO, first(200, 0, options()));
    assert_eq!((host.open_sessions(), host.half_open()), (12, 10));
}

#[test]
fn a_claim_of_millions_of_blocks_costs_no_more_than_one_of_two() {
    // A search through all blocks took=>A search through all blocks would take
    let header = ScdpHeader {
        blocks: 1 << 24,
        length: 1 << 24,
        symbol: 1,
        count: 1,
        senders: 65_535,
        share: 65_534,
        ..options()
    };
    let mut host = host(Limits::WIDEST);
    for number in 0..20_000 {
        host.on_segment(Time::ZERO, first(1 + number, 0, header));
    }
    assert_eq!(host.open_sessions(), 20_000);
}
