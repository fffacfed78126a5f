//! Erasure code for tests with real bytes.
//! Any K symbols of a block are enough to decode the block. RaptorQ does not guarantee this.
//! The symbols of a block are values of one polynomial over GF(2^16).

use std::collections::BTreeMap;
use std::sync::LazyLock;
use tailcut_transport::scdp::Object;

/// The polynomial x^16 + x^12 + x^3 + x + 1. Its root x is a primitive element of GF(2^16).
const POLYNOMIAL: u32 = 0x1_100b;
const ORDER: usize = 0xffff;

/// Powers of x, twice in a row, and logarithms to the base x.
static TABLES: LazyLock<(Vec<u16>, Vec<u16>)> = LazyLock::new(|| {
    let (mut powers, mut logarithms) = (vec![0; 2 * ORDER], vec![0; ORDER + 1]);
    let mut power = 1u32;
    for exponent in 0..ORDER {
        powers[exponent] = power as u16;
        powers[exponent + ORDER] = power as u16;
        logarithms[power as usize] = exponent as u16;
        power <<= 1;
        if power > 0xffff {
            power ^= POLYNOMIAL;
        }
    }
    (powers, logarithms)
});

fn times(a: u16, b: u16) -> u16 {
    let (powers, logarithms) = &*TABLES;
    match (a, b) {
        (0, _) | (_, 0) => 0,
        _ => {
            powers
                [usize::from(logarithms[usize::from(a)]) + usize::from(logarithms[usize::from(b)])]
        }
    }
}

fn over(a: u16, b: u16) -> u16 {
    let (powers, logarithms) = &*TABLES;
    let inverse = powers[ORDER - usize::from(logarithms[usize::from(b)])];
    times(a, inverse)
}

/// Returns symbol `at` of a block. `known` contains any K symbols of the block, all with the same length.
fn symbol_at(at: u32, known: &BTreeMap<u32, Vec<u8>>) -> Vec<u8> {
    let length = known.values().map(Vec::len).max().unwrap_or(0);
    let mut words = vec![0u16; length.div_ceil(2)];
    for (&place, bytes) in known {
        let others = known.keys().filter(|other| **other != place);
        let weight = others.fold(1, |weight, &other| {
            over(times(weight, (at ^ other) as u16), (place ^ other) as u16)
        });
        for (word, pair) in words.iter_mut().zip(bytes.chunks(2)) {
            let low = pair.get(1).copied().unwrap_or(0);
            *word ^= times(weight, u16::from_be_bytes([pair[0], low]));
        }
    }
    let mut bytes: Vec<u8> = words.into_iter().flat_map(u16::to_be_bytes).collect();
    bytes.truncate(length);
    bytes
}

/// Returns a source symbol of a block. The symbol is padded with zeros to the same even size as all other symbols.
fn source(object: &Object, block: u32, esi: u32, bytes: &[u8]) -> Vec<u8> {
    let size = object.symbol() as usize;
    let from = (object.first_index(block) as usize + esi as usize) * size;
    let to = from + object.payload(block, esi) as usize;
    let mut symbol = bytes[from..to].to_vec();
    symbol.resize(size.next_multiple_of(2), 0);
    symbol
}

/// Returns the payload of symbol `esi` of a block. `bytes` must contain all bytes of this block.
pub fn payload(object: &Object, block: u32, esi: u32, bytes: &[u8]) -> Vec<u8> {
    let count = object.source_symbols(block);
    let mut symbol = match esi < count {
        true => source(object, block, esi, bytes),
        false => {
            let all = (0..count).map(|esi| (esi, source(object, block, esi, bytes)));
            symbol_at(esi, &all.collect())
        }
    };
    symbol.truncate(object.payload(block, esi) as usize);
    symbol
}

/// Returns the bytes of a block, decoded from the symbols in `arrived`.
pub fn decoded(object: &Object, block: u32, arrived: &BTreeMap<u32, Vec<u8>>) -> Vec<u8> {
    let count = object.source_symbols(block);
    assert!(arrived.len() >= count as usize, "too few symbols");
    let full = (object.symbol() as usize).next_multiple_of(2);
    let known = arrived.iter().take(count as usize).map(|(esi, bytes)| {
        let mut symbol = bytes.clone();
        symbol.resize(full, 0);
        (*esi, symbol)
    });
    let known: BTreeMap<u32, Vec<u8>> = known.collect();
    let symbols = (0..count).flat_map(|esi| {
        let mut symbol = match known.get(&esi) {
            Some(symbol) => symbol.clone(),
            None => symbol_at(esi, &known),
        };
        symbol.truncate(object.payload(block, esi) as usize);
        symbol
    });
    symbols.collect()
}
