//! The gateway between real clients and real replicas.
#![cfg(feature = "gateway")]

#[path = "../common/mod.rs"]
mod common;
mod faults;
mod files;
mod languages;
mod limits;
mod objects;
mod programs;
mod reload;
mod requests;
mod running;
#[path = "../common/way.rs"]
mod way;
