//! What the kernel of each host is told, from the keys that the simulator reads.

use super::congestion::Congestion;
use crate::bpf::Parameters;
use anyhow::{Context, Result, bail};
use std::fs;
use std::num::NonZeroU32;
use tailcut_scenario::sim::RunConfig;
use tailcut_scenario::sim::transport::tcp::InitialWindow;
use tailcut_scenario::sim::{Design, Kernel, KernelControl, Registered, Replication, Stack};
use tailcut_units::Duration;
use tailcut_wire::scdp::{credit, paper};

/// How a host's kernel is set up.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelSettings {
    /// The congestion control.
    pub congestion: Congestion,
    /// Whether connections negotiate ECN.
    pub ecn: bool,
    /// Bytes of the largest IP packet.
    pub mtu: u32,
    /// The initial window in segments; `None`: the kernel's own.
    pub initial_window: Option<u32>,
    /// Bytes that receivers allow on their way at most; `None`: what the kernel gives.
    pub window: Option<u32>,
    /// The lower bound of the retransmission timeout.
    pub min_rto: Duration,
    /// Whether receivers report SACK blocks.
    pub sack: bool,
    /// How often a SYN is sent again.
    pub syn_retries: u8,
    /// How often in a row data are sent again.
    pub data_retries: u8,
    /// Frames that the network card's queue holds until the fabric has read them.
    pub tap_queue: u32,
    /// Packets that the host's own queue holds.
    pub queue: NonZeroU32,
}

/// What the kernel's queue before a TAP holds. The fabric empties it at once into the host's own queue, so it
/// only has to last while the fabric's thread sleeps.
const TAP_QUEUE: u32 = 4_096;
/// The host's own queue where a scenario says nothing: Linux's usual length.
pub(super) const USUAL_QUEUE: NonZeroU32 = NonZeroU32::new(1_000).unwrap();
/// How much larger a receive buffer is than the window that it is to hold: the kernel counts its own overhead.
const BUFFER_OF_WINDOW: u32 = 4;
/// Header bytes of IPv4 and UDP.
const IPV4_AND_UDP: u32 = 28;

/// Header bytes of IPv4 and TCP.
const IPV4_AND_TCP: u32 = 40;

/// Returns the bytes of IPv4's header and the headers above it, at most.
fn headers(kernel: Kernel) -> u32 {
    match kernel {
        Kernel::Cast { credits: false } => IPV4_AND_UDP + paper::SYN_BYTES as u32,
        Kernel::Cast { credits: true } => IPV4_AND_UDP + credit::SYMBOL_BYTES as u32,
        Kernel::Tcp { .. } | Kernel::Missing(_) => IPV4_AND_TCP,
    }
}

/// Returns the program that runs the transport of a stack on the lab's hosts.
///
/// # Errors
/// There is none, or copies of requests do not go with it.
pub fn carried(stack: Stack) -> Result<Kernel> {
    let design = stack.design;
    let duplicates = matches!(stack.replication, Replication::Duplicates(_));
    let why = match design.kernel() {
        Kernel::Missing(why) => why,
        // Copies have classes, which packets of PIAS have too, and pass no pacer.
        _ if duplicates && !carries_copies(design) => {
            "its packets have no class for copies of requests"
        }
        kernel => return Ok(kernel),
    };
    let designs = Design::all().into_iter();
    let served = designs.filter(|one| !matches!(one.kernel(), Kernel::Missing(_)));
    let (served, copied): (Vec<_>, Vec<_>) = served
        .map(|one| (one.name, carries_copies(one).then_some(one.name)))
        .unzip();
    let copied: Vec<&str> = copied.into_iter().flatten().collect();
    bail!(
        "design: found {stack} ({why}); allowed in the lab: {}, those over TCP in studies also with repflow+, repsyn+ \
         or mixed+; {} with duplicate+, das+, rans+ and the like",
        served.join(", "),
        copied.join(", ")
    )
}

/// Returns whether copies of requests run over the design on the lab's hosts: over TCP of the kernel, with no other
/// classes and no layer in network cards.
fn carries_copies(design: &Design) -> bool {
    matches!(design.kernel(), Kernel::Tcp { .. })
        && !design.hosts.have_tags()
        && design.carries_requests()
}

impl KernelSettings {
    /// The settings of the hosts of a run whose clock goes `slowdown` times slower than theirs.
    ///
    /// # Errors
    /// A design whose transport no kernel has.
    pub fn of(config: &RunConfig, slowdown: u32) -> Result<Self> {
        let tcp = &config.settings.tcp;
        let settings = &config.settings;
        let kernel = carried(config.stack)?;
        let (congestion, ecn) = match kernel {
            // PIAS and HULL add classes and pacers to DCTCP in network cards.
            Kernel::Tcp { control, ecn } => {
                let congestion = match control(settings) {
                    KernelControl::Named(name) => Congestion::named(name),
                    KernelControl::Dctcp { gain, first_alpha } => {
                        Congestion::dctcp(Parameters::new(gain, first_alpha))
                    }
                };
                (congestion, ecn(settings))
            }
            // Other programs on these hosts have the kernel's usual TCP.
            Kernel::Cast { .. } | Kernel::Missing(_) => {
                (Congestion::named("cubic"), tcp.classic_ecn)
            }
        };
        Ok(Self {
            congestion,
            ecn,
            mtu: tcp.mss + headers(kernel),
            initial_window: match tcp.initial_window {
                InitialWindow::Segments(segments) => Some(segments),
                InitialWindow::Bytes(bytes) => Some((bytes / u64::from(tcp.mss)).max(1) as u32),
            },
            window: u32::try_from(tcp.max_cwnd).ok(),
            min_rto: tcp.min_rto.saturating_mul(slowdown.into()),
            sack: tcp.sack,
            syn_retries: tcp.max_syn_retries,
            data_retries: tcp.max_data_retries,
            tap_queue: TAP_QUEUE,
            queue: config.settings.nic.queue.unwrap_or(USUAL_QUEUE),
        })
    }

    /// Tells the kernel of this thread's network namespace what is not in routes. Keys that a kernel does
    /// not have are left out and told.
    ///
    /// # Errors
    /// The system refuses a value.
    pub fn apply(&self) -> Result<Vec<String>> {
        let ecn = if self.ecn { "1" } else { "0" };
        let sack = if self.sack { "1" } else { "0" };
        // The kernel wants at least one.
        let syn_retries = self.syn_retries.max(1).to_string();
        let data_retries = self.data_retries.max(1).to_string();
        let min_rto_us = (self.min_rto.as_ns() / 1_000).max(1).to_string();
        let keys = [
            ("ipv6/conf/all/accept_ra", "0"),
            ("ipv6/conf/default/accept_ra", "0"),
            ("ipv6/conf/default/addr_gen_mode", "1"),
            ("ipv4/tcp_ecn", ecn),
            ("ipv4/tcp_rto_min_us", &min_rto_us),
            ("ipv4/tcp_sack", sack),
            ("ipv4/tcp_syn_retries", &syn_retries),
            ("ipv4/tcp_retries2", &data_retries),
            // A connection's past is not the next one's.
            ("ipv4/tcp_no_metrics_save", "1"),
            // A socket joins a group for each object that it receives with others.
            ("ipv4/igmp_max_memberships", "1024"),
            // The hosts' own root may ping as everybody may.
            ("ipv4/ping_group_range", "0 0"),
        ];
        let window = self
            .window
            .map(|bytes| bytes.saturating_mul(BUFFER_OF_WINDOW));
        let buffer = window.map(|bytes| format!("4096 {bytes} {bytes}"));
        let fixed = buffer.as_deref().into_iter().flat_map(|buffer| {
            // A window that grows with its buffer would leave the route's limit behind.
            [("ipv4/tcp_moderate_rcvbuf", "0"), ("ipv4/tcp_rmem", buffer)]
        });
        let mut missing = Vec::new();
        for (key, value) in keys.into_iter().chain(fixed) {
            let path = format!("/proc/sys/net/{key}");
            if !fs::exists(&path).unwrap_or_default() {
                missing.push(key.replace('/', "."));
                continue;
            }
            fs::write(&path, value)
                .with_context(|| format!("cannot set net.{} to {value}", key.replace('/', ".")))?;
        }
        Ok(missing)
    }
}
