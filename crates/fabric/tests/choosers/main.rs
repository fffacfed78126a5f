//! Tests of designs in which switches choose paths with the state of several switches.

#[path = "../common/mod.rs"]
mod common;
mod conga;
mod custom;
mod deck;
mod expeditus;
mod net;
mod omniscient;
