//! The lab as its users have it: the command, real programs on its hosts, and what is left when it dies.
//!
//! As root, and as an ordinary user of it: the tests run as root and become one where they have to.

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
