//! Configuration of guard, gateway and proxy.
//! The sources of the configuration are a file in TOML or JSON, then flags, then `--set`.
//! The proxy of the npm package uses JSON.
//! A later source overrides an earlier one. All sources have the same keys, units and errors (docs/configuration.md).

mod action;
mod draft;
mod flags;
mod read;
mod tree;
mod values;

pub use action::Action;
pub use draft::{Draft, keys};
pub use flags::{Common, Flags};
pub(crate) use read::OUTPUT;
pub use read::{Table, unique, unique_addresses};
pub use values::{
    File, KeyFile, Scalar, count, name, scalar, server, size, size_or_endless, socket_mode, target,
    time, time_or_endless,
};
