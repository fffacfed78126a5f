//! Codec of `crates/cast`, without the other parts of that crate and their dependencies.

#[path = "../../../crates/cast/src/codec/mod.rs"]
pub mod codec;
