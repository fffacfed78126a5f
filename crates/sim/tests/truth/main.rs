//! Validation of the simulator: conservation, closed forms, determinism and golden tables.
//! `docs/validation.md` explains each check and shows its figures.
//! `cargo test -p tailcut-sim --test truth -- --nocapture` prints the figures.

mod conservation;
mod determinism;
mod equivalence;
mod golden;
mod hosts;
mod idle;
mod load;
mod lone_flow;
mod network;
mod queueing;
mod repflow_model;
mod second_driver;
mod sharing;
mod slow_links;
mod storage;
mod support;
mod traces;
