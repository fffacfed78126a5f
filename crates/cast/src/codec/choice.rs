//! Choice of the faster method: either sums over GF(256), or the sparse solver of the crate `raptorq`.
//!
//! The times of both methods are estimates in picoseconds, for each source symbol of the block.
//! The times were measured with `examples/codec.rs` on a Zen 5 processor (K: 50 to 1,002, symbols: 64 to 8,896 bytes).
//! Slower machines need more time for both methods, in about the same ratio.

use super::kernel::Kernel;

/// Time of the decoder of `raptorq` for each source symbol: a constant, and a part for each byte of a symbol.
const DECODER: (u64, u64) = (1_200_000, 560);

/// Time of the encoder of `raptorq` before the first repair symbol: a constant, and a part for each byte of a symbol.
/// The time for each repair symbol is small.
const ENCODER: (u64, u64) = (250_000, 500);

/// Returns whether a system of equations is faster than the decoder of `raptorq`.
/// A block has `source_symbols` symbols of `symbol` bytes, and `missing` of them are missing.
pub(super) fn solves_sooner(
    kernel: Kernel,
    source_symbols: u32,
    missing: u32,
    symbol: usize,
) -> bool {
    let (sum, term) = kernel.speed();
    let (k, missing, symbol) = (u64::from(source_symbols), u64::from(missing), symbol as u64);
    // Each missing symbol is a sum of K inputs.
    // If l symbols are missing, the system has l lines of K + l bytes, and each line is added to each other line.
    let sums = missing * symbol * sum;
    let lines = missing * missing * (k + missing) / k.max(1) * term;
    sums + lines < DECODER.0 + DECODER.1 * symbol
}

/// Returns whether sums compute `repair` symbols of `symbol` bytes faster than the encoder of `raptorq`.
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
