//! Designs whose switches choose paths by more than they know themselves.

#[path = "../common/mod.rs"]
mod common;
mod conga;
mod custom;
mod deck;
mod expeditus;
mod net;
mod omniscient;
