//! Tests that encoding and decoding preserve every header, and that decoding never panics.

#[path = "common/headers.rs"]
mod headers;

use proptest::prelude::*;
use std::fmt::Debug;
use tailcut_transport::{Condition, Ecn, Segment};
use tailcut_wire::scdp::paper;
use tailcut_wire::{
    DecodeError, EncodeError, MAX_HEADER_BYTES, Packet, decode, encode, ndp, pfabric, rans,
    set_condition,
};

fn same_again<T: PartialEq + Debug>(
    value: &T,
    encode: impl Fn(&T, &mut [u8]) -> Result<usize, EncodeError>,
    decode: impl Fn(&[u8]) -> Result<(T, usize), DecodeError>,
) {
    let mut buffer = [0xaa; 128];
    let length = encode(value, &mut buffer).expect("room for a header");
    let (read, taken) = decode(&buffer[..length]).expect("what was written");
    assert_eq!((&read, taken), (value, length));
    assert!(buffer[length..].iter().all(|byte| *byte == 0xaa));
}

/// Checks that no other bytes encode the same values: encoding the decoded values must give `bytes`.
fn same_bytes_again<T>(
    bytes: &[u8],
    encode: impl Fn(&T, &mut [u8]) -> Result<usize, EncodeError>,
    decode: impl Fn(&[u8]) -> Result<(T, usize), DecodeError>,
) {
    match decode(bytes) {
        Ok((header, length)) => {
            let mut buffer = [0; 128];
            let written = encode(&header, &mut buffer).expect("a decoded header can be encoded");
            assert_eq!(buffer[..written], bytes[..length]);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Returns the bytes of a header with a few bytes changed.
fn changed(bytes: Vec<u8>, changes: &[(prop::sample::Index, u8)]) -> Vec<u8> {
    let mut bytes = bytes;
    for (at, value) in changes {
        let at = at.index(bytes.len());
        bytes[at] = *value;
    }
    bytes
}

fn bytes_of(segment: &Segment) -> Vec<u8> {
    let mut bytes = vec![0; MAX_HEADER_BYTES];
    let length = encode(segment, &mut bytes).expect("room for a header");
    bytes.truncate(length);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ndp_headers_survive(prefix in headers::prefix(), header in headers::ndp()) {
        same_again(&Packet { prefix, header }, ndp::encode, ndp::decode);
    }

    #[test]
    fn scdp_headers_survive(prefix in headers::prefix(), header in headers::scdp()) {
        same_again(&Packet { prefix, header }, paper::encode, paper::decode);
    }

    #[test]
    fn pfabric_headers_survive(prefix in headers::prefix(), header in headers::pfabric()) {
        same_again(&Packet { prefix, header }, pfabric::encode, pfabric::decode);
    }

    #[test]
    fn rans_messages_survive(header in headers::rans()) {
        same_again(&header, rans::encode, rans::decode);
    }

    #[test]
    fn any_bytes_are_refused_or_say_one_thing(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        magic in prop::sample::select(vec![0xe1u8, 0xe2, 0xe3, 0xe4]),
    ) {
        let mut bytes = bytes;
        if let [first, version, ..] = &mut bytes[..] {
            (*first, *version) = (magic, 1);
        }
        same_bytes_again(&bytes, ndp::encode, ndp::decode);
        same_bytes_again(&bytes, paper::encode, paper::decode);
        same_bytes_again(&bytes, pfabric::encode, pfabric::decode);
        same_bytes_again(&bytes, rans::encode, rans::decode);
    }

    #[test]
    fn a_changed_header_is_refused_or_says_one_thing(
        segment in headers::segment(),
        message in headers::rans(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let bytes = changed(bytes_of(&segment), &changes);
        same_bytes_again(&bytes, ndp::encode, ndp::decode);
        same_bytes_again(&bytes, paper::encode, paper::decode);
        same_bytes_again(&bytes, pfabric::encode, pfabric::decode);
        let mut buffer = [0; 128];
        let length = rans::encode(&message, &mut buffer).expect("room for a header");
        same_bytes_again(&changed(buffer[..length].to_vec(), &changes), rans::encode, rans::decode);
    }

    #[test]
    fn a_segment_is_its_addresses_its_ecn_field_and_its_bytes(segment in headers::segment()) {
        let mut bytes = bytes_of(&segment);
        let header = bytes.len();
        if segment.condition == Condition::Whole {
            bytes.resize(header + segment.payload as usize, 0xff);
        }
        let read = decode(segment.tuple, segment.ecn, &bytes);
        prop_assert_eq!(read, Ok((segment, header)));
    }

    #[test]
    fn a_payload_that_is_cut_in_part_is_refused(
        segment in headers::segment(),
        kept in any::<u16>(),
    ) {
        let mut whole = segment;
        whole.condition = Condition::Whole;
        prop_assume!(kept > 0 && u32::from(kept) != segment.payload);
        let mut bytes = bytes_of(&whole);
        bytes.resize(bytes.len() + usize::from(kept), 0);
        let error = decode(segment.tuple, Ecn::NotCapable, &bytes);
        let (expected, found) = (segment.payload as usize, usize::from(kept));
        prop_assert_eq!(error, Err(DecodeError::Payload { expected, found }));
    }

    #[test]
    fn a_trimmed_packet_says_what_it_lost(segment in headers::segment(), knows in any::<bool>()) {
        let mut whole = segment;
        whole.condition = Condition::Whole;
        prop_assume!(whole.payload > 0);
        let mut bytes = bytes_of(&whole);
        let header = bytes.len();
        bytes.resize(header + whole.payload as usize, 0xff);
        // A switch that knows the header records the trimming in the header. Other switches only remove the payload.
        if knows {
            prop_assert_eq!(set_condition(&mut bytes, Condition::Trimmed), Ok(header));
        }
        bytes.truncate(header);
        let trimmed = Segment { condition: Condition::Trimmed, ..whole };
        prop_assert_eq!(decode(whole.tuple, whole.ecn, &bytes), Ok((trimmed, header)));
        // A later switch may return the header to its sender.
        prop_assert_eq!(set_condition(&mut bytes, Condition::Returned), Ok(header));
        let returned = Segment { condition: Condition::Returned, ..whole };
        prop_assert_eq!(decode(whole.tuple, whole.ecn, &bytes), Ok((returned, header)));
    }
}
