//! Tests of TCP endpoints, and of the NICs between endpoints and links.

mod by_time;
mod cases;
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
mod lost_syn;
mod lso;
mod marks;
mod measured_cases;
mod nic_coalesced;
mod nic_paced;
mod nic_queued;
#[path = "../pair/mod.rs"]
mod pair;
mod quick_acks;
mod round_trips;
mod sack;
mod script;
mod segment_size;
mod stamps;
mod timers;
mod window_growth;
