//! Configuration of guard, gateway and proxy. Its sources are a file in TOML (or in JSON, as for the npm package's
//! proxy), then flags, then `--set`. A later source overrides an earlier one. All sources have the same keys, units and
//! errors (docs/configuration.md).

mod draft;
mod flags;
mod read;
mod tree;
mod values;

pub use draft::{Draft, keys};
pub use flags::{Common, Flags};
pub use read::{Table, unique, unique_addresses};
pub use values::{
    File, KeyFile, Scalar, count, name, scalar, size, size_or_endless, target, time,
    time_or_endless,
};
