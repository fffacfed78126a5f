//! Commands of the program, one file for each command.

pub mod bench;
pub mod case;
#[cfg(all(feature = "cast", target_os = "linux"))]
pub mod cast;
pub mod compare;
pub mod lab;
pub mod list;
mod node_program;
#[cfg(all(feature = "probe", target_os = "linux"))]
pub mod probe;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod shell;
pub mod study;
