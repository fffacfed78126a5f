//! Samples of queues and links, each port's totals, and the links that the ports feed.

use crate::row::table;
use serde::{Deserialize, Serialize};
use tailcut_units::{Bytes, Duration, Rate, Time};

table! {
    /// A port's queue at one instant.
    #[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct QueueSample {
        /// When the sample was taken.
        "time_ns" time: Time,
        /// The port, as numbered in [`PortTotals::port`].
        "port" port: u32,
        /// Bytes waiting, without the packet that is being sent.
        "backlog_bytes" backlog: Bytes,
        /// Packets waiting.
        "packets" packets: u32,
    }
}

table! {
    /// What a link carried since the sample before.
    #[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
    pub struct LinkSample {
        /// The end of the interval.
        "time_ns" time: Time,
        /// The link, named by the port that feeds it ([`PortTotals::port`]).
        "link" link: u32,
        /// Bytes sent within the interval, with headers, preamble and gap.
        "bytes" bytes: Bytes,
        /// Share of the interval in which the link was busy, 0 to 1.
        "utilisation" utilisation: f64,
    }
}

table! {
    /// A port's counts over a whole run.
    #[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct PortTotals {
        /// The port's number in the topology's order, unique within a run.
        "port" port: u32,
        /// The ends of its link, `from>to`, by their own names or by their numbers: `s0>s5`.
        "name" name: String,
        /// Packets sent.
        "packets" packets: u64,
        /// Bytes sent, with headers.
        "bytes" bytes: Bytes,
        /// Packets dropped at this port, for any reason.
        "dropped" dropped: u64,
        /// Packets that left with a congestion mark set here.
        "marked" marked: u64,
        /// The longest backlog.
        "max_backlog_bytes" max_backlog: Bytes,
    }
}

table! {
    /// A directed link and its ends: all links of a run together are its network.
    #[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct TopologyLink {
        /// The port that feeds it, as numbered in [`PortTotals::port`].
        "port" port: u32,
        /// The sending node's name, such as `h3` or `leaf[0]`.
        "from" from: String,
        /// The receiving node.
        "to" to: String,
        /// Links between the sending node and its nearest host: 0 for a host.
        "from_tier" from_tier: u8,
        /// The same of the receiving node.
        "to_tier" to_tier: u8,
        /// Line rate.
        "rate_bps" rate: Rate,
        /// Propagation delay.
        "delay_ns" delay: Duration,
    }
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
