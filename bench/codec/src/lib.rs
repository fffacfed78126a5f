//! Codec of `crates/cast`, without all further parts of that crate and their dependencies.

#[path = "../../../crates/cast/src/codec/mod.rs"]
pub mod codec;
