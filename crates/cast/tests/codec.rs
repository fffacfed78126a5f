//! Tests that compare the codec with the crate `raptorq`, which computes the same results in another way.

use proptest::prelude::*;
use raptorq::{EncodingPacket, PayloadId};
use raptorq::{ObjectTransmissionInformation, SourceBlockDecoder, SourceBlockEncoder};
use std::sync::Arc;
use tailcut_cast::codec::{Code, CodecError, Codes, Encoder, Kernel, Present, Recovery};
use tailcut_units::mix64;

/// Pseudo-random numbers that depend only on the seed.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        mix64(self.0)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

/// Block in the format of the crate `raptorq`. The last symbol is padded.
struct Crate {
    transmission: ObjectTransmissionInformation,
    padded: Vec<u8>,
    encoder: SourceBlockEncoder,
}

impl Crate {
    fn new(block: &[u8], k: usize, symbol: usize) -> Self {
        let transmission = ObjectTransmissionInformation::new(0, symbol as u16, 1, 1, 1);
        let mut padded = block.to_vec();
        padded.resize(k * symbol, 0);
        Self {
            encoder: SourceBlockEncoder::new(0, &transmission, &padded),
            transmission,
            padded,
        }
    }

    fn repair(&self, k: u32, esi: u32) -> Vec<u8> {
        self.encoder.repair_packets(esi - k, 1)[0].data().to_vec()
    }

    fn decodes(&self, symbols: &[(u32, Vec<u8>)]) -> bool {
        let length = self.padded.len() as u64;
        let mut decoder = SourceBlockDecoder::new(0, &self.transmission, length);
        let packets = symbols
            .iter()
            .map(|(esi, bytes)| EncodingPacket::new(PayloadId::new(0, *esi), bytes.clone()));
        match decoder.decode(packets) {
            Some(decoded) => {
                assert_eq!(decoded, self.padded);
                true
            }
            None => false,
        }
    }
}

/// Removes random source symbols of a block. Then recovers them from the same number of repair symbols, or a few more.
/// The repair symbols have random identifiers.
/// The codec and the crate `raptorq` must agree on whether the symbols are enough, and on every byte of the result.
fn lose_and_recover(code: &Code, symbol: usize, draws: &mut Draws) -> Recovery {
    let k = code.source_symbols();
    let last = 1 + draws.below(symbol);
    let block = draws.bytes((k as usize - 1) * symbol + last);
    let reference = Crate::new(&block, k as usize, symbol);

    let mut present = Present::new(k);
    let mut symbols = Vec::new();
    // The probability of a loss is random too. So some blocks lose few symbols, and others lose many.
    let chance = draws.next();
    let mut damaged = block.clone();
    for (esi, bytes) in (0..).zip(damaged.chunks_mut(symbol)) {
        if draws.next() > chance {
            present.insert(esi);
            let padded = &reference.padded[esi as usize * symbol..][..symbol];
            symbols.push((esi, padded.to_vec()));
        } else {
            bytes.copy_from_slice(&draws.bytes(bytes.len()));
        }
    }
    let more = present.missing() as usize + [0, 0, 0, 1, 2][draws.below(5)];
    // The identifiers come from a small range, a larger range, or a very large range.
    let width = [24, 200, 1 << 20][draws.below(3)];
    let mut repair: Vec<(u32, Vec<u8>)> = Vec::new();
    while repair.len() < more {
        let esi = k + draws.below(more + width) as u32;
        if repair.iter().all(|(other, _)| *other != esi) {
            repair.push((esi, reference.repair(k, esi)));
        }
    }
    symbols.extend(repair.iter().cloned());

    let before = damaged.clone();
    let views: Vec<_> = repair.iter().map(|(esi, b)| (*esi, &b[..])).collect();
    let recovery = code
        .recover(&mut damaged, symbol, &present, &views)
        .expect("all fits");
    let decodes = present.missing() == 0 || reference.decodes(&symbols);
    assert_eq!(recovery == Recovery::Whole, decodes, "K {k}, {symbols:?}");
    match recovery {
        Recovery::Whole => assert_eq!(damaged, block),
        Recovery::NeedsMore => assert_eq!(damaged, before),
    }
    recovery
}

/// Returns the number of loss patterns in a test.
/// The number is 1,000, or the value of the environment variable `TAILCUT_CODEC_PATTERNS`.
fn patterns() -> u64 {
    let asked = std::env::var("TAILCUT_CODEC_PATTERNS").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(1_000)
}

#[test]
fn whatever_is_lost_the_code_and_the_crate_agree() {
    let kernels = Kernel::available();
    let mut failed = 0;
    let patterns = patterns();
    let sizes = [
        1, 2, 3, 5, 10, 11, 12, 26, 32, 55, 64, 100, 101, 102, 140, 255, 256,
    ];
    for (i, k) in sizes.into_iter().cycle().enumerate().take(sizes.len() * 2) {
        // In half of the rounds, the sizes are random.
        let mut draws = Draws(mix64(i as u64));
        let k = if i % 2 == 0 {
            k
        } else {
            1 + draws.below(256) as u32
        };
        let code = Code::with_kernel(k, kernels[i % kernels.len()]).expect("K fits");
        for _ in 0..patterns.div_ceil(sizes.len() as u64 * 6) {
            let symbol = [1, 7, 16, 40, 64, 100, 128][draws.below(7)];
            failed += u64::from(lose_and_recover(&code, symbol, &mut draws) != Recovery::Whole);
        }
    }
    println!("{patterns} patterns, {failed} of which needed a further symbol");
    assert!(failed < patterns / 20, "{failed} of {patterns}");
}

#[test]
fn a_block_of_a_usual_packet_size_comes_back() {
    let code = Code::new(101).expect("K fits");
    for symbol in [1_404, 1_424, 8_896] {
        let mut draws = Draws(symbol as u64);
        while lose_and_recover(&code, symbol, &mut draws) != Recovery::Whole {}
    }
}

#[test]
fn blocks_too_large_for_rows_are_the_crates() {
    let code = Code::new(1_100).expect("K fits");
    let mut draws = Draws(1);
    while lose_and_recover(&code, 4, &mut draws) != Recovery::Whole {}
    let block = draws.bytes(1_100 * 4 - 3);
    let reference = Crate::new(&block, 1_100, 4);
    let mut encoder = Encoder::new(Arc::new(code), 4).expect("fits");
    let mut bytes = [0; 4];
    encoder
        .repair(&block, &mut [(1_107, &mut bytes)])
        .expect("fits");
    assert_eq!(bytes[..], reference.repair(1_100, 1_107));
}

#[test]
fn repair_symbols_are_the_crates_byte_for_byte_few_or_many() {
    for kernel in Kernel::available() {
        for (k, symbol, last) in [
            (1, 10, 3),
            (2, 1, 1),
            (10, 64, 64),
            (101, 1_424, 900),
            (256, 9, 5),
        ] {
            let mut draws = Draws(u64::from(k));
            let block = draws.bytes((k as usize - 1) * symbol + last);
            let reference = Crate::new(&block, k as usize, symbol);
            let code = Arc::new(Code::with_kernel(k, kernel).expect("K fits"));
            let mut encoder = Encoder::new(code, symbol).expect("fits");
            // The batches have 1, 2, 3, ... symbols.
            // So the encoder switches from one method to the other during this test.
            let mut esi = k;
            for batch in 1..30 {
                let esis: Vec<_> = (0..batch).map(|i| esi + i).collect();
                let mut bytes = vec![0xee; symbol * esis.len()];
                let mut repair: Vec<_> =
                    esis.iter().copied().zip(bytes.chunks_mut(symbol)).collect();
                encoder.repair(&block, &mut repair).expect("fits");
                for (esi, bytes) in repair {
                    assert_eq!(
                        bytes[..],
                        reference.repair(k, esi),
                        "{kernel:?}, {k}, {esi}"
                    );
                }
                esi += batch * (1 + draws.below(3) as u32);
            }
            let mut bytes = vec![0; symbol];
            let last_of_all = (1 << 24) - 1;
            encoder
                .repair(&block, &mut [(last_of_all, &mut bytes)])
                .expect("fits");
            assert_eq!(bytes, reference.repair(k, last_of_all));
        }
    }
}

#[test]
fn a_symbol_that_comes_twice_counts_once() {
    let code = Code::new(10).expect("K fits");
    let mut draws = Draws(3);
    let block = draws.bytes(10 * 8);
    let reference = Crate::new(&block, 10, 8);
    let mut present = Present::new(10);
    (2..10).for_each(|esi| assert!(present.insert(esi)));
    let (a, b) = (reference.repair(10, 12), reference.repair(10, 15));
    let mut damaged = block.clone();
    damaged[..16].fill(7);
    let before = damaged.clone();
    let twice = [(12, &a[..]), (12, &a[..])];
    let recovery = code.recover(&mut damaged, 8, &present, &twice);
    assert_eq!(recovery, Ok(Recovery::NeedsMore));
    assert_eq!(damaged, before);
    let enough = [(12, &a[..]), (12, &a[..]), (15, &b[..])];
    let recovery = code.recover(&mut damaged, 8, &present, &enough);
    assert_eq!(recovery, Ok(Recovery::Whole));
    assert_eq!(damaged, block);
}

#[test]
fn the_symbol_of_an_object_without_bytes_is_recovered() {
    let code = Arc::new(Code::new(1).expect("K fits"));
    let mut encoder = Encoder::new(Arc::clone(&code), 8).expect("fits");
    let mut repair = [7; 8];
    encoder
        .repair(&[], &mut [(1, &mut repair)])
        .expect("an empty block");
    assert_eq!(repair, [0; 8]);
    let lost = Present::new(1);
    let recover = |repair: &[(u32, &[u8])]| code.recover(&mut [], 8, &lost, repair);
    assert_eq!(recover(&[]), Ok(Recovery::NeedsMore));
    assert_eq!(recover(&[(1, &repair)]), Ok(Recovery::Whole));
    Code::new(2)
        .expect("K fits")
        .recover(&mut [], 8, &Present::new(2), &[])
        .expect_err("only one symbol can be empty");
}

#[test]
fn what_does_not_fit_is_an_error_that_says_what_fits() {
    for found in [0, 56_404, u32::MAX] {
        let error = Code::new(found).expect_err("no such K");
        assert_eq!(error, CodecError::SourceSymbols { found });
    }
    let code = Arc::new(Code::new(10).expect("K fits"));
    for found in [0, 65_536] {
        let error = Encoder::new(Arc::clone(&code), found).expect_err("no such T");
        assert_eq!(error, CodecError::Symbol { found });
    }
    let says = |error: CodecError, words: &str| assert_eq!(error.to_string(), words);
    let recover = |length, symbol, k, esi, bytes| {
        let (mut block, repair) = (vec![0; length], vec![0; bytes]);
        code.recover(&mut block, symbol, &Present::new(k), &[(esi, &repair)])
            .expect_err("does not fit")
    };
    says(
        recover(90, 10, 10, 10, 10),
        "a block of 90 bytes; allowed: 91 to 100",
    );
    says(
        recover(101, 10, 10, 10, 10),
        "a block of 101 bytes; allowed: 91 to 100",
    );
    says(
        recover(100, 0, 10, 10, 10),
        "a symbol of 0 bytes; allowed: 1 to 65535",
    );
    says(
        recover(100, 10, 11, 10, 10),
        "a set of 11 source symbols for a block of 10",
    );
    says(
        recover(100, 10, 10, 12, 9),
        "repair symbol 12 has 9 bytes; allowed: 10, as in its block",
    );
    for esi in [9, 1 << 24] {
        says(
            recover(100, 10, 10, esi, 10),
            &format!("symbol {esi} is not a repair symbol; allowed: 10 to 16777215"),
        );
    }
    let mut encoder = Encoder::new(code, 10).expect("fits");
    let (mut good, mut bad) = ([7; 10], [7; 11]);
    let mut repair = [(10, &mut good[..]), (11, &mut bad[..])];
    let error = encoder
        .repair(&[0; 100], &mut repair)
        .expect_err("does not fit");
    says(
        error,
        "repair symbol 11 has 11 bytes; allowed: 10, as in its block",
    );
    assert_eq!(good, [7; 10]);
}

#[test]
fn the_codes_that_were_used_last_are_kept() {
    let codes = Codes::new(2);
    let first = codes.get(3).expect("K fits");
    codes.get(4).expect("K fits");
    assert!(Arc::ptr_eq(&first, &codes.get(3).expect("K fits")));
    codes.get(5).expect("K fits");
    assert!(
        Arc::ptr_eq(&first, &codes.get(3).expect("K fits")),
        "4 is gone"
    );
    codes.get(6).expect("K fits");
    codes.get(7).expect("K fits");
    assert!(!Arc::ptr_eq(&first, &codes.get(3).expect("K fits")));
    assert_eq!(
        codes.get(0).map(|_| ()),
        Err(CodecError::SourceSymbols { found: 0 })
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 256 }))]

    /// Every value that a peer may send gives a result or an error. No value causes a panic.
    #[test]
    fn any_claim_has_an_answer(
        k in 1_u32..40,
        symbol in 0_usize..70,
        length in 0_usize..2_800,
        there in proptest::collection::vec(any::<u32>(), 0..40),
        near in proptest::collection::vec((0_u32..64, 0_usize..70), 0..40),
        far in any::<u32>(),
    ) {
        let code = Code::new(k).expect("K fits");
        let mut present = Present::new(k);
        for esi in there {
            present.insert(esi % (2 * k));
        }
        let buffer = [0; 70];
        let exact = far.is_multiple_of(2);
        let length = if exact { (k as usize * symbol).saturating_sub(length % symbol.max(1)) } else { length };
        let mut repair: Vec<_> = near
            .iter()
            .map(|&(esi, bytes)| (if exact { k + esi } else { esi }, &buffer[..if exact { symbol } else { bytes }]))
            .collect();
        if far.is_multiple_of(3) {
            repair.push((far, &buffer));
        }
        let _ = code.recover(&mut vec![0; length], symbol, &present, &repair).map(|recovery| recovery == Recovery::Whole);
    }
}
