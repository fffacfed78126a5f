//! RANS, as stories.

mod aggregation;
mod carrier;
mod gate;
mod messenger;
#[path = "../pair/mod.rs"]
mod pair;
mod ranges;
mod requests;
mod sides;
mod stations;
mod stream;
