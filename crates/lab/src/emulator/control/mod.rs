//! How commands talk to a running lab: one request and one answer in JSON, over a socket that has a name but
//! no file, so that nothing is left when the lab's process dies.

mod client;
mod message;
mod server;
mod socket;

pub use client::{Entered, find, names};
pub use message::LinkChange;
pub use server::{Orders, Ways, serve};
pub use socket::listen;
