//! Targets for headers and frames from the network.

use std::fmt::Debug;
use tailcut_transport::{Condition, Ecn, Segment};
use tailcut_units::FiveTuple;
use tailcut_wire::capture::{Connection, frame};
use tailcut_wire::foreign::{
    Content, IcmpKind, Ip, LONGEST_TIME_EXCEEDED, Membership, RouterAddress, Trimmable, View,
    set_dscp, set_ecn, set_ttl, shorten, time_exceeded, trim,
};
use tailcut_wire::scdp::{credit, paper};
use tailcut_wire::{
    DecodeError, EncodeError, decode, encode, ndp, pfabric, rans, repnet, set_condition,
};

/// Reads an SCDP header.
///
/// # Panics
/// If a header changes when it is written again, or if an error does not give the reason in one line.
pub fn wire_scdp(bytes: &[u8]) {
    header(bytes, paper::encode, paper::decode);
}

/// Reads a packet of SCDP in credit mode.
///
/// # Panics
/// Under the same conditions as [`wire_scdp`].
pub fn wire_cast(bytes: &[u8]) {
    match credit::decode(bytes) {
        Ok((envelope, message, length)) => {
            let mut buffer = vec![0; bytes.len().max(64)];
            let written = credit::encode(&envelope, &message, &mut buffer);
            let written = written.expect("a decoded header can be encoded");
            assert_eq!(buffer[..written], bytes[..length]);
        }
        Err(error) => one_line(&error.to_string()),
    }
}

/// Reads an NDP header.
///
/// # Panics
/// Under the same conditions as [`wire_scdp`].
pub fn wire_ndp(bytes: &[u8]) {
    header(bytes, ndp::encode, ndp::decode);
}

/// Reads a pFabric header.
///
/// # Panics
/// Under the same conditions as [`wire_scdp`].
pub fn wire_pfabric(bytes: &[u8]) {
    header(bytes, pfabric::encode, pfabric::decode);
}

/// Reads a RANS message.
///
/// # Panics
/// Under the same conditions as [`wire_scdp`].
pub fn wire_rans(bytes: &[u8]) {
    header(bytes, rans::encode, rans::decode);
}

/// Reads a preamble or a banner of RepNet.
///
/// # Panics
/// Under the same conditions as [`wire_scdp`].
pub fn wire_repnet(bytes: &[u8]) {
    match repnet::decode_preamble(bytes) {
        Ok((preamble, length)) => {
            assert_eq!(
                repnet::encode_preamble(&preamble)[..length],
                bytes[..length]
            );
        }
        Err(error) => one_line(&error.to_string()),
    }
    match repnet::decode_banner(bytes) {
        Ok(banner) => {
            let written = repnet::encode_banner(&banner);
            assert_eq!(written[..], bytes[..written.len()]);
        }
        Err(error) => one_line(&error.to_string()),
    }
}

fn header<T: PartialEq + Debug>(
    bytes: &[u8],
    encode: impl Fn(&T, &mut [u8]) -> Result<usize, EncodeError>,
    decode: impl Fn(&[u8]) -> Result<(T, usize), DecodeError>,
) {
    match decode(bytes) {
        Ok((header, length)) => {
            let mut buffer = [0; 256];
            let written = encode(&header, &mut buffer).expect("a decoded header can be encoded");
            assert_eq!(buffer[..written], bytes[..length]);
        }
        Err(error) => one_line(&error.to_string()),
    }
}

/// Reads a datagram with a header of this project, trims the datagram, and puts it into a frame.
///
/// # Panics
/// If the segment changes when it is written as bytes or in a frame.
/// If trimming changes anything except the segment's condition.
pub fn wire_segment(bytes: &[u8]) {
    let (segment, length) = match decode(FiveTuple::default(), Ecn::Capable, bytes) {
        Ok(read) => read,
        Err(error) => return one_line(&error.to_string()),
    };
    let mut trimmed = bytes.to_vec();
    assert_eq!(set_condition(&mut trimmed, Condition::Trimmed), Ok(length));
    let condition = Condition::Trimmed;
    let expected = Segment {
        condition,
        ..segment
    };
    let read = decode(segment.tuple, segment.ecn, &trimmed[..length]);
    assert_eq!(read, Ok((expected, length)));

    let mut buffer = [0; 256];
    let written = encode(&segment, &mut buffer).expect("a decoded header can be encoded");
    assert_eq!(written, length);
    let connection = Connection::drawn(&segment.tuple, 0, 1460, true);
    let Ok(captured) = frame(&segment, &connection, usize::MAX) else {
        return;
    };
    let seen = View::read(&captured.bytes).expect("an Ethernet frame");
    let Content::Udp { payload } = seen.content else {
        panic!("no datagram: {seen:?}");
    };
    let read = decode(segment.tuple, segment.ecn, payload);
    assert_eq!(read, Ok((segment, length)));
}

/// Changes an Ethernet frame in all ways in which a switch or a router changes frames.
///
/// # Panics
/// If a part changes that a switch or router must not change, or if a refused frame has changed.
pub fn wire_frame(bytes: &[u8]) {
    let seen = match View::read(bytes) {
        Ok(seen) => seen,
        Err(error) => return one_line(&error.to_string()),
    };
    assert_eq!(seen.size, bytes.len());
    if let Content::Membership(Membership::Report(records)) = seen.content {
        assert!(records.count() <= bytes.len());
    }
    let mut changed = bytes.to_vec();
    match (seen.ip, set_ecn(&mut changed, Ecn::Marked)) {
        (Some(ip), Ok(())) => {
            ip.hash();
            let ecn = Ecn::Marked;
            assert_eq!(ip_of(&changed), Some(Ip { ecn, ..ip }));
            let dscp = 46;
            assert_eq!(set_dscp(&mut changed, dscp), Ok(()));
            assert_eq!(ip_of(&changed), Some(Ip { ecn, dscp, ..ip }));
        }
        (None, Err(error)) => {
            one_line(&error.to_string());
            assert_eq!(changed, bytes);
        }
        (ip, set) => panic!("{ip:?}: {set:?}"),
    }
    route(bytes, seen.ip);
    for kept in [0, 56] {
        let mut changed = bytes.to_vec();
        match shorten(&mut changed, kept) {
            Ok(length) => {
                let seen = View::read(&changed[..length]).expect("an Ethernet frame");
                assert!(matches!(seen.content, Content::Udp { payload } if payload.len() == kept));
            }
            Err(error) => {
                one_line(&error.to_string());
                assert_eq!(changed, bytes);
            }
        }
    }
    let mut changed = bytes.to_vec();
    let trimmed = trim(&mut changed, Condition::Trimmed);
    if let (Content::Udp { payload }, Ok(length)) = (seen.content, trimmed)
        && let Some(trimmable) = Trimmable::of(payload)
    {
        let cut = payload.len() - trimmable.kept;
        assert!(cut > 0 && length <= bytes.len() - cut);
    }
    match trimmed {
        Ok(length) => {
            let seen = View::read(&changed[..length]).expect("an Ethernet frame");
            let Content::Udp { payload } = seen.content else {
                panic!("no datagram: {seen:?}");
            };
            match credit::decode(payload) {
                Ok((_, credit::Message::Symbol(symbol), kept)) => {
                    assert!(symbol.trimmed && payload.len() == kept);
                }
                // The packet is encrypted, so `decode` cannot read it without the key.
                Err(_) if payload[0] >> 4 == credit::VERSION => {
                    assert_eq!(payload.len(), credit::SYMBOL_BYTES);
                    assert_eq!(payload[1], credit::SEALED | 1);
                }
                _ => {
                    let tuple = FiveTuple::default();
                    let read = decode(tuple, Ecn::Capable, payload);
                    let (segment, _) = read.expect("a header of ours");
                    assert_eq!(segment.condition, Condition::Trimmed);
                }
            }
            // The lengths and the checksum already match the remaining bytes, so writing them again changes nothing.
            let mut again = changed[..length].to_vec();
            assert_eq!(shorten(&mut again, payload.len()), Ok(length));
            assert_eq!(again, changed[..length]);
        }
        Err(error) => {
            one_line(&error.to_string());
            assert_eq!(changed, bytes);
        }
    }
}

/// Changes a frame as a router does: it decrements the TTL, or answers that the TTL has expired.
fn route(bytes: &[u8], ip: Option<Ip>) {
    let mut changed = bytes.to_vec();
    match set_ttl(&mut changed, 1) {
        Ok(()) => assert_eq!(ip_of(&changed), ip.map(|ip| Ip { ttl: 1, ..ip })),
        Err(_) => assert_eq!(changed, bytes),
    }
    let router = RouterAddress {
        mac: [2; 6],
        ipv4: [10, 0, 255, 1].into(),
    };
    let mut told = [0; LONGEST_TIME_EXCEEDED];
    if let Some(length) = time_exceeded(bytes, router, &mut told) {
        let seen = View::read(&told[..length]).expect("an Ethernet frame");
        assert_eq!(seen.content, Content::Icmp(IcmpKind::TimeExceeded));
    }
}

fn ip_of(frame: &[u8]) -> Option<Ip> {
    View::read(frame).ok()?.ip
}

/// Checks that an error has one line.
fn one_line(error: &str) {
    assert!(!error.is_empty() && !error.contains('\n'), "{error}");
}
