//! Copies of requests (RANS) as flows of a transport.
//! A client sends copies, a server answers them, and either end can cancel them.
//! The crate `tailcut-requests` decides which copies exist.
//!
//! - [`Carrier`]: each copy is one TCP connection. Every host has one TCP endpoint per class.
//! - [`Messenger`]: a copy is one message to the server and one message back, for transports without connections.
//! - [`CopyingHost`]: a host with a [`Carrier`] or a [`Messenger`], for copies and for other flows.

mod carrier;
mod carry;
mod copying_host;
mod messenger;
mod order;

pub use carrier::{Carried, Carrier};
pub use carry::{Carry, CopyChange, CopyEvent, purge_key, purges};
pub use copying_host::CopyingHost;
pub use messenger::Messenger;
pub use order::{
    Answer, Ask, CopyNews, CopyOrder, End, NotCarried, Side, copy_of_flow, flow_of_copy,
};
