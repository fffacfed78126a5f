//! Kernel settings of each host, derived from the keys of the scenario.

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

/// Kernel settings of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelSettings {
    /// Congestion control of the host's TCP connections.
    pub congestion: Congestion,
    /// Whether connections negotiate ECN.
    pub ecn: bool,
    /// Maximum length of an IP packet in bytes.
    pub mtu: u32,
    /// Initial window in segments; `None`: the kernel's default.
    pub initial_window: Option<u32>,
    /// Maximum receive window in bytes; `None`: the kernel's default.
    pub window: Option<u32>,
    /// Lower bound of the retransmission timeout.
    pub min_rto: Duration,
    /// Whether receivers report SACK blocks.
    pub sack: bool,
    /// Whether segments carry time stamps.
    pub timestamps: bool,
    /// Maximum number of SYN retransmissions.
    pub syn_retries: u8,
    /// Maximum number of consecutive retransmissions of data.
    pub data_retries: u8,
    /// Length of the TAP device's queue in frames. The queue holds frames until the fabric reads them.
    pub tap_queue: u32,
    /// Limit of the host's own queue in packets.
    pub queue: NonZeroU32,
}

/// Length of the kernel's queue before a TAP device, in frames.
/// The kernel's queue only holds the frames that arrive while the fabric's thread sleeps.
/// When the thread wakes up, it moves the frames to the host's own queue.
const TAP_QUEUE: u32 = 4_096;
/// Default limit of the host's own queue: Linux's default queue length.
pub(super) const USUAL_QUEUE: NonZeroU32 = NonZeroU32::new(1_000).unwrap();
/// Ratio of the receive buffer to the receive window.
/// The buffer is larger than the window, because the kernel counts its overhead for each packet as used buffer.
const BUFFER_OF_WINDOW: u32 = 4;
/// Header bytes of IPv4 and UDP.
const IPV4_AND_UDP: u32 = 28;

/// Header bytes of IPv4 and TCP.
const IPV4_AND_TCP: u32 = 40;

/// Returns the largest total size of a packet's headers in bytes, from the IPv4 header to the transport header.
fn headers(kernel: Kernel) -> u32 {
    match kernel {
        Kernel::Cast { credits: false } => IPV4_AND_UDP + paper::SYN_BYTES as u32,
        Kernel::Cast { credits: true } => IPV4_AND_UDP + credit::SYMBOL_BYTES as u32,
        Kernel::Tcp { .. } | Kernel::Missing(_) => IPV4_AND_TCP,
    }
}

/// Returns the program that runs the transport of a stack on the lab's hosts.
///
/// The lab does not support the transport, or it does not support copies of requests over this transport.
/// The lab does not support the transport, or it does not support copies of requests over it.
pub fn carried(stack: Stack) -> Result<Kernel> {
    let design = stack.design;
    let duplicates = matches!(stack.replication, Replication::Duplicates(_));
    let why = match design.kernel() {
        Kernel::Missing(why) => why,
        // PIAS already uses the priority classes that copies of requests need.
        // The pacer of HULL does not support copies.
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
        "design: found {stack} ({why}); allowed in the lab: {}; in studies, designs over TCP also with repflow+, \
         repsyn+ or mixed+, and {} also with duplicate+, das+, rans+ or similar",
        served.join(", "),
        copied.join(", ")
    )
}

/// Returns whether the lab's hosts support copies of requests over the design. The design must use the kernel's TCP.
/// A design with copies must not set priority classes, and must have no layer in NICs.
fn carries_copies(design: &Design) -> bool {
    matches!(design.kernel(), Kernel::Tcp { .. })
        && !design.hosts.have_tags()
        && design.carries_requests()
}

impl KernelSettings {
    /// Returns the settings for the hosts of a run.
    /// The network's clock is `slowdown` times slower than the hosts' clock.
    ///
    /// # Errors
    /// The kernel does not support the transport of the design.
    pub fn of(config: &RunConfig, slowdown: u32) -> Result<Self> {
        let tcp = &config.settings.tcp;
        let settings = &config.settings;
        let kernel = carried(config.stack)?;
        let (congestion, ecn) = match kernel {
            // The network card adds the classes of PIAS and the pacer of HULL to the kernel's DCTCP.
            Kernel::Tcp { control, ecn } => {
                let congestion = match control(settings) {
                    KernelControl::Named(name) => Congestion::named(name),
                    KernelControl::Dctcp { gain, first_alpha } => {
                        Congestion::dctcp(Parameters::new(gain, first_alpha))
                    }
                };
                (congestion, ecn(settings))
            }
            // SCDP does not use the kernel's TCP, so programs on hosts with SCDP keep the default TCP.
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
            timestamps: tcp.timestamps,
            syn_retries: tcp.max_syn_retries,
            data_retries: tcp.max_data_retries,
            tap_queue: TAP_QUEUE,
            queue: config.settings.nic.queue.unwrap_or(USUAL_QUEUE),
        })
    }

    /// Writes all settings that are not part of routes, in the network namespace of the calling thread.
    /// Returns the keys that the kernel does not have.
    ///
    /// # Errors
    /// The kernel rejects a value.
    pub fn apply(&self) -> Result<Vec<String>> {
        let ecn = if self.ecn { "1" } else { "0" };
        let sack = if self.sack { "1" } else { "0" };
        let timestamps = if self.timestamps { "1" } else { "0" };
        // The kernel requires at least 1.
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
            ("ipv4/tcp_timestamps", timestamps),
            ("ipv4/tcp_syn_retries", &syn_retries),
            ("ipv4/tcp_retries2", &data_retries),
            // A new connection must not depend on earlier connections.
            ("ipv4/tcp_no_metrics_save", "1"),
            // A socket joins one group for each multicast object that it receives.
            ("ipv4/igmp_max_memberships", "1024"),
            // With this range, programs on the hosts can use ping without further privileges.
            ("ipv4/ping_group_range", "0 0"),
        ];
        let window = self
            .window
            .map(|bytes| bytes.saturating_mul(BUFFER_OF_WINDOW));
        let buffer = window.map(|bytes| format!("4096 {bytes} {bytes}"));
        let fixed = buffer.as_deref().into_iter().flat_map(|buffer| {
            // By default, the kernel enlarges the buffer, and the window exceeds the limit of the route.
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
