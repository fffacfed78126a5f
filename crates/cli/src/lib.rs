//! The command tailcut: flags and scenarios become runs, runs become a report.

pub mod scenario;
