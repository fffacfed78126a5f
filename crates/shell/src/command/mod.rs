//! One file a command.

pub mod bench;
pub mod compare;
pub mod list;
pub mod report;
pub mod reproduce;
pub mod run;
pub mod shell;
