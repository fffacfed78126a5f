//! Report of a check, as values and as text.

use crate::udp::TrafficClass;
#[cfg(feature = "command")]
use serde::Serialize;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use tailcut_units::Ecn;

/// Result of the test whether the endpoint answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "command", derive(Serialize))]
#[cfg_attr(feature = "command", serde(tag = "state", rename_all = "snake_case"))]
pub enum Reach {
    /// The endpoint answers. Both ends have the same key, or none.
    Answers,
    /// The endpoint answers checks without a key, but this end has a key.
    HasNoKey,
    /// The host reports (ICMP) that no program listens at the port.
    Refused {
        /// Address of the host that reports the closed port.
        by: Option<IpAddr>,
    },
    /// A firewall on the path or on this machine rejects the packets.
    Prohibited {
        /// Address of the host that reports the rejection. `None`: this machine.
        by: Option<IpAddr>,
    },
    /// There is no route to the host.
    Unreachable {
        /// Address of the host that reports the missing route. `None`: this machine.
        by: Option<IpAddr>,
    },
    /// The endpoint does not answer.
    Silent {
        /// Whether the host reports that another port is closed.
        /// If so, the host is running, and only the endpoint is silent.
        refuses_others: bool,
    },
}

/// Round-trip times in seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "command", derive(Serialize))]
pub struct RoundTrip {
    /// Number of round trips, at least 1.
    pub n: usize,
    /// Shortest round-trip time, in seconds.
    pub min: f64,
    /// Median of the round-trip times, in seconds.
    pub median: f64,
    /// Longest round-trip time, in seconds.
    pub max: f64,
}

/// Sizes of the largest IP packets that arrive, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "command", derive(Serialize))]
pub struct Mtu {
    /// Largest packet from this end to the other end. `None`: smaller than 1,280 bytes.
    pub there: Option<u16>,
    /// Largest packet that arrives at both ends. `None`: smaller than 1,280 bytes.
    pub back: Option<u16>,
    /// Largest size that was tried, in bytes.
    pub tried_up_to: u16,
}

/// Test of one TOS or traffic-class byte: whether the path changes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "command", derive(Serialize))]
pub struct Mark {
    /// Byte that both ends send.
    pub sent: u8,
    /// Byte that arrives at the other end. `None`: no packet with this byte arrives.
    pub there: Option<u8>,
    /// Byte that arrives at this end in the answer. `None`: no such answer arrives.
    pub back: Option<u8>,
}

/// Result of the test of losses, which sends packets at a constant rate.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "command", derive(Serialize))]
pub struct Burst {
    /// Number of packets sent.
    pub sent: usize,
    /// Number of packets without an answer.
    pub lost: usize,
    /// Size of each IP packet in bytes.
    pub size: u16,
    /// Rate of the packets in bits per second.
    pub rate: f64,
}

impl Burst {
    /// Returns the 95 % confidence interval of the share of lost round trips (Wilson).
    pub fn interval(&self) -> [f64; 2] {
        // An interval of the normal distribution would have no width if no packet is lost.
        const Z: f64 = 1.959_964;
        let (n, share) = (self.sent as f64, self.lost as f64 / self.sent.max(1) as f64);
        let middle = share + Z * Z / (2.0 * n);
        let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        let whole = 1.0 + Z * Z / n;
        [
            ((middle - half) / whole).max(0.0),
            ((middle + half) / whole).min(1.0),
        ]
    }
}

/// Path to an endpoint that answers.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "command", derive(Serialize))]
pub struct Path {
    /// Address of this end as the other end sees it.
    pub seen_as: SocketAddr,
    /// Round-trip times to the other end.
    pub round_trip: RoundTrip,
    /// Sizes of the largest packets that arrive.
    pub mtu: Mtu,
    /// Results for three values of the ECN field: not ECN-capable, ECN-capable (ECT(0)), congestion experienced (CE).
    /// All three packets have the same DSCP.
    pub marks: [Mark; 3],
    /// Result of the test of losses.
    pub burst: Burst,
    /// Receive buffer of the other end, in bytes.
    pub buffer_there: u32,
}

/// Result of the test of a multicast group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "command", derive(Serialize))]
pub struct Group {
    /// Address of the multicast group.
    pub address: IpAddr,
    /// Whether the other end has answered a check that was sent to the group.
    pub hears: bool,
}

/// Report of a check.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "command", derive(Serialize))]
pub struct Report {
    /// Address of the other end.
    pub to: SocketAddr,
    /// Whether this end has a key.
    pub has_key: bool,
    /// Result of the test whether the other end answers.
    pub reach: Reach,
    /// Path to the other end, if it answers.
    pub path: Option<Path>,
    /// Receive buffer of this end, in bytes.
    pub buffer_here: u32,
    /// Recommended receive buffer of both ends, in bytes.
    pub buffer_wanted: u32,
    /// Result for the multicast group, if one was given.
    pub group: Option<Group>,
}

impl Report {
    /// Returns whether transfers will reach the other end.
    pub fn is_good(&self) -> bool {
        self.reach == Reach::Answers
    }

    /// Returns an nftables rule that opens the port in a firewall of the other end.
    pub fn firewall_rule(&self) -> String {
        let port = self.to.port();
        format!("nft add rule inet filter input udp dport {port} accept")
    }
}

/// Host that reports an error, as text. `None`: this machine.
struct Who(Option<IpAddr>);

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(address) => write!(f, "{address} reports"),
            None => f.write_str("this machine reports"),
        }
    }
}

/// Time in seconds, which is displayed in milliseconds.
struct Milliseconds(f64);

impl fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ms", self.0 * 1e3)
    }
}

/// Size of a buffer in bytes, which is displayed in KiB or MiB.
struct Buffer(u32);

impl fmt::Display for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes @ 1_048_576.. => write!(f, "{:.1} MiB", f64::from(bytes) / 1_048_576.0),
            bytes => write!(f, "{} KiB", bytes / 1_024),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.to)?;
        self.write_reach(f)?;
        if let Some(path) = &self.path {
            write_path(path, f)?;
            self.write_buffers(path.buffer_there, f)?;
        }
        if let Some(group) = self.group {
            let hears = match group.hears {
                true => "the other end receives from it",
                false => {
                    "the other end does not receive from it; it has to run `recv --group`, and switches \
                     and routers have to forward the group (--ttl is 1 hop unless given)"
                }
            };
            writeln!(f, "  group     {}: {hears}", group.address)?;
        }
        write!(
            f,
            "  firewall  there, if it has one: {}",
            self.firewall_rule()
        )
    }
}

impl Report {
    fn write_reach(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.to.port();
        match self.reach {
            Reach::Answers => {
                writeln!(f, "  UDP       a `tailcut cast` answers")?;
                let key = match self.has_key {
                    true => "both ends have the same",
                    false => "neither end has one (--psk)",
                };
                writeln!(f, "  key       {key}")
            }
            Reach::HasNoKey => {
                writeln!(f, "  UDP       a `tailcut cast` answers")?;
                writeln!(
                    f,
                    "  key       this end has a key, the other end has none: start it with --psk"
                )
            }
            Reach::Refused { by } => writeln!(
                f,
                "  UDP       {} that no program listens at port {port} (ICMP): start `tailcut cast recv` or \
                 `serve` there, with --listen",
                Who(by)
            ),
            Reach::Prohibited { by } => writeln!(
                f,
                "  UDP       {} that a firewall rejects the packets",
                Who(by)
            ),
            Reach::Unreachable { by } => {
                writeln!(
                    f,
                    "  UDP       {} that there is no route to the host",
                    Who(by)
                )
            }
            Reach::Silent { refuses_others } => {
                let key = match self.has_key {
                    true => "has another key",
                    false => "has a key (--psk), and this end has none",
                };
                match refuses_others {
                    true => writeln!(
                        f,
                        "  UDP       silent, although the host answers for other ports: the program at port \
                         {port} {key}, or a firewall drops packets to this port"
                    ),
                    false => writeln!(
                        f,
                        "  UDP       silent: the host is off, a firewall drops packets to this port, or the \
                         program there {key}"
                    ),
                }
            }
        }
    }

    fn write_buffers(&self, there: u32, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let here = self.buffer_here;
        write!(
            f,
            "  buffers   here {}, there {}",
            Buffer(here),
            Buffer(there)
        )?;
        let wanted = self.buffer_wanted;
        let place = match (here < wanted, there < wanted) {
            (false, false) => return writeln!(f),
            (true, false) => "here",
            (false, true) => "there",
            (true, true) => "at both ends",
        };
        writeln!(
            f,
            "; {} would lose fewer packets, {place}: sysctl -w net.core.rmem_max={wanted}",
            Buffer(wanted)
        )
    }
}

fn write_path(path: &Path, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "  address   this end is {} there", path.seen_as)?;
    let RoundTrip {
        n,
        min,
        median,
        max,
    } = path.round_trip;
    writeln!(
        f,
        "  time      round trip {} (median), {} to {}, n = {n}",
        Milliseconds(median),
        Milliseconds(min),
        Milliseconds(max)
    )?;
    let size = |size: Option<u16>| match size {
        Some(size) => format!("{size} bytes"),
        None => "less than 1280 bytes: cast needs 1280".to_owned(),
    };
    let more = match path.mtu.there == Some(path.mtu.tried_up_to) {
        true => " (more was not tried)",
        false => "",
    };
    writeln!(
        f,
        "  MTU       {} there, {} back{more}",
        size(path.mtu.there),
        size(path.mtu.back)
    )?;
    write_marks(&path.marks, f)?;
    let Burst {
        sent,
        lost,
        size,
        rate,
    } = path.burst;
    let [low, high] = path.burst.interval().map(|share| share * 100.0);
    writeln!(
        f,
        "  loss      {lost} of {sent} round trips of {size} bytes at {:.1} Mbit/s ({low:.1} to {high:.1} %, \
         with 95 % confidence)",
        rate / 1e6
    )
}

fn write_marks(marks: &[Mark; 3], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let dscp = |byte: Option<u8>| match byte {
        Some(byte) => TrafficClass(byte).dscp().to_string(),
        None => "nothing".to_owned(),
    };
    let plain = marks[0];
    writeln!(
        f,
        "  DSCP      {} arrives there as {}, comes back as {}",
        TrafficClass(plain.sent).dscp(),
        dscp(plain.there),
        dscp(plain.back)
    )?;
    let survives = |mark: &Mark, byte: Option<u8>| {
        byte.is_some_and(|byte| TrafficClass(byte).ecn() == TrafficClass(mark.sent).ecn())
    };
    let marks = &marks[1..];
    let there = marks.iter().all(|mark| survives(mark, mark.there));
    let back = marks.iter().all(|mark| survives(mark, mark.back));
    let ecn = |byte: Option<u8>| match byte.map(|byte| TrafficClass(byte).ecn()) {
        Some(Ecn::NotCapable) => "Not-ECT",
        Some(Ecn::CapableOne) => "ECT(1)",
        Some(Ecn::Capable) => "ECT(0)",
        Some(Ecn::Marked) => "CE",
        None => "nothing",
    };
    if there && back {
        return writeln!(f, "  ECN       ECT(0) and CE survive both ways");
    }
    write!(f, "  ECN       ")?;
    for (at, mark) in marks.iter().enumerate() {
        let comma = if at > 0 { "; " } else { "" };
        write!(
            f,
            "{comma}{} arrives there as {}, comes back as {}",
            ecn(Some(mark.sent)),
            ecn(mark.there),
            ecn(mark.back)
        )?;
    }
    writeln!(f)
}
