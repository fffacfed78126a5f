//! Sums of products over GF(256). They use the fastest instructions of the processor.

mod field;
#[cfg(target_arch = "aarch64")]
mod neon;
mod scalar;
#[cfg(test)]
mod tests;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

use core::fmt;
pub(super) use field::inverse;

/// Implementation of the arithmetic for one kind of instructions, which this processor has.
///
/// A value of this type proves that the processor has the instructions.
/// Only [`Kernel::available`] creates values, after a query of the processor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Kernel(Instructions);

/// Instructions that a kernel uses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Instructions {
    #[cfg(target_arch = "x86_64")]
    GfniAvx512,
    #[cfg(target_arch = "x86_64")]
    GfniAvx2,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
    Scalar,
}

impl Kernel {
    /// Returns all kernels that this processor can run, fastest first. The last kernel runs on every processor.
    pub fn available() -> Vec<Kernel> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            if is_x86_feature_detected!("gfni") {
                if is_x86_feature_detected!("avx512f") {
                    kernels.push(Kernel(Instructions::GfniAvx512));
                }
                kernels.push(Kernel(Instructions::GfniAvx2));
            }
            kernels.push(Kernel(Instructions::Avx2));
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            kernels.push(Kernel(Instructions::Neon));
        }
        kernels.push(Kernel(Instructions::Scalar));
        kernels
    }

    /// Returns the fastest kernel that this processor can run.
    pub fn best() -> Kernel {
        Self::available()[0]
    }

    /// Returns the kernel's name: `gfni-avx512`, `gfni-avx2`, `avx2`, `neon` or `scalar`.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::GfniAvx512 => "gfni-avx512",
            #[cfg(target_arch = "x86_64")]
            Instructions::GfniAvx2 => "gfni-avx2",
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => "avx2",
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => "neon",
            Instructions::Scalar => "scalar",
        }
    }

    /// Returns two times in picoseconds per byte: for an input of a sum, and for a term that is added to a sum.
    /// The times were measured on one machine (`examples/codec.rs`, Zen 5).
    /// NEON was not measured and has the times of AVX2, which uses the same method.
    pub(super) fn speed(self) -> (u64, u64) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::GfniAvx512 => (7, 42),
            #[cfg(target_arch = "x86_64")]
            Instructions::GfniAvx2 => (9, 44),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => (18, 52),
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => (18, 52),
            Instructions::Scalar => (510, 840),
        }
    }

    /// Sets each output to the sum of all inputs, each multiplied by a factor.
    /// `rows` contains one row for each output, with one factor for each input.
    /// All inputs and outputs have the same length.
    pub(super) fn product(self, rows: &[u8], inputs: &[&[u8]], outputs: &mut [&mut [u8]]) {
        let Some(length) = outputs.first().map(|output| output.len()) else {
            return;
        };
        if inputs.is_empty() {
            return outputs.iter_mut().for_each(|output| output.fill(0));
        }
        debug_assert_eq!(rows.len(), inputs.len() * outputs.len());
        debug_assert!(inputs.iter().all(|input| input.len() == length));
        debug_assert!(outputs.iter().all(|output| output.len() == length));
        match self.0 {
            // SAFETY: `available` created this value on a processor that has AVX-512F and GFNI.
            #[cfg(target_arch = "x86_64")]
            Instructions::GfniAvx512 => unsafe {
                x86::gfni_avx512::product(rows, inputs, outputs, length);
            },
            // SAFETY: `available` created this value on a processor that has AVX2 and GFNI.
            #[cfg(target_arch = "x86_64")]
            Instructions::GfniAvx2 => unsafe {
                x86::gfni_avx2::product(rows, inputs, outputs, length);
            },
            // SAFETY: `available` created this value on a processor that has AVX2.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { x86::avx2::product(rows, inputs, outputs, length) },
            // SAFETY: `available` created this value on a processor that has NEON.
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => unsafe { neon::product(rows, inputs, outputs, length) },
            Instructions::Scalar => scalar::product(rows, inputs, outputs),
        }
    }

    /// Adds the product of `term` and `factor` to `sum`. Both buffers have the same length.
    pub(super) fn add_scaled(self, sum: &mut [u8], term: &[u8], factor: u8) {
        debug_assert_eq!(sum.len(), term.len());
        match self.0 {
            // SAFETY: `available` created this value on a processor that has AVX-512F and GFNI.
            #[cfg(target_arch = "x86_64")]
            Instructions::GfniAvx512 => unsafe {
                x86::gfni_avx512::add_scaled(sum, term, factor);
            },
            // SAFETY: `available` created this value on a processor that has AVX2 and GFNI.
            #[cfg(target_arch = "x86_64")]
            Instructions::GfniAvx2 => unsafe { x86::gfni_avx2::add_scaled(sum, term, factor) },
            // SAFETY: `available` created this value on a processor that has AVX2.
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => unsafe { x86::avx2::add_scaled(sum, term, factor) },
            // SAFETY: `available` created this value on a processor that has NEON.
            #[cfg(target_arch = "aarch64")]
            Instructions::Neon => unsafe { neon::add_scaled(sum, term, factor) },
            Instructions::Scalar => scalar::add_scaled(sum, term, factor),
        }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
