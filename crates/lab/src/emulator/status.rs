//! Status of a lab.

use crate::emulator::lateness::{LatenessSummary, Validity};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tailcut_record::PacketCount;

/// Status of a lab. Times and rates are on the network's clock, which is `slowdown` times slower than the wall clock.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Name of the lab.
    pub lab: String,
    /// Name of the design.
    pub design: String,
    /// Name of the topology.
    pub topology: String,
    /// Factor by which the network's clock is slower than the wall clock.
    pub slowdown: u32,
    /// Seconds since the start, on the wall clock.
    pub up_seconds: f64,
    /// Lateness of packets at their hosts.
    pub lateness: LatenessSummary,
    /// Delay of a full-size packet on the longest path without other traffic, in microseconds.
    pub unloaded_us: f64,
    /// Whether the results are valid, with the reasons if they are not.
    #[serde(flatten)]
    pub validity: Validity,
    /// Packets that have entered the network.
    pub sent: PacketCount,
    /// Packets that hosts have received.
    pub delivered: PacketCount,
    /// Packets that are in the network now.
    pub remaining: PacketCount,
    /// Number of dropped packets for each reason.
    pub drops: BTreeMap<String, PacketCount>,
    /// Notes for the user, about settings that the kernel does not have and about the congestion control.
    pub notes: Vec<String>,
    /// Status of each host.
    pub hosts: Vec<HostStatus>,
    /// Switches that are routers. The list is empty if switches are not routers.
    pub routers: Vec<RouterStatus>,
    /// Links, one entry for each direction.
    pub links: Vec<LinkStatus>,
}

/// Status of a host.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HostStatus {
    /// Name of the host.
    pub name: String,
    /// IPv4 address of the host.
    pub address: String,
    /// Packets that the host has sent into the network.
    pub sent: u64,
    /// Packets that the host has received.
    pub received: u64,
    /// Frames lost between the host's kernel and the fabric; `null` if the kernel does not count them.
    pub tun_dropped: Option<u64>,
    /// Frames that the first switch has rejected, by reason.
    pub refused: BTreeMap<String, u64>,
}

/// Status of a switch that is a router.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RouterStatus {
    /// Name of the switch.
    pub name: String,
    /// IPv4 address of the switch.
    pub address: String,
    /// Packets whose TTL expired at the switch.
    pub ended: u64,
    /// Expired packets to which the switch has replied.
    pub answered: u64,
}

/// Status of one direction of a link, with the queue before it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LinkStatus {
    /// Names of the link's two nodes, `from>to`.
    pub link: String,
    /// Whether the link is up and delivers packets.
    pub is_up: bool,
    /// Rate of the link in bits per second.
    pub rate_bps: u64,
    /// Propagation delay of the link in nanoseconds.
    pub delay_ns: u64,
    /// Number of packets that the link has sent.
    pub packets: u64,
    /// Number of bytes that the link has sent, including framing overhead.
    pub bytes: u64,
    /// Packets that the queue has dropped.
    pub dropped: u64,
    /// Probability with which the link currently loses a packet, 0 to 1.
    pub loss: f64,
    /// Packets that the link has lost at random.
    pub lost: u64,
    /// Packets that the queue has marked.
    pub marked: u64,
    /// Packets that the queue has trimmed to their headers.
    pub trimmed: u64,
    /// Packets in the queue now.
    pub queued_packets: u32,
    /// Bytes in the queue now.
    pub queued_bytes: u64,
    /// Maximum number of bytes in the queue since the start.
    pub most_queued_bytes: u64,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            lab,
            design,
            topology,
            ..
        } = self;
        write!(
            f,
            "lab {lab}: {design} on {topology}, up {:.0} s",
            self.up_seconds
        )?;
        match self.slowdown {
            1 => writeln!(f)?,
            times => writeln!(f, ", {times} times slower than real time")?,
        }
        let late = &self.lateness;
        writeln!(
            f,
            "lateness of {} packets: p50 {:.1} us, p99 {:.1} us, mean {:.1} us, longest {:.1} us",
            late.packets, late.p50_us, late.p99_us, late.mean_us, late.max_us
        )?;
        match self.validity.is_valid {
            true => writeln!(
                f,
                "valid: p99 within a fifth, mean within a twentieth of {:.0} us, a full packet's time over \
                 the longest path",
                self.unloaded_us
            )?,
            false => writeln!(f, "NOT VALID: {}", self.validity.why_not)?,
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        writeln!(f)?;
        writeln!(
            f,
            "{:<8} {:<14} {:>12} {:>12} {:>10}  not taken",
            "host", "address", "sent", "received", "tun drops"
        )?;
        for host in &self.hosts {
            let refused = host.refused.iter();
            let refused: Vec<String> = refused.map(|(why, n)| format!("{why} {n}")).collect();
            let dropped = host.tun_dropped.map_or("-".to_owned(), |n| n.to_string());
            writeln!(
                f,
                "{:<8} {:<14} {:>12} {:>12} {dropped:>10}  {}",
                host.name,
                host.address,
                host.sent,
                host.received,
                refused.join(", ")
            )?;
        }
        if !self.routers.is_empty() {
            let (name, address) = ("router", "address");
            let (ended, answered) = ("TTL ended", "answered");
            writeln!(f, "\n{name:<22} {address:<14} {ended:>12} {answered:>12}")?;
        }
        for router in &self.routers {
            let (name, address) = (&router.name, &router.address);
            let (ended, answered) = (router.ended, router.answered);
            writeln!(f, "{name:<22} {address:<14} {ended:>12} {answered:>12}")?;
        }
        writeln!(f)?;
        writeln!(
            f,
            "{:<22} {:>11} {:>12} {:>9} {:>9} {:>9} {:>8} {:>12}",
            "link", "Mb/s", "packets", "dropped", "lost", "marked", "queued", "most queued"
        )?;
        for link in &self.links {
            let rate = match link.is_up {
                true => format!("{}", link.rate_bps as f64 / 1e6),
                false => "down".to_owned(),
            };
            writeln!(
                f,
                "{:<22} {rate:>11} {:>12} {:>9} {:>9} {:>9} {:>8} {:>10.1}KB",
                link.link,
                link.packets,
                link.dropped,
                link.lost,
                link.marked,
                link.queued_packets,
                link.most_queued_bytes as f64 / 1e3
            )?;
        }
        Ok(())
    }
}
