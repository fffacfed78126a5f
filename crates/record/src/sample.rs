//! Samples of queues and links, each port's totals, and the links that the ports feed.

use serde::{Deserialize, Serialize};
use tailcut_units::{Bytes, Duration, Rate, Time};

/// A port's queue at one instant.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct QueueSample {
    /// When the sample was taken.
    pub time: Time,
    /// The port, as numbered in [`PortTotals::port`].
    pub port: u32,
    /// Bytes waiting, without the packet that is being sent.
    pub backlog: Bytes,
    /// Packets waiting.
    pub packets: u32,
}

/// What a link carried since the sample before.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct LinkSample {
    /// The end of the interval.
    pub time: Time,
    /// The link, named by the port that feeds it ([`PortTotals::port`]).
    pub link: u32,
    /// Bytes sent within the interval, with headers, preamble and gap.
    pub bytes: Bytes,
    /// Share of the interval in which the link was busy, 0 to 1.
    pub utilisation: f64,
}

/// A port's counts over a whole run.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct PortTotals {
    /// The port's number in the topology's order, unique within a run.
    pub port: u32,
    /// The ends of its link, `from>to`, by their own names or by their numbers: `s0>s5`.
    pub name: String,
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent, with headers.
    pub bytes: Bytes,
    /// Packets dropped at this port, for any reason.
    pub dropped: u64,
    /// Packets that left with a congestion mark set here.
    pub marked: u64,
    /// The longest backlog.
    pub max_backlog: Bytes,
}

/// A directed link and its ends: all links of a run together are its network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologyLink {
    /// The port that feeds it, as numbered in [`PortTotals::port`].
    pub port: u32,
    /// The sending node's name, such as `h3` or `leaf[0]`.
    pub from: String,
    /// The receiving node.
    pub to: String,
    /// Links between the sending node and its nearest host: 0 for a host.
    pub from_tier: u8,
    /// The same of the receiving node.
    pub to_tier: u8,
    /// Line rate.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
}

/// When queues and links were sampled: every `every_ns` from zero, `instants` times after the start.
/// A queue that was empty and a link that carried nothing have no row of that instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sampling {
    /// Nanoseconds from one sample to the next.
    pub every_ns: u64,
    /// Samples of each port.
    pub instants: u64,
}
