//! Tests that all kernels have the results of the scalar kernel, and that these results match the definition.

use super::*;
use tailcut_units::mix64;

/// Number of guard bytes before and after each buffer. No kernel may change them.
const GUARD: usize = 70;

/// Returns pseudo-random bytes that depend only on the seed.
fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let words = (0..length as u64).map(|i| mix64(mix64(seed) ^ i));
    words.map(|word| word as u8).collect()
}

/// Compares a kernel's sums with the definition.
/// There are `inputs` buffers of `length` bytes, each with another alignment.
fn product_equals_the_definition(kernel: Kernel, outputs: usize, inputs: usize, length: usize) {
    let seed = (outputs << 32 | inputs << 20 | length) as u64;
    let rows = bytes(seed, outputs * inputs);
    let buffers: Vec<_> = (0..inputs)
        .map(|i| bytes(seed ^ mix64(i as u64), i % 67 + length))
        .collect();
    let inputs: Vec<_> = (0..).zip(&buffers).map(|(i, b)| &b[i % 67..]).collect();
    let mut made: Vec<_> = (0..outputs)
        .map(|i| vec![0xa5; GUARD + i + length + GUARD])
        .collect();
    let mut outputs: Vec<_> = (0..)
        .zip(&mut made)
        .map(|(i, b)| &mut b[GUARD + i..][..length])
        .collect();
    kernel.product(&rows, &inputs, &mut outputs);

    for (i, (made, row)) in made.iter().zip(rows.chunks(inputs.len())).enumerate() {
        let mut expected = vec![0xa5; made.len()];
        for (at, byte) in expected[GUARD + i..][..length].iter_mut().enumerate() {
            let terms = row.iter().zip(&inputs);
            *byte = terms.fold(0, |sum, (&f, input)| sum ^ field::multiply(f, input[at]));
        }
        assert_eq!(made, &expected, "{kernel:?}, output {i} of {length} bytes");
    }
}

#[test]
fn sums_of_any_length_and_alignment_are_right_and_touch_nothing_else() {
    let lengths: Vec<usize> = if cfg!(miri) {
        vec![0, 15, 65, 200, 515]
    } else {
        (0..=140)
            .chain([255, 256, 257, 511, 512, 513, 700, 1_404, 1_424])
            .collect()
    };
    for kernel in Kernel::available() {
        for &length in &lengths {
            for outputs in [1, 2, 3, 4, 5, 9] {
                let inputs = if cfg!(miri) { 2..=2 } else { 1..=3 };
                for inputs in inputs {
                    product_equals_the_definition(kernel, outputs, inputs, length);
                }
            }
        }
        product_equals_the_definition(kernel, 0, 3, 100);
    }
}

#[test]
fn every_factor_times_every_byte_is_right() {
    let all: Vec<u8> = (0..=255).collect();
    for kernel in Kernel::available() {
        for factor in (0..=255).step_by(if cfg!(miri) { 51 } else { 1 }) {
            let expected: Vec<u8> = all.iter().map(|&b| field::multiply(factor, b)).collect();
            let mut output = [0; 256];
            kernel.product(&[factor], &[&all], &mut [&mut output]);
            assert_eq!(output[..], expected, "{kernel:?}, {factor}");
            kernel.add_scaled(&mut output, &all, factor);
            assert_eq!(output, [0; 256], "{kernel:?}, {factor}");
        }
    }
}

#[test]
fn a_scaled_term_of_any_length_and_alignment_is_added_and_nothing_else_touched() {
    let step = if cfg!(miri) { 29 } else { 1 };
    for kernel in Kernel::available() {
        for length in (0..=300).step_by(step) {
            let seed = length as u64;
            let (from, to) = (length % 5, GUARD + length % 7);
            let term = bytes(seed, from + length);
            let before = bytes(!seed, to + length + GUARD);
            let mut after = before.clone();
            kernel.add_scaled(&mut after[to..][..length], &term[from..], 0x8e);
            let mut expected = before;
            for (sum, &term) in expected[to..].iter_mut().zip(&term[from..]) {
                *sum ^= field::multiply(0x8e, term);
            }
            assert_eq!(after, expected, "{kernel:?}, {length} bytes");
        }
    }
}

#[test]
fn a_sum_of_nothing_is_zero() {
    for kernel in Kernel::available() {
        let mut output = [1; 10];
        kernel.product(&[], &[], &mut [&mut output]);
        assert_eq!(output, [0; 10]);
    }
}

#[test]
fn a_wrong_length_is_no_access_outside_of_a_slice() {
    // The loops check their indexes in release builds too.
    // So a wrong length must cause a panic, or must change only bytes inside the slices.
    for kernel in Kernel::available() {
        let result = std::panic::catch_unwind(|| {
            let (short, mut output) = ([1; 100], [0; 640]);
            kernel.product(&[1], &[&short], &mut [&mut output]);
            output
        });
        let is_safe = result.is_err() || kernel == Kernel(Instructions::Scalar);
        assert!(is_safe, "{kernel:?}");
    }
}
