//! Kernel for AArch64 with the instruction TBL, which processes 16 bytes.
//! Each half of a byte selects an entry of a table of 16 bytes.

use super::field::HALVES;
use core::arch::aarch64::{
    uint8x16_t, vandq_u8, vdupq_n_u8, veorq_u8, vld1q_u8, vqtbl1q_u8, vshrq_n_u8, vst1q_u8,
};

#[target_feature(enable = "neon")]
fn zero() -> uint8x16_t {
    vdupq_n_u8(0)
}

#[target_feature(enable = "neon")]
fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: the reference is to 16 bytes that may be read; the instruction needs no alignment.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[target_feature(enable = "neon")]
fn store(bytes: &mut [u8; 16], vector: uint8x16_t) {
    // SAFETY: the reference is to 16 bytes that may be written; the instruction needs no alignment.
    unsafe { vst1q_u8(bytes.as_mut_ptr(), vector) }
}

#[target_feature(enable = "neon")]
fn xor(a: uint8x16_t, b: uint8x16_t) -> uint8x16_t {
    veorq_u8(a, b)
}

#[target_feature(enable = "neon")]
fn factor(by: u8) -> [uint8x16_t; 2] {
    let (tables, _) = HALVES[usize::from(by)].as_chunks::<16>();
    [load(&tables[0]), load(&tables[1])]
}

#[target_feature(enable = "neon")]
fn times([low, high]: [uint8x16_t; 2], vector: uint8x16_t) -> uint8x16_t {
    let lower = vandq_u8(vector, vdupq_n_u8(15));
    let upper = vshrq_n_u8::<4>(vector);
    xor(vqtbl1q_u8(low, lower), vqtbl1q_u8(high, upper))
}

super::vector::loops!("neon", uint8x16_t, 16, 8, 4);
