//! The configuration of guard, gateway and proxy: a file in TOML (or JSON, as the npm package's proxy has it), flags,
//! and `--set`. The later ones replace the earlier ones. All have the same keys, units and errors
//! (docs/configuration.md).

mod draft;
mod flags;
mod read;
mod tree;
mod values;

pub use draft::{Draft, keys};
pub use flags::{Common, Flags};
pub use read::{Table, unique, unique_addresses};
pub use values::{
    File, Scalar, count, name, scalar, size, size_or_endless, target, time, time_or_endless,
};
