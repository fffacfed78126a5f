//! stub
pub mod client;
pub mod guard;
pub mod priority;
