//! Copies of requests as flows, as stories.

mod carrier;
mod messenger;
#[path = "../pair/mod.rs"]
mod pair;
