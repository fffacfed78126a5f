//! The codec as it is in `crates/cast`, without the rest of that crate and what the rest needs.

#[path = "../../../crates/cast/src/codec/mod.rs"]
pub mod codec;
