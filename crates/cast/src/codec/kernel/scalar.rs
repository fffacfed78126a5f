//! Kernel for every processor. All other kernels must have the same results.

use super::field::HALVES;

pub(super) fn product(rows: &[u8], inputs: &[&[u8]], outputs: &mut [&mut [u8]]) {
    for (row, output) in rows.chunks(inputs.len()).zip(outputs) {
        output.fill(0);
        for (&factor, input) in row.iter().zip(inputs) {
            add_scaled(output, input, factor);
        }
    }
}

pub(super) fn add_scaled(sum: &mut [u8], term: &[u8], factor: u8) {
    let (low, high) = HALVES[usize::from(factor)].split_at(16);
    for (sum, term) in sum.iter_mut().zip(term) {
        *sum ^= low[usize::from(term & 15)] ^ high[usize::from(term >> 4)];
    }
}
