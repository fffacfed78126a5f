//! The simulator held to the truth: conservation, closed forms, determinism, golden tables.
//! `docs/validation.md` says what each check proves, with its figures:
//! `cargo test -p tailcut-sim --test truth -- --nocapture` prints them.

mod conservation;
mod determinism;
mod equivalence;
mod golden;
mod hosts;
mod load;
mod lone_flow;
mod network;
mod queueing;
mod repflow_model;
mod second_driver;
mod sharing;
mod storage;
mod support;
mod traces;
