//! Measures the share of blocks that cannot be decoded from K, K + 1 or K + 2 symbols, for docs/cast.md:
//!
//! ```sh
//! cargo run --release -p tailcut-cast --example codec_failures            # `-- 1000` for a short one
//! ```
//!
//! The argument is the number of blocks for each line of the output. The missing source symbols are random.
//! The repair symbols are drawn from the first 64, which a sender sends first, or from all repair symbols.

use statrs::distribution::{Beta, ContinuousCDF};
use std::process::ExitCode;
use tailcut_cast::codec::{Code, Present, Recovery};
use tailcut_units::mix64;

fn main() -> ExitCode {
    let blocks = match std::env::args().nth(1).map(|n| n.parse()) {
        None => 300_000,
        Some(Ok(blocks)) if blocks > 0 => blocks,
        Some(_) => {
            eprintln!("the argument is not a number of blocks; allowed: 1 or more");
            return ExitCode::from(2);
        }
    };
    println!(
        "| K | missing | repair symbols | received | blocks | failed | share, 95 % interval |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (k, missing) in [
        (10, 1),
        (10, 10),
        (50, 5),
        (101, 1),
        (101, 4),
        (101, 10),
        (101, 101),
        (256, 3),
        (256, 26),
    ] {
        for first in [true, false] {
            if !first || missing <= 62 {
                measure(k, missing, first, blocks);
            }
        }
    }
    ExitCode::SUCCESS
}

/// For each of `blocks` blocks, removes `missing` random symbols of the `k` source symbols.
/// Prints the share of blocks that cannot be decoded from `missing`, `missing + 1` and `missing + 2` repair symbols.
/// A block that fails with two more symbols also fails with fewer. So each block gives a result for all three numbers.
fn measure(k: u32, missing: u32, first: bool, blocks: u64) {
    let code = Code::new(k).expect("K fits");
    // Whether a block can be decoded does not depend on its bytes. So all bytes are 0.
    let mut block = vec![0; k as usize];
    let mut draws = u64::from(k) << 40 | u64::from(missing) << 20 | u64::from(first);
    let mut below = |end: u32| {
        draws += 1;
        (mix64(draws) % u64::from(end)) as u32
    };
    let ids = if first { 64 } else { (1 << 24) - k };
    let mut failed = [0_u64; 3];
    for _ in 0..blocks {
        let lost = distinct(missing, || below(k));
        let mut present = Present::new(k);
        for esi in (0..k).filter(|esi| !lost.contains(esi)) {
            present.insert(esi);
        }
        let repair: Vec<(u32, &[u8])> = distinct(missing + 2, || k + below(ids))
            .into_iter()
            .map(|esi| (esi, &[0_u8][..]))
            .collect();
        for (more, failed) in failed.iter_mut().enumerate() {
            let some = &repair[..missing as usize + more];
            let recovery = code.recover(&mut block, 1, &present, some);
            if recovery.expect("all fits") == Recovery::Whole {
                break;
            }
            *failed += 1;
        }
    }
    let which = if first { "of the first 64" } else { "of all" };
    for (more, failed) in failed.iter().enumerate() {
        let received = ["K", "K + 1", "K + 2"][more];
        let (low, high) = interval(*failed, blocks);
        let share = *failed as f64 / blocks as f64;
        println!(
            "| {k} | {missing} | {which} | {received} | {blocks} | {failed} | {share:.1e}, {low:.1e} to {high:.1e} |"
        );
    }
}

fn distinct(count: u32, mut draw: impl FnMut() -> u32) -> Vec<u32> {
    let mut drawn = Vec::new();
    while drawn.len() < count as usize {
        let one = draw();
        if !drawn.contains(&one) {
            drawn.push(one);
        }
    }
    drawn
}

/// Returns the exact 95 % confidence interval of a share (Clopper and Pearson 1934).
fn interval(failed: u64, of: u64) -> (f64, f64) {
    let (x, n) = (failed as f64, of as f64);
    let quantile = |a, b, p| Beta::new(a, b).map_or(f64::NAN, |beta| beta.inverse_cdf(p));
    let low = if failed == 0 {
        0.0
    } else {
        quantile(x, n - x + 1.0, 0.025)
    };
    let high = if failed == of {
        1.0
    } else {
        quantile(x + 1.0, n - x, 0.975)
    };
    (low, high)
}
