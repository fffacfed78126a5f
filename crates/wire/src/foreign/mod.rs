//! Frames of others: what a driver has to know of an Ethernet frame that real programs sent, and
//! the few places that a switch rewrites in it, or answers to it as a router.
//!
//! [`View::read`] reads Ethernet (with up to three VLAN tags), IPv4, IPv6, TCP, UDP, ICMP, ARP,
//! neighbour discovery, IGMP and MLD. The headers themselves are read by `etherparse`.

mod membership;
mod rewrite;
mod time_exceeded;
mod trimming;
mod view;

pub use membership::{Change, Membership, Record, Records};
pub use rewrite::{RewriteError, set_dscp, set_ecn, set_ttl, shorten, trim};
pub use time_exceeded::{LONGEST_TIME_EXCEEDED, RouterAddress, time_exceeded};
pub use trimming::Trimmable;
pub use view::{Content, Fragment, IcmpKind, Ip, Neighbour, TooShort, View};
