//! Protocol between commands and a running lab.
//! Each connection over a Unix socket transports one request and one reply in JSON.
//! The socket has an abstract name and no file, so nothing remains when the lab's process ends.

mod client;
mod message;
mod server;
mod socket;

pub use client::{Entered, find, names};
pub use message::LinkChange;
pub use server::{HostAccess, Orders, serve};
pub use socket::{is_foreign, listen};
