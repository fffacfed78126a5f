//! Loops of the vector kernels. A macro creates them for each kind of vector.

/// Creates `product` and `add_scaled` from operations that differ between kernels.
/// [`load`], [`store`], [`zero`] and [`xor`] work on a vector of `$width` bytes.
/// `times` multiplies the bytes of a vector by a factor.
/// A tile has `$single` vectors of one output, or `$several` vectors of each of four outputs.
/// `$single` and `$several` are as large as the registers allow.
///
/// Only `load` and `store` of the calling module contain unsafe code.
/// The loops index slices with bounds checks, so a wrong length causes a panic.
macro_rules! loops {
    ($features:literal, $vector:ty, $width:literal, $single:literal, $several:literal) => {
        /// Computes `V` vectors of the first `R` outputs, starting at byte `at`.
        /// Each input is read only once for all `R` outputs.
        #[target_feature(enable = $features)]
        fn tile<const R: usize, const V: usize>(
            rows: &[u8],
            inputs: &[&[u8]],
            outputs: &mut [&mut [u8]],
            at: usize,
        ) {
            let rows: [&[u8]; R] =
                core::array::from_fn(|r| &rows[r * inputs.len()..(r + 1) * inputs.len()]);
            let mut sums: [[$vector; V]; R] = [[zero(); V]; R];
            for (i, input) in inputs.iter().enumerate() {
                let (bytes, _) = input[at..at + V * $width].as_chunks::<$width>();
                let terms: [$vector; V] = core::array::from_fn(|v| load(&bytes[v]));
                for (row, sums) in rows.iter().zip(&mut sums) {
                    let factor = factor(row[i]);
                    for (sum, &term) in sums.iter_mut().zip(&terms) {
                        *sum = xor(*sum, times(factor, term));
                    }
                }
            }
            for (output, sums) in outputs.iter_mut().zip(&sums) {
                let (bytes, _) = output[at..at + V * $width].as_chunks_mut::<$width>();
                for (bytes, &sum) in bytes.iter_mut().zip(sums) {
                    store(bytes, sum);
                }
            }
        }

        /// Computes `V` vectors of all outputs, starting at byte `at`.
        /// First computes four outputs at a time, then the remaining one to three.
        #[target_feature(enable = $features)]
        fn columns<const V: usize>(
            rows: &[u8],
            inputs: &[&[u8]],
            outputs: &mut [&mut [u8]],
            at: usize,
        ) {
            let (fours, rest) = outputs.as_chunks_mut::<4>();
            let (in_fours, in_rest) = rows.split_at(4 * fours.len() * inputs.len());
            for (rows, four) in in_fours.chunks_exact(4 * inputs.len()).zip(fours) {
                tile::<4, V>(rows, inputs, four, at);
            }
            match rest {
                [] => {}
                [_] => tile::<1, V>(in_rest, inputs, rest, at),
                [_, _] => tile::<2, V>(in_rest, inputs, rest, at),
                _ => tile::<3, V>(in_rest, inputs, rest, at),
            }
        }

        /// Computes all outputs over their whole length, which is at least `V` vectors.
        /// The last vectors may overlap with earlier vectors, and compute the same bytes again.
        #[target_feature(enable = $features)]
        fn sweep<const V: usize>(
            rows: &[u8],
            inputs: &[&[u8]],
            outputs: &mut [&mut [u8]],
            length: usize,
        ) {
            let last = length - V * $width;
            for at in (0..last).step_by(V * $width) {
                columns::<V>(rows, inputs, outputs, at);
            }
            columns::<V>(rows, inputs, outputs, last);
        }

        #[target_feature(enable = $features)]
        pub(crate) fn product(
            rows: &[u8],
            inputs: &[&[u8]],
            outputs: &mut [&mut [u8]],
            length: usize,
        ) {
            if outputs.len() == 1 && length >= $single * $width {
                sweep::<$single>(rows, inputs, outputs, length);
            } else if outputs.len() > 1 && length >= $several * $width {
                sweep::<$several>(rows, inputs, outputs, length);
            } else if length >= $width {
                sweep::<1>(rows, inputs, outputs, length);
            } else {
                $crate::codec::kernel::scalar::product(rows, inputs, outputs);
            }
        }

        #[target_feature(enable = $features)]
        pub(crate) fn add_scaled(sum: &mut [u8], term: &[u8], by: u8) {
            let (sums, sum_rest) = sum.as_chunks_mut::<$width>();
            let (terms, term_rest) = term.as_chunks::<$width>();
            let factor = factor(by);
            for (sum, term) in sums.iter_mut().zip(terms) {
                store(sum, xor(load(sum), times(factor, load(term))));
            }
            $crate::codec::kernel::scalar::add_scaled(sum_rest, term_rest, by);
        }
    };
}

pub(super) use loops;
