//! Designs whose switches choose paths by more than they know themselves.

#[path = "../common/mod.rs"]
mod common;
mod conga;
mod custom;
mod expeditus;
mod net;
