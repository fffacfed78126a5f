//! Which of the two ways takes less time: sums over GF(256), or the crate's sparse solver.
//!
//! Both times are estimated, in picoseconds for each source symbol of the block, from what
//! `examples/codec.rs` measured on one machine (Zen 5, K from 50 to 1,002, T from 64 to 8,896). On
//! others both are longer, and their ratio much the same.

use super::kernel::Kernel;

/// The crate's decoder: for a block, and for each byte of its symbols.
const DECODER: (u64, u64) = (1_200_000, 560);

/// The crate's encoder until it can make repair symbols, whose own time is little.
const ENCODER: (u64, u64) = (250_000, 500);

/// Whether a system of equations gives `missing` of `source_symbols`, of `symbol` bytes each, sooner
/// than the crate's decoder.
pub(super) fn solves_sooner(
    kernel: Kernel,
    source_symbols: u32,
    missing: u32,
    symbol: usize,
) -> bool {
    let (sum, term) = kernel.speed();
    let (k, missing, symbol) = (u64::from(source_symbols), u64::from(missing), symbol as u64);
    // Each missing symbol is a sum of K inputs. Each line of the system is added to each other one,
    // and has K + l bytes.
    let sums = missing * symbol * sum;
    let lines = missing * missing * (k + missing) / k.max(1) * term;
    sums + lines < DECODER.0 + DECODER.1 * symbol
}

/// Whether `repair` symbols of a block, of `symbol` bytes each, are made sooner as sums than by the
/// crate's encoder.
pub(super) fn sums_sooner(kernel: Kernel, repair: u32, symbol: usize) -> bool {
    let (sum, _) = kernel.speed();
    let symbol = symbol as u64;
    u64::from(repair) * symbol * sum < ENCODER.0 + ENCODER.1 * symbol
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_solved_and_summed_and_much_is_the_crates() {
        for kernel in Kernel::available() {
            for symbol in [64, 1_424, 8_896] {
                assert!(
                    solves_sooner(kernel, 101, 1, symbol),
                    "{kernel:?}, {symbol}"
                );
                assert!(
                    !solves_sooner(kernel, 1_000, 1_000, symbol),
                    "{kernel:?}, {symbol}"
                );
                assert!(sums_sooner(kernel, 1, symbol), "{kernel:?}, {symbol}");
                assert!(!sums_sooner(kernel, 1_000, symbol), "{kernel:?}, {symbol}");
            }
        }
    }
}
