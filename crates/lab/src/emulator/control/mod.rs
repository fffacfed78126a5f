//! Protocol between commands and a running lab. A connection over a Unix socket transports one request and one reply in
//! JSON. The socket has an abstract name instead of a file, so no file remains when the lab's process dies.

mod client;
mod message;
mod server;
mod socket;

pub use client::{Entered, find, names};
pub use message::LinkChange;
pub use server::{HostAccess, Orders, serve};
pub use socket::{is_foreign, listen};
