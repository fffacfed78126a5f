//! TCP's endpoints and the NICs before them, as stories.

mod close;
mod config;
mod cubic;
mod dctcp;
mod delayed_ack;
mod endpoint;
mod fast_retransmit;
mod garbage;
mod golden;
mod handshake;
mod hystart;
mod initial_window;
mod limited_transmit;
mod lso;
mod nic_coalesced;
mod nic_paced;
mod nic_queued;
#[path = "../pair/mod.rs"]
mod pair;
mod sack;
mod segment_size;
mod timers;
