//! Tests of requests whose copies are flows.

mod carrier;
mod messenger;
#[path = "../pair/mod.rs"]
mod pair;
