//! Tests of the gateway between real clients and real replicas.
#![cfg(feature = "gateway")]

#[path = "../common/mod.rs"]
mod common;
mod faults;
mod files;
mod languages;
mod limits;
mod objects;
#[path = "../common/plain_client.rs"]
mod plain_client;
mod programs;
mod reload;
mod requests;
mod running;
mod storm;
