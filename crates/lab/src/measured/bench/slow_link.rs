//! Test network for benches: hosts on both sides of a slow link of 100 Mb/s. The network runs until the process ends.

use super::figure::Figure;
use crate::emulator::addresses;
use crate::emulator::control::{LinkChange, Orders};
use crate::emulator::host::{CARD, Host};
use crate::emulator::network::{self, Network};
use crate::emulator::plan::LabPlan;
use crate::emulator::sandbox::namespaces::{self, Namespace};
use anyhow::{Context, Result, anyhow};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use tailcut_cast::driver::{Endpoint, Options};
use tailcut_cast::udp::Multicast;
use tailcut_scenario::Scenario;
use tailcut_units::HostId;

/// Rate of the slow link in bits per second.
pub(super) const RATE: f64 = 100e6;
const PORT: u16 = 7_000;

/// Network with a slow link, and the network namespaces of its hosts.
pub(super) struct SlowLinkNetwork {
    network: Network,
    namespaces: Vec<OwnedFd>,
}

impl SlowLinkNetwork {
    /// Creates a network with `left` hosts before the slow link and `right` hosts behind it.
    /// The hosts have links of 1 Gb/s. `round_trip_us` is the round-trip time in microseconds.
    /// `queue` is the queue limit of the slow link in packets.
    pub(super) fn new(left: u32, right: u32, round_trip_us: u32, queue: u32) -> Result<Self> {
        let half = round_trip_us / 2;
        let text = format!(
            "designs = [\"scdp-plain\"]\n\
             [topology]\nrate = \"1Gbps\"\ndelay = \"0s\"\n\
             [queue]\nlimit = \"{queue} packets\"\nmark_above = \"off\"\n\
             [[nodes]]\nname = \"left\"\nkind = \"host\"\ncount = {left}\n\
             [[nodes]]\nname = \"right\"\nkind = \"host\"\ncount = {right}\n\
             [[nodes]]\nname = \"west\"\nkind = \"switch\"\n\
             [[nodes]]\nname = \"east\"\nkind = \"switch\"\n\
             [[links]]\na = \"left\"\nb = \"west\"\n\
             [[links]]\na = \"right\"\nb = \"east\"\n\
             [[links]]\na = \"west\"\nb = \"east\"\nrate = \"100Mbps\"\ndelay = \"{half}us\"\n\
             [[workload]]\nsizes = \"fixed:1KB\"\n"
        );
        let scenario = Scenario::from_text(&text)?;
        let plan = LabPlan::new("bench", &scenario, 1)?;
        let count = left + right;
        let hosts = (0..count).map(|host| Host::create(HostId(host), count, &plan.kernel));
        let hosts = hosts.collect::<Result<Vec<Host>>>()?;
        let namespaces = hosts.iter().map(|host| host.namespace.try_clone());
        let namespaces = namespaces.collect::<std::io::Result<Vec<OwnedFd>>>()?;
        let network = network::start(plan, hosts)?;
        Ok(Self {
            network,
            namespaces,
        })
    }

    /// Sets the share of packets that a link loses in each direction, 0 to 1.
    pub(super) fn lose(&self, link: &str, share: f64) -> Result<()> {
        let change = LinkChange {
            loss_ppb: Some((share * 1e9).round() as u32),
            ..LinkChange::default()
        };
        let changed = self.network.change_link(link, change);
        changed.map(drop).map_err(|error| anyhow!(error))
    }

    fn enter(&self, host: u32) -> Result<SocketAddr> {
        namespaces::enter(&self.namespaces[host as usize], Namespace::Network)?;
        Ok((addresses::ipv4(HostId(host)), PORT).into())
    }

    /// Returns an SCDP endpoint at a host, without limits on memory.
    pub(super) fn endpoint(&self, host: u32) -> Result<Endpoint> {
        let local = self.enter(host)?;
        endpoint(local)
    }

    /// Returns an SCDP endpoint that can receive packets to a multicast group, and its unicast address.
    /// The endpoint is bound to all addresses of the host, because it would otherwise not receive packets to a group.
    pub(super) fn member(&self, host: u32) -> Result<(Endpoint, SocketAddr)> {
        let address = self.enter(host)?;
        Ok((endpoint(([0, 0, 0, 0], PORT).into())?, address))
    }

    pub(super) fn join(member: &Endpoint, group: SocketAddr) -> Result<()> {
        member.join(group.ip(), CARD).context("cannot join a group")
    }

    /// Opens a TCP connection between two hosts. Their kernels use CUBIC.
    pub(super) fn connection(&self, from: u32, to: u32) -> Result<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind(self.enter(to)?)?;
        self.enter(from)?;
        let sender = TcpStream::connect(listener.local_addr()?)?;
        let (receiver, _) = listener.accept()?;
        Ok((sender, receiver))
    }

    /// Returns the lateness of the network, and whether the measurement is valid.
    pub(super) fn lateness(&self, of: &str) -> Result<[Figure; 2]> {
        let status = self.network.status().context("the network has ended")?;
        Ok([
            Figure::without_target(format!("{of}: lateness, p99 (us)"), status.lateness.p99_us),
            Figure::without_target(
                format!("{of}: valid (1: yes)"),
                f64::from(u8::from(status.validity.is_valid)),
            ),
        ])
    }
}

fn endpoint(local: SocketAddr) -> Result<Endpoint> {
    let options = Options {
        object: u64::MAX,
        memory: u64::MAX,
        multicast: Multicast {
            interface: CARD,
            ..Multicast::default()
        },
        ..Options::default()
    };
    Ok(Endpoint::bind(local, &options)?)
}
