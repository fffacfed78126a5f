//! Tests of the RepNet hello with the vectors that the npm package also uses.

use proptest::prelude::*;
use serde_json::Value;
use tailcut_transport::repnet::{
    Banner, FlowKey, InstanceId, Leg, Mode, Preamble, Purpose, Rejoin, Status,
};
use tailcut_wire::repnet::{
    HELLO_BYTES, MAX_PREAMBLE_BYTES, Rejection, decode_banner, decode_preamble, encode_banner,
    encode_preamble, preamble_length, unsupported,
};

const VECTORS: &str = include_str!("../../../packages/repnet/spec/wire-vectors.json");

fn vectors(hello: &str, kind: &str) -> Vec<Value> {
    let all: Value = serde_json::from_str(VECTORS).expect("the vectors are JSON");
    let list = all[hello][kind].as_array().expect("a list of vectors");
    assert!(!list.is_empty(), "{hello} {kind}");
    list.clone()
}

fn text<'v>(vector: &'v Value, name: &str) -> &'v str {
    vector[name].as_str().unwrap_or_else(|| panic!("{name}"))
}

fn bytes(vector: &Value) -> Vec<u8> {
    let digits = text(vector, "bytes");
    let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal");
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn number(fields: &Value, name: &str) -> u64 {
    fields[name].as_u64().unwrap_or_else(|| panic!("{name}"))
}

fn id(fields: &Value, name: &str) -> u128 {
    u128::from_str_radix(text(fields, name), 16).expect("hexadecimal")
}

fn leg(fields: &Value) -> Leg {
    Leg::ALL[number(fields, "leg") as usize]
}

fn preamble(fields: &Value) -> Preamble {
    let rejoin = &fields["rejoin"];
    let purpose = match (
        fields["probe"] == true,
        rejoin.is_object(),
        text(fields, "mode"),
    ) {
        (true, ..) => Purpose::Probe,
        (_, true, _) => Purpose::Rejoin(Rejoin {
            message: number(rejoin, "message"),
            sent: number(rejoin, "sent"),
            received: number(rejoin, "received"),
        }),
        (_, _, "repsyn") => Purpose::Open(Mode::RepSyn),
        (_, _, mode) => {
            assert_eq!(mode, "repflow");
            Purpose::Open(Mode::RepFlow)
        }
    };
    Preamble {
        purpose,
        leg: leg(fields),
        flow: FlowKey(id(fields, "flowId")),
    }
}

fn banner(fields: &Value) -> Banner {
    let status = match text(fields, "status") {
        "opened" => Status::Opened,
        "joined" => Status::Joined,
        "probed" => Status::Probed,
        "unsupported" => Status::Unsupported,
        "busy" => Status::Busy,
        other => panic!("unknown status {other}"),
    };
    Banner {
        status,
        leg: leg(fields),
        check: id(fields, "flowCheck") as u32,
        instance: InstanceId(id(fields, "instanceId")),
    }
}

#[test]
fn valid_preambles_are_read_and_written_as_the_same_bytes() {
    for vector in vectors("preamble", "valid") {
        let (bytes, expected) = (bytes(&vector), preamble(&vector["fields"]));
        let name = text(&vector, "name");
        assert_eq!(
            decode_preamble(&bytes),
            Ok((expected, bytes.len())),
            "{name}"
        );
        let length = preamble_length(&expected);
        assert_eq!(encode_preamble(&expected)[..length], bytes, "{name}");
    }
}

#[test]
fn valid_banners_are_read_and_written_as_the_same_bytes() {
    for vector in vectors("banner", "valid") {
        let (bytes, expected) = (bytes(&vector), banner(&vector["fields"]));
        assert_eq!(decode_banner(&bytes), Ok(expected), "{vector}");
        assert_eq!(encode_banner(&expected)[..], bytes, "{vector}");
    }
}

#[test]
fn what_is_wrong_or_not_whole_is_named_by_its_first_field() {
    for kind in ["invalid", "prefix"] {
        for vector in vectors("preamble", kind) {
            let found = decode_preamble(&bytes(&vector)).expect_err("no preamble");
            assert_eq!(found.name(), text(&vector, "reason"), "{vector}");
        }
        for vector in vectors("banner", kind) {
            let found = decode_banner(&bytes(&vector)).expect_err("no banner");
            assert_eq!(found.name(), text(&vector, "reason"), "{vector}");
        }
    }
}

#[test]
fn a_preamble_of_another_version_is_answered_with_its_leg_and_flow() {
    let sent = Preamble {
        purpose: Purpose::Open(Mode::RepFlow),
        leg: Leg::Second,
        flow: FlowKey(0x0011_2233 << 96 | 7),
    };
    let mut preamble = [0; HELLO_BYTES];
    preamble.copy_from_slice(&encode_preamble(&sent)[..HELLO_BYTES]);
    preamble[8] = 2;
    let answer = decode_banner(&unsupported(&preamble, InstanceId(9))).expect("a banner");
    assert_eq!(
        (answer.status, answer.leg, answer.check),
        (Status::Unsupported, Leg::Second, 0x0011_2233)
    );
    preamble[10] = 77;
    let answer = decode_banner(&unsupported(&preamble, InstanceId(9))).expect("a banner");
    assert_eq!(answer.leg, Leg::First);
}

/// Generates bytes, many of which start like a hello.
fn nearly_a_hello() -> impl Strategy<Value = Vec<u8>> {
    let magic = prop_oneof![
        Just(b"\xd7REPNE\r\n\x01".to_vec()),
        Just(b"\xe9banne\r\n\x01".to_vec()),
        Just(Vec::new()),
    ];
    let small = proptest::collection::vec(prop_oneof![0_u8..6, any::<u8>()], 0..70);
    (magic, small).prop_map(|(magic, rest)| [magic, rest].concat())
}

proptest! {
    #[test]
    fn any_bytes_are_a_hello_or_refused_and_a_hello_is_written_as_it_was_read(
        bytes in nearly_a_hello(),
    ) {
        if let Ok((preamble, length)) = decode_preamble(&bytes) {
            prop_assert!(length <= MAX_PREAMBLE_BYTES && length <= bytes.len());
            prop_assert_eq!(&encode_preamble(&preamble)[..length], &bytes[..length]);
        }
        if let Ok(banner) = decode_banner(&bytes) {
            prop_assert_eq!(&encode_banner(&banner)[..], &bytes[..HELLO_BYTES]);
        }
    }

    #[test]
    fn what_is_refused_stays_refused_and_what_is_incomplete_is_short(bytes in nearly_a_hello()) {
        let mut verdict = Rejection::Incomplete;
        for length in 0..=bytes.len() {
            let found = decode_preamble(&bytes[..length]).err();
            if verdict != Rejection::Incomplete {
                prop_assert_eq!(found, Some(verdict));
            }
            prop_assert!(found != Some(Rejection::Incomplete) || length < MAX_PREAMBLE_BYTES);
            verdict = found.unwrap_or(verdict);
        }
        let banner = decode_banner(&bytes);
        prop_assert!(banner != Err(Rejection::Incomplete) || bytes.len() < HELLO_BYTES);
    }
}
