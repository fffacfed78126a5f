//! Samples of queues and links, totals of ports, and links of the topology.

use crate::row::table;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use tailcut_units::{Bytes, Duration, Rate, Time};

table! {
    /// Queue of a port at one instant.
    #[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct QueueSample {
        /// Time of the sample.
        "time_ns" time: Time,
        /// Number of the port, as in [`PortTotals::port`].
        "port" port: u32,
        /// Queued bytes, without the packet in transmission.
        "backlog_bytes" backlog: Bytes,
        /// Queued packets, without the packet in transmission.
        "packets" packets: u32,
    }
}

table! {
    /// Bytes that a link carried since the previous sample.
    #[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
    pub struct LinkSample {
        /// End of the interval.
        "time_ns" time: Time,
        /// Number of the port that sends into the link ([`PortTotals::port`]).
        "link" link: u32,
        /// Sent bytes in the interval, with headers, preamble and gap.
        "bytes" bytes: Bytes,
        /// Share of the interval in which the link was busy, 0 to 1.
        "utilisation" utilisation: f64,
    }
}

table! {
    /// Counters of a port over a whole run.
    #[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct PortTotals {
        /// Number of the port in the topology's order, unique within a run.
        "port" port: u32,
        /// Names or numbers of the two nodes that the port's link connects, such as `s0>s5`.
        "name" name: String,
        /// Sent packets.
        "packets" packets: u64,
        /// Sent bytes, with headers.
        "bytes" bytes: Bytes,
        /// Packets dropped at this port, over all reasons.
        "dropped" dropped: u64,
        /// Packets that got a congestion mark at this port.
        "marked" marked: u64,
        /// Longest backlog of the port's queue during the run.
        "max_backlog_bytes" max_backlog: Bytes,
    }
}

table! {
    /// Directed link with its two nodes. All links of a run form its network.
    #[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct TopologyLink {
        /// Number of the port that sends into the link, as in [`PortTotals::port`].
        "port" port: u32,
        /// Name of the sending node, such as `h3` or `leaf[0]`.
        "from" from: String,
        /// Name of the receiving node.
        "to" to: String,
        /// Number of links between the sending node and its nearest host: 0 for a host.
        "from_tier" from_tier: u8,
        /// Number of links between the receiving node and its nearest host.
        "to_tier" to_tier: u8,
        /// Line rate.
        "rate_bps" rate: Rate,
        /// Propagation delay.
        "delay_ns" delay: Duration,
    }
}

/// Returns the suffix of each link's name. Most links have an empty suffix.
/// If several links connect the same two nodes, they have the suffixes `#0`, `#1` and so on, in their order.
pub fn link_numbers(topology: &[TopologyLink]) -> Vec<String> {
    let mut of_ends: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (place, link) in topology.iter().enumerate() {
        let ends = (link.from.as_str(), link.to.as_str());
        of_ends.entry(ends).or_default().push(place);
    }
    let mut numbers = vec![String::new(); topology.len()];
    for places in of_ends.into_values().filter(|places| places.len() > 1) {
        for (number, place) in places.into_iter().enumerate() {
            numbers[place] = format!("#{number}");
        }
    }
    numbers
}

/// Times of the samples of queues and links. There is one sample every `every_ns`. The first sample is at `every_ns`.
/// An empty queue or an idle link has no row for a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sampling {
    /// Time between two samples in nanoseconds.
    pub every_ns: u64,
    /// Number of sample times in the run.
    pub instants: u64,
}
