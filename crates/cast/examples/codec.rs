//! Measures the CPU time of the codec, compared with the crate `raptorq`, for docs/performance.md:
//!
//! ```sh
//! cargo run --release -p tailcut-cast --example codec
//! ```
//!
//! The example measures the CPU time of its thread. In each round, all methods take turns.
//! The output shows the medians over all rounds.
//! The default sizes are symbols of 1,440 bytes, and 10, 101, 256 and 1,002 source symbols.
//! The arguments `-- SYMBOL K...` select other sizes: the bytes of a symbol, and numbers of source symbols.

use raptorq::{EncodingPacket, ObjectTransmissionInformation, PayloadId};
use raptorq::{SourceBlockDecoder, SourceBlockEncoder};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::sync::Arc;
use tailcut_cast::codec::{Code, Encoder, Kernel, Present, Recovery};
use tailcut_units::{median, mix64};

/// Number of rounds. Each result is the median over all rounds.
const ROUNDS: usize = 15;

/// Shortest CPU time for which a method runs in each round, in seconds.
const LONG_ENOUGH: f64 = 2e-3;

/// Total size of the blocks in memory, in bytes. It is larger than the processor's caches.
/// So the next block is not in a cache.
const COLD: usize = 16 << 20;

fn main() {
    let sizes: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|a| a.parse().ok())
        .collect();
    let symbol = sizes.first().copied().unwrap_or(1_440);
    let ks = match sizes.get(1..) {
        Some(ks) if !ks.is_empty() => ks.to_vec(),
        _ => vec![10, 101, 256, 1_002],
    };
    println!("microseconds of CPU time; in brackets: the crate's time divided by this time\n");
    for k in ks {
        decoding(k, symbol, 1);
        decoding(k, symbol, COLD / (k * symbol) + 1);
        repairing(k, symbol);
    }
}

/// Method that is measured, with its times.
struct Way<'a> {
    name: String,
    run: Box<dyn FnMut() + 'a>,
    times: Vec<f64>,
}

impl<'a> Way<'a> {
    fn new(name: impl Into<String>, run: impl FnMut() + 'a) -> Self {
        Self {
            name: name.into(),
            run: Box::new(run),
            times: Vec::new(),
        }
    }

    fn round(&mut self) {
        let (mut runs, start) = (0, cpu_seconds());
        loop {
            (self.run)();
            runs += 1;
            let taken = cpu_seconds() - start;
            if taken > LONG_ENOUGH {
                self.times.push(taken / f64::from(runs));
                return;
            }
        }
    }

    fn median(&mut self) -> f64 {
        median(&mut self.times).unwrap_or(f64::NAN) * 1e6
    }
}

fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Measures all methods in turn and prints a line. The other methods are compared with the first method.
fn compare(what: &str, mut ways: Vec<Way>) {
    for _ in 0..ROUNDS {
        ways.iter_mut().for_each(Way::round);
    }
    let medians: Vec<_> = ways.iter_mut().map(Way::median).collect();
    print!("{what:28}");
    for (i, (way, median)) in ways.iter().zip(&medians).enumerate() {
        print!("  {} {median:.2}", way.name);
        if i > 0 {
            print!(" ({:.1})", medians[0] / median);
        }
    }
    println!();
}

fn bytes(seed: u64, length: usize) -> Vec<u8> {
    (0..length as u64)
        .map(|i| mix64(seed ^ mix64(i)) as u8)
        .collect()
}

fn transmission(symbol: usize) -> ObjectTransmissionInformation {
    ObjectTransmissionInformation::new(0, symbol as u16, 1, 1, 1)
}

/// Measures the time to recover a block.
/// One symbol, 4 symbols, 10 %, 25 % or all of its source symbols are missing, evenly spread.
/// There is one more repair symbol than missing symbols.
fn decoding(k: usize, symbol: usize, blocks: usize) {
    println!("K = {k}, T = {symbol}: one of {blocks} blocks in turn");
    let block = bytes(k as u64, k * symbol);
    let encoder = SourceBlockEncoder::new(0, &transmission(symbol), &block);
    let losses = [
        ("1 lost", 1),
        ("4 lost", 4),
        ("10 % lost", k / 10),
        ("25 % lost", k / 4),
    ];
    for (what, lost) in losses.into_iter().chain([("all lost", k)]) {
        let repair = encoder.repair_packets(0, lost as u32 + 1);
        let mut present = Present::new(k as u32);
        let missing: Vec<_> = (0..lost).map(|i| (i * k / lost) as u32).collect();
        for esi in (0..k as u32).filter(|esi| !missing.contains(esi)) {
            present.insert(esi);
        }
        let symbols: Vec<_> = (0..)
            .zip(block.chunks(symbol))
            .filter(|(esi, _)| present.contains(*esi))
            .map(|(esi, bytes)| EncodingPacket::new(PayloadId::new(0, esi), bytes.to_vec()))
            .chain(repair.iter().cloned())
            .collect();
        let mut ways = vec![by_crate(&symbols, k * symbol, symbol)];
        for kernel in Kernel::available() {
            let code = Code::with_kernel(k as u32, kernel).expect("K fits");
            let repair: Vec<_> = repair
                .iter()
                .map(|packet| (packet.payload_id().encoding_symbol_id(), packet.data()))
                .collect();
            let mut damaged = vec![block.clone(); blocks];
            for esi in &missing {
                for block in &mut damaged {
                    block[*esi as usize * symbol..][..symbol].fill(0);
                }
            }
            let (present, block, mut turn) = (&present, &block, 0);
            ways.push(Way::new(kernel.name(), move || {
                let damaged = &mut damaged[turn % blocks];
                let recovery = code.recover(damaged, symbol, present, &repair);
                assert_eq!(recovery, Ok(Recovery::Whole));
                if turn == 0 {
                    assert_eq!(damaged, block);
                }
                turn += 1;
            }));
        }
        compare(&format!("  {what} ({lost})"), ways);
    }
}

/// Measures the decoder of the crate `raptorq`. The decoder needs its own copy of the symbols.
/// The result does not include the time for this copy.
fn by_crate(symbols: &[EncodingPacket], length: usize, symbol: usize) -> Way<'_> {
    let mut way = Way::new("crate", || {});
    let mut rounds = Vec::new();
    // All rounds are measured in this loop. So the closure above does nothing.
    for _ in 0..ROUNDS {
        let runs = 4;
        let mut prepared: Vec<_> = (0..runs).map(|_| symbols.to_vec()).collect();
        let start = cpu_seconds();
        for symbols in prepared.drain(..) {
            let mut decoder = SourceBlockDecoder::new(0, &transmission(symbol), length as u64);
            assert!(black_box(decoder.decode(symbols)).is_some());
        }
        rounds.push((cpu_seconds() - start) / f64::from(runs));
    }
    way.times = rounds;
    way
}

/// Measures the time to create 1, 8, 64 or 256 repair symbols of a block.
fn repairing(k: usize, symbol: usize) {
    println!("K = {k}, T = {symbol}: repair symbols of one block, all of them together");
    let block = bytes(k as u64, k * symbol);
    for wanted in [1, 8, 64, 256] {
        let block = &block;
        let mut ways = vec![Way::new("crate", move || {
            let encoder = SourceBlockEncoder::new(0, &transmission(symbol), block);
            black_box(encoder.repair_packets(0, wanted));
        })];
        for kernel in Kernel::available() {
            let code = Arc::new(Code::with_kernel(k as u32, kernel).expect("K fits"));
            let mut bytes = vec![0; symbol * wanted as usize];
            ways.push(Way::new(kernel.name(), move || {
                let mut encoder = Encoder::new(Arc::clone(&code), symbol).expect("T fits");
                for (i, bytes) in (0..).zip(bytes.chunks_mut(8 * symbol)) {
                    let esis = k as u32 + 8 * i..;
                    let mut repair: Vec<_> = esis.zip(bytes.chunks_mut(symbol)).collect();
                    encoder.repair(block, &mut repair).expect("all fits");
                }
                black_box(&mut bytes);
            }));
        }
        compare(&format!("  {wanted} wanted"), ways);
    }
}
