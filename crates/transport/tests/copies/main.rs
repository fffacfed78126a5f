//! Tests of requests whose copies are flows of a transport.

mod carrier;
mod messenger;
#[path = "../pair/mod.rs"]
mod pair;
