//! Copies of requests (RANS) as flows of a transport: how a client sends them, a server answers them, and
//! either takes them back. The crate `tailcut-requests` decides which copies there are.
//!
//! - [`Carrier`]: each copy is one TCP connection, once a class at every host.
//! - [`Messenger`]: a copy is a message to the server and one back, over transports without connections.
//! - [`CopyingHost`]: a host that has either next to its other flows.

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
