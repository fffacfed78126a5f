//! Tests with malicious packets in paper mode.

use super::{Memory, address, config, engine, object};
use crate::driver::engine::Engine;
use crate::driver::outgoing::{Payload, Task};
use crate::udp::{Ancillary, Incoming};
use proptest::prelude::*;
use std::net::SocketAddr;
use tailcut_transport::scdp::ScdpHeader;
use tailcut_units::{FlowId, Time};
use tailcut_wire::scdp::paper;
use tailcut_wire::{MAX_HEADER_BYTES, Packet, Prefix};

const NOW: Time = Time::from_ns(1_000);

fn arrive(engine: &mut Engine, from: SocketAddr, bytes: &[u8]) {
    let ancillary = Ancillary::default();
    engine.on_incoming(
        NOW,
        &Incoming {
            from,
            ancillary,
            is_cut: false,
            bytes,
        },
    );
}

/// Returns a symbol with the SYN flag that claims an object of `length` bytes in `blocks` blocks.
fn opening(flow: u32, length: u64, blocks: u32, symbol: u32) -> Vec<u8> {
    let packet = Packet {
        prefix: Prefix {
            flow: FlowId(flow),
            payload: symbol,
            trimmable: true,
            ..Prefix::default()
        },
        header: ScdpHeader {
            syn: true,
            count: 1,
            length,
            blocks,
            symbol,
            senders: 1,
            ..ScdpHeader::default()
        },
    };
    let mut bytes = vec![0; MAX_HEADER_BYTES];
    let header = paper::encode(&packet, &mut bytes).expect("a header");
    bytes.resize(header + symbol as usize, 0);
    bytes
}

/// Returns the number of datagrams in the answers of an engine.
fn answers(engine: &mut Engine) -> usize {
    let mut net = Memory::new(address(0));
    while engine.transmit(NOW, &mut net, 64) {}
    net.sent.len()
}

#[test]
fn an_object_that_there_is_no_room_for_is_not_begun_nor_answered() {
    let mut engine = engine(0, config());
    arrive(
        &mut engine,
        address(1),
        &opening(1, 1 << 40, 20_000_000, 1_000),
    );
    assert_eq!(engine.counts().no_room, 1);
    assert_eq!(answers(&mut engine), 0);
    // Three objects of 20 MiB fit into 64 MiB.
    for flow in 2..6 {
        arrive(
            &mut engine,
            address(1),
            &opening(flow, 20 << 20, 210, 1_000),
        );
    }
    assert_eq!(engine.counts().no_room, 2);
}

#[test]
fn words_of_others_about_an_object_are_not_heard() {
    let mut engine = engine(0, config());
    let flow = engine
        .send(NOW, Task::one(address(1), Payload::new(object(100_000, 1))))
        .expect("few peers");
    // The initial window of the transport is 12 symbols.
    assert_eq!(answers(&mut engine), 12);
    let packet = Packet {
        prefix: Prefix {
            flow,
            ..Prefix::default()
        },
        header: ScdpHeader {
            kind: tailcut_transport::scdp::ScdpKind::Done,
            ..ScdpHeader::default()
        },
    };
    let mut bytes = vec![0; MAX_HEADER_BYTES];
    let header = paper::encode(&packet, &mut bytes).expect("a header");
    arrive(&mut engine, address(2), &bytes[..header]);
    assert_eq!(engine.counts().unknown, 1);
    assert!(super::news(&mut engine).is_empty());
    arrive(&mut engine, address(1), &bytes[..header]);
    assert_eq!(
        super::news(&mut engine).len(),
        1,
        "the packet of the receiver counts"
    );
}

#[test]
fn a_symbol_that_is_not_as_long_as_its_object_says_is_dropped() {
    let mut engine = engine(0, config());
    arrive(&mut engine, address(1), &opening(1, 5_000, 1, 1_000));
    let packet = Packet {
        prefix: Prefix {
            flow: FlowId(1),
            payload: 999,
            ..Prefix::default()
        },
        header: ScdpHeader {
            esi: 1,
            ..ScdpHeader::default()
        },
    };
    let mut bytes = vec![0; MAX_HEADER_BYTES];
    let header = paper::encode(&packet, &mut bytes).expect("a header");
    bytes.resize(header + 999, 0);
    arrive(&mut engine, address(1), &bytes[..header + 999]);
    assert_eq!(engine.counts().malformed, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// If a few bytes of an SCDP packet are changed, the engine must not panic.
    #[test]
    fn any_bytes_are_taken(
        changes in proptest::collection::vec(
            proptest::collection::vec((0usize..90, any::<u8>()), 0..4),
            0..12,
        ),
        lengths in proptest::collection::vec(0usize..120, 12),
    ) {
        let mut engine = engine(0, config());
        let whole = opening(1, 3_000, 1, 40);
        for (changes, length) in changes.iter().zip(lengths) {
            let mut bytes = whole.clone();
            for (at, byte) in changes {
                bytes[*at] = *byte;
            }
            bytes.truncate(length.max(24));
            arrive(&mut engine, address(1), &bytes);
            answers(&mut engine);
            while let Some(job) = engine.poll_job() {
                let decoded = job.run(&crate::codec::Codes::new(4));
                engine.on_decoded(NOW, &decoded);
            }
        }
    }
}
