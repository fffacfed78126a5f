//! Kernels for x86-64.

/// Kernel with the instruction GF2P8AFFINEQB, which processes 64 bytes.
pub(super) mod gfni_avx512 {
    use crate::codec::kernel::field::MATRICES;
    use core::arch::x86_64::{
        __m512i, _mm512_gf2p8affine_epi64_epi8, _mm512_loadu_si512, _mm512_set1_epi64,
        _mm512_setzero_si512, _mm512_storeu_si512, _mm512_xor_si512,
    };

    #[target_feature(enable = "avx512f")]
    fn zero() -> __m512i {
        _mm512_setzero_si512()
    }

    #[target_feature(enable = "avx512f")]
    fn load(bytes: &[u8; 64]) -> __m512i {
        // SAFETY: the reference is to 64 readable bytes, and the instruction needs no alignment.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx512f")]
    fn store(bytes: &mut [u8; 64], vector: __m512i) {
        // SAFETY: the reference is to 64 writable bytes, and the instruction needs no alignment.
        unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), vector) }
    }

    #[target_feature(enable = "avx512f")]
    fn xor(a: __m512i, b: __m512i) -> __m512i {
        _mm512_xor_si512(a, b)
    }

    #[target_feature(enable = "avx512f")]
    fn factor(by: u8) -> __m512i {
        _mm512_set1_epi64(MATRICES[usize::from(by)].cast_signed())
    }

    #[target_feature(enable = "avx512f,gfni")]
    fn times(factor: __m512i, vector: __m512i) -> __m512i {
        _mm512_gf2p8affine_epi64_epi8::<0>(vector, factor)
    }

    crate::codec::kernel::vector::loops!("avx512f,gfni", __m512i, 64, 8, 4);
}

/// Kernel with the instruction GF2P8AFFINEQB, which processes 32 bytes.
pub(super) mod gfni_avx2 {
    use super::avx::{load, store, xor, zero};
    use crate::codec::kernel::field::MATRICES;
    use core::arch::x86_64::{__m256i, _mm256_gf2p8affine_epi64_epi8, _mm256_set1_epi64x};

    #[target_feature(enable = "avx2")]
    fn factor(by: u8) -> __m256i {
        _mm256_set1_epi64x(MATRICES[usize::from(by)].cast_signed())
    }

    #[target_feature(enable = "avx2,gfni")]
    fn times(factor: __m256i, vector: __m256i) -> __m256i {
        _mm256_gf2p8affine_epi64_epi8::<0>(vector, factor)
    }

    crate::codec::kernel::vector::loops!("avx2,gfni", __m256i, 32, 8, 2);
}

/// Kernel with the instruction PSHUFB, which processes 32 bytes.
/// Each half of a byte selects an entry of a table of 16 bytes.
pub(super) mod avx2 {
    use super::avx::{load, store, xor, zero};
    use crate::codec::kernel::field::HALVES;
    use core::arch::x86_64::{
        __m256i, _mm256_and_si256, _mm256_permute2x128_si256, _mm256_set1_epi8,
        _mm256_shuffle_epi8, _mm256_srli_epi64,
    };

    #[target_feature(enable = "avx2")]
    fn factor(by: u8) -> [__m256i; 2] {
        let both = load(&HALVES[usize::from(by)]);
        [
            _mm256_permute2x128_si256::<0x00>(both, both),
            _mm256_permute2x128_si256::<0x11>(both, both),
        ]
    }

    #[target_feature(enable = "avx2")]
    fn times([low, high]: [__m256i; 2], vector: __m256i) -> __m256i {
        let half = _mm256_set1_epi8(15);
        let lower = _mm256_and_si256(vector, half);
        let upper = _mm256_and_si256(_mm256_srli_epi64::<4>(vector), half);
        xor(
            _mm256_shuffle_epi8(low, lower),
            _mm256_shuffle_epi8(high, upper),
        )
    }

    crate::codec::kernel::vector::loops!("avx2", __m256i, 32, 4, 2);
}

/// Operations on vectors of 32 bytes.
mod avx {
    use core::arch::x86_64::{
        __m256i, _mm256_loadu_si256, _mm256_setzero_si256, _mm256_storeu_si256, _mm256_xor_si256,
    };

    #[target_feature(enable = "avx2")]
    pub(super) fn zero() -> __m256i {
        _mm256_setzero_si256()
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn load(bytes: &[u8; 32]) -> __m256i {
        // SAFETY: the reference is to 32 readable bytes, and the instruction needs no alignment.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn store(bytes: &mut [u8; 32], vector: __m256i) {
        // SAFETY: the reference is to 32 writable bytes, and the instruction needs no alignment.
        unsafe { _mm256_storeu_si256(bytes.as_mut_ptr().cast(), vector) }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn xor(a: __m256i, b: __m256i) -> __m256i {
        _mm256_xor_si256(a, b)
    }
}
