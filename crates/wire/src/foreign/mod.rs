//! Ethernet frames of other programs.
//! The module decodes the data that a driver needs, and rewrites the fields that a switch changes.
//! The module also creates the answer of a router to a packet whose TTL has expired.
//!
//! [`View::read`] decodes Ethernet (with up to three VLAN tags), IPv4, IPv6, TCP, UDP, ICMP and ARP.
//! The function also decodes neighbour discovery, IGMP and MLD. The crate `etherparse` decodes the headers.

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
