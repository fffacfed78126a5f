//! Samples of queues and links, and each port's totals.

use tailcut_units::{Bytes, Time};

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
    /// The port's name, such as `leaf0->spine2`.
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
