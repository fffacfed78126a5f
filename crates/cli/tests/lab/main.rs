//! End-to-end tests of the lab: its commands, real programs on its hosts, and the cleanup after a lab is killed.
//!
//! The tests run as root. Some tests switch to an ordinary user.

mod datagrams;
mod dctcp;
mod harness;
mod hosts;
mod kernel_routers;
mod life;
mod measured;
mod mischief;
mod network;
mod nics;
mod own_queue;
mod probe;
mod replicated;
mod requests;
mod routed;
mod trimming;
mod user;
