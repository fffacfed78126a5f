//! Tests of encrypted packets, of the key file, and of proofs of the key.

use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use tailcut_cast::seal::{
    Cipher, Direction, GENERATION, Key, KeyError, Opener, Origin, Refusal, Sealer, expand, load,
    save,
};

const SENDER: Origin = Origin {
    session: 0x0123_4567_89ab_cdef,
    share: 7,
    direction: Direction::Forward,
    salt: [9; 16],
};

fn key(cipher: Cipher) -> Key {
    Key::new(cipher, core::array::from_fn(|i| i as u8))
}

fn pair(cipher: Cipher) -> (Sealer, Opener) {
    (key(cipher).sealer(&SENDER), key(cipher).opener(&SENDER))
}

#[test]
fn a_packet_is_read_with_the_key_once() {
    for cipher in Cipher::ALL {
        let (mut sealer, mut opener) = pair(cipher);
        for number in [0, 1, 5, 3, 4_000, 2] {
            // The packets were encrypted in order, but they arrive in another order.
            let (mut sealer, plain) = (pair(cipher).0, [number as u8; 1_424]);
            let mut bytes = plain;
            let tag = sealer
                .seal(number, b"header", &mut bytes)
                .expect("a new number");
            assert_ne!(bytes, plain);
            let sealed = bytes;
            assert_eq!(opener.open(number, b"header", &mut bytes, &tag), Ok(()));
            assert_eq!(bytes, plain);
            let mut again = sealed;
            let refusal = opener.open(number, b"header", &mut again, &tag);
            assert_eq!(refusal, Err(Refusal::Replayed));
        }
        assert_eq!(opener.forged(), 0);
        let tag = sealer.seal(9_000, b"", &mut []).expect("a new number");
        assert_eq!(opener.open(9_000, b"", &mut [], &tag), Ok(()));
        let (mut sealer, mut old) = (pair(cipher).0, [1]);
        let tag = sealer.seal(700, b"", &mut old).expect("a new number");
        let refusal = opener.open(700, b"", &mut old, &tag);
        assert_eq!(refusal, Err(Refusal::Replayed), "too old to know");
    }
}

#[test]
fn a_number_is_sealed_once() {
    let (mut sealer, _) = pair(Cipher::Aes128Gcm);
    assert!(sealer.seal(4, b"", &mut [0]).is_ok());
    assert_eq!(sealer.seal(4, b"", &mut [0]), Err(5));
    assert_eq!(sealer.seal(3, b"", &mut [0]), Err(5));
    assert!(sealer.seal(5, b"", &mut [0]).is_ok());
}

#[test]
fn each_origin_has_keys_of_its_own() {
    let others = [
        Origin {
            session: 1,
            ..SENDER
        },
        Origin { share: 8, ..SENDER },
        Origin {
            direction: Direction::Backward,
            ..SENDER
        },
        Origin {
            salt: [8; 16],
            ..SENDER
        },
    ];
    let key = key(Cipher::Aes128Gcm);
    let mut bytes = *b"symbols";
    let tag = key
        .sealer(&SENDER)
        .seal(0, b"", &mut bytes)
        .expect("a new number");
    for other in others {
        let mut copy = bytes;
        let opened = key.opener(&other).open(0, b"", &mut copy, &tag);
        assert_eq!(opened, Err(Refusal::Forged), "{other:?}");
    }
    let another = Key::new(Cipher::ChaCha20Poly1305, [0; 32]);
    assert_eq!(
        another.opener(&SENDER).open(0, b"", &mut bytes, &tag),
        Err(Refusal::Forged)
    );
    let [a, b] = [(); 2].map(|()| Origin::new(1, 0, Direction::Forward).expect("randomness"));
    assert_ne!(a.salt, b.salt);
}

#[test]
fn keys_change_on_the_way_and_packets_of_the_last_one_still_count() {
    for cipher in Cipher::ALL {
        let (mut sealer, mut opener) = pair(cipher);
        let numbers = [
            0,
            GENERATION - 2,
            GENERATION - 1,
            GENERATION,
            GENERATION + 1,
        ];
        let sealed = numbers.map(|number| {
            let mut bytes = [1, 2, 3];
            let tag = sealer.seal(number, b"h", &mut bytes).expect("a new number");
            (number, bytes, tag)
        });
        assert_ne!(sealed[2].1, sealed[3].1);
        for (number, mut bytes, tag) in [0, 1, 3, 2, 4].map(|i| sealed[i]) {
            assert_eq!(
                opener.open(number, b"h", &mut bytes, &tag),
                Ok(()),
                "{number}"
            );
            assert_eq!(bytes, [1, 2, 3]);
        }
        // A forged packet that claims to have the next key is decrypted with this key.
        // But it must not make this key the current one.
        for (number, refusal) in [
            (2 * GENERATION, Refusal::Forged),
            (3 * GENERATION, Refusal::Ahead),
            (u64::MAX, Refusal::Ahead),
        ] {
            let opened = opener.open(number, b"h", &mut [0; 3], &[0; 16]);
            assert_eq!(opened, Err(refusal));
        }
        let (mut bytes, number) = ([1, 2, 3], GENERATION + 2);
        let tag = sealer.seal(number, b"h", &mut bytes).expect("a new number");
        assert_eq!(opener.open(number, b"h", &mut bytes, &tag), Ok(()));
        assert_eq!(opener.forged(), 1);
    }
}

/// Different versions of the program may communicate. So the derivation of keys must not change.
/// The expected bytes come from other implementations: Python's `hmac` and `hashlib`, and the package `cryptography`.
#[test]
fn the_derivation_is_as_it_was() {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let expected = [
        (
            "becb4dab54cd019717a412d81f3ddd530b28064680c70d",
            "4939c630c57f38558ac0831bc532e4158f7b05641a8ce05828d79369c88fd40b",
            "b381fc52034a60b5",
        ),
        (
            "b7597a3e835e71f50a101e6ba164a653f161bff30bec07",
            "56d96e5a4e2776a85c84dda21ccf1f0a4dc32cbea96ef210970e93d199ef1d2b",
            "31e9f46c1131c11b",
        ),
    ];
    for (cipher, (packet, proof, fingerprint)) in Cipher::ALL.into_iter().zip(expected) {
        let (mut sealer, mut bytes) = (pair(cipher).0, *b"payload");
        let tag = sealer
            .seal(GENERATION + 1, b"header", &mut bytes)
            .expect("a new number");
        assert_eq!(hex(&bytes) + &hex(&tag), packet);
        assert_eq!(hex(&key(cipher).proof(&SENDER, &[3; 16])), proof);
        assert_eq!(key(cipher).fingerprint(), fingerprint);
        let check = if cipher == Cipher::Aes128Gcm {
            "fa4b8973"
        } else {
            "5562e032"
        };
        let name = cipher.name();
        let secret = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
        let line = format!("tailcut-cast-key-1 {name} {secret} {check}");
        assert_eq!(key(cipher).to_line(), line);
    }
}

#[test]
fn a_proof_answers_one_challenge_of_one_session() {
    let key = key(Cipher::Aes128Gcm);
    let proof = key.proof(&SENDER, &[1; 16]);
    assert!(key.proves(&SENDER, &[1; 16], &proof));
    assert!(!key.proves(&SENDER, &[2; 16], &proof));
    assert!(!key.proves(
        &Origin {
            session: 0,
            ..SENDER
        },
        &[1; 16],
        &proof
    ));
    assert!(!key.proves(&SENDER, &[1; 16], &proof[..31]));
    assert!(!key.proves(&SENDER, &[1; 16], &[]));
    let other = Key::new(Cipher::Aes128Gcm, [0; 32]);
    assert!(!other.proves(&SENDER, &[1; 16], &proof));
}

#[test]
fn a_key_is_a_line_that_is_checked() {
    for cipher in Cipher::ALL {
        let key = Key::generate(cipher).expect("randomness");
        let line = key.to_line();
        for end in ["", "\n", "\r\n"] {
            let read: Key = format!("{line}{end}").parse().expect("the line of a key");
            assert_eq!(read.to_line(), line);
            assert_eq!(read.cipher(), cipher);
        }
        for at in 0..line.len() {
            for other in ["0", "f", " ", "A", "", "é"] {
                let mut wrong = line.clone();
                wrong.replace_range(at..=at, other);
                if wrong != line {
                    assert!(wrong.parse::<Key>().is_err(), "{wrong}");
                }
            }
        }
        assert!(
            !format!("{key:?}").contains(&line[30..60]),
            "no secret in a log"
        );
    }
    let error = |line: &str| line.parse::<Key>().expect_err("no key");
    assert_eq!(error(""), KeyError::Words { found: 1 });
    assert_eq!(error("a b c d\ne"), KeyError::Name);
    assert_eq!(error("tailcut-cast-key-1 des a b"), KeyError::Cipher);
    let short = error("tailcut-cast-key-1 aes-128-gcm abc d");
    assert_eq!(short, KeyError::Secret { found: 3 });
    assert!(
        short.to_string().contains("64 hexadecimal digits"),
        "{short}"
    );
}

#[test]
fn the_file_of_a_key_is_its_owners_and_never_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("key");
    let key = Key::generate(Cipher::default()).expect("randomness");
    save(&path, &key).expect("a new file");
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(load(&path).expect("a key").to_line(), key.to_line());
    let error = save(&path, &key).expect_err("it is there already");
    assert!(error.to_string().contains("exists"), "{error}");

    let says = |bytes: &[u8], mode, words: &str| {
        fs::write(&path, bytes).expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("ours");
        let error = load(&path).expect_err("no good").to_string();
        assert!(error.contains(words) && error.contains("key"), "{error}");
        assert!(
            !error.contains('\n') && !error.contains("secret words"),
            "{error}"
        );
    };
    let line = key.to_line();
    says(line.as_bytes(), 0o640, "its mode is 640");
    says(line.as_bytes(), 0o604, "chmod 600");
    says(&[b'a'; 300], 0o600, "at most 256 bytes");
    says(b"\xff\xfe", 0o600, "one line of text");
    says(b"secret words", 0o600, "this has 2");
    let nowhere = load(&folder.path().join("none")).expect_err("no file");
    assert!(
        nowhere.to_string().contains("none: No such file"),
        "{nowhere}"
    );
}

proptest! {
    /// A packet that was changed on the path is refused. The packets after it are accepted.
    #[test]
    fn a_changed_packet_is_refused(
        header in proptest::collection::vec(any::<u8>(), 1..40),
        plain in proptest::collection::vec(any::<u8>(), 1..200),
        number in 0_u64..1 << 40,
        bit in any::<prop::sample::Index>(),
        chacha in any::<bool>(),
    ) {
        let (mut sealer, _) = pair(Cipher::ALL[usize::from(chacha)]);
        let mut opener = key(Cipher::ALL[usize::from(chacha)]).opener(&SENDER);
        let number = number % (2 * GENERATION);
        let mut sealed = plain.clone();
        let tag = sealer.seal(number, &header, &mut sealed).expect("a new number");
        let mut all = [&header[..], &sealed, &tag, &number.to_be_bytes()].concat();
        let bit = bit.index(8 * all.len());
        all[bit / 8] ^= 1 << (bit % 8);
        let (changed_header, rest) = all.split_at(header.len());
        let (payload, rest) = rest.split_at(sealed.len());
        let (changed_tag, changed_number) = rest.split_at(16);
        let changed_number = u64::from_be_bytes(changed_number.try_into().expect("8 bytes"));
        let opened = opener.open(
            changed_number,
            changed_header,
            &mut payload.to_vec(),
            changed_tag.try_into().expect("16 bytes"),
        );
        prop_assert!(matches!(opened, Err(Refusal::Forged | Refusal::Ahead)), "{:?}", opened);
        prop_assert_eq!(opener.open(number, &header, &mut sealed, &tag), Ok(()));
        prop_assert_eq!(sealed, plain);
    }

    /// The full packet number is right if it differs from the expected number by less than 2^31.
    #[test]
    fn a_packet_number_is_known_by_its_lower_half(
        largest in any::<u64>(),
        ahead in -(1_i64 << 31) + 1..1 << 31,
    ) {
        let number = largest.saturating_add(1).saturating_add_signed(ahead);
        prop_assert_eq!(expand(Some(largest), number as u32), number);
    }

    #[test]
    fn any_text_is_a_key_or_an_error_of_one_line(text in "\\PC{0,120}|tailcut-cast-key-1 aes-128-gcm [0-9a-f]{62,66} [0-9a-f]{8}") {
        if let Err(error) = text.parse::<Key>() {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}

#[test]
fn the_first_packet_numbers_are_small() {
    assert_eq!(expand(None, 5), 5);
    assert_eq!(
        expand(Some(0), u32::MAX),
        u64::from(u32::MAX),
        "no packet number is below 0"
    );
    assert_eq!(expand(Some(u64::from(u32::MAX)), 3), (1 << 32) + 3);
}
