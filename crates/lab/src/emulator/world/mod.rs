//! The world of a lab: processes, mounts and networks of its own, which end with the lab's process.

pub mod birth;
pub mod child;
pub mod enter;
mod inside;
mod mounts;
pub mod namespaces;

pub use birth::{Stage, bear};
pub use inside::live;
