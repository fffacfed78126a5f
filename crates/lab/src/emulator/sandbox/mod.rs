//! Processes, mounts and namespaces of a lab. They all end when the lab's process ends.

pub mod child;
pub mod enter;
mod lab_main;
pub mod lab_process;
mod mounts;
pub mod namespaces;

pub use lab_main::run_lab;
pub use lab_process::{LaunchMode, start_lab};
