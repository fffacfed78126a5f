//! What a lab says of itself.

use crate::emulator::lateness::{LatenessSummary, Validity};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use tailcut_record::PacketCount;

/// What a lab says of itself. Times and rates are by the network's clock, which goes `slowdown` times slower
/// than the wall's.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Its name.
    pub lab: String,
    /// The design.
    pub design: String,
    /// The network.
    pub topology: String,
    /// How many times slower than the wall's the network's clock goes.
    pub slowdown: u32,
    /// Seconds since it began, by the wall's clock.
    pub up_seconds: f64,
    /// How late packets were handed to hosts.
    pub lateness: LatenessSummary,
    /// Microseconds of a full packet over the longest path when nothing else is on it.
    pub unloaded_us: f64,
    /// Whether what it shows can be trusted.
    #[serde(flatten)]
    pub validity: Validity,
    /// Packets that have entered the network.
    pub sent: PacketCount,
    /// Packets that hosts have got.
    pub delivered: PacketCount,
    /// Packets in the network now.
    pub remaining: PacketCount,
    /// Packets dropped, by reason.
    pub drops: BTreeMap<String, PacketCount>,
    /// What the kernel of this machine cannot do of what the design asks.
    pub notes: Vec<String>,
    /// The hosts.
    pub hosts: Vec<HostStatus>,
    /// The switches, where they are routers.
    pub routers: Vec<RouterStatus>,
    /// The links, one entry for each direction.
    pub links: Vec<LinkStatus>,
}

/// A host.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct HostStatus {
    /// Its name.
    pub name: String,
    /// Its IPv4 address.
    pub address: String,
    /// Packets that it has sent into the network.
    pub sent: u64,
    /// Packets that it has got.
    pub received: u64,
    /// Frames that were lost between its kernel and the fabric; `null` where the kernel does not say.
    pub tun_dropped: Option<u64>,
    /// Frames that the first switch did not take, by reason.
    pub refused: BTreeMap<String, u64>,
}

/// A switch that is a router.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RouterStatus {
    /// Its name.
    pub name: String,
    /// Its IPv4 address.
    pub address: String,
    /// Packets whose TTL ended there.
    pub ended: u64,
    /// Packets among them that it has answered.
    pub answered: u64,
}

/// A link in one direction, with the queue before it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct LinkStatus {
    /// `from>to`.
    pub link: String,
    /// Whether it delivers what is sent into it.
    pub is_up: bool,
    /// Bits per second.
    pub rate_bps: u64,
    /// Propagation delay in nanoseconds.
    pub delay_ns: u64,
    /// Packets sent.
    pub packets: u64,
    /// Bytes of line time sent.
    pub bytes: u64,
    /// Packets that its queue has dropped.
    pub dropped: u64,
    /// The share of packets that it loses at random now, 0 to 1.
    pub loss: f64,
    /// Packets that it has lost at random.
    pub lost: u64,
    /// Packets that its queue has marked.
    pub marked: u64,
    /// Packets whose payload its queue has cut off.
    pub trimmed: u64,
    /// Queued packets now.
    pub queued_packets: u32,
    /// Queued bytes now.
    pub queued_bytes: u64,
    /// The most bytes that were queued.
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
            times => writeln!(f, ", {times} times slower than asked")?,
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
