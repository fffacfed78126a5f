//! Benches that send single datagrams. The delay is the difference of the kernels' packet timestamps at the two ends.

use super::figure::Figure;
use crate::emulator::addresses;
use crate::emulator::host::Host;
use crate::emulator::network::{self, Network};
use crate::emulator::plan::LabPlan;
use crate::emulator::sandbox::namespaces::{self, Namespace};
use anyhow::{Context, Result, bail};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, TimestampingFlag, recvmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;
use std::io::IoSliceMut;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};
use tailcut_scenario::Scenario;
use tailcut_units::{HostId, median};

/// Scenario with two hosts. The path between them has four links of 100 Mb/s without propagation delay.
const FOUR_LINKS: &str = "designs = [\"cubic\"]\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\n\
                          spines = 1\nhosts = 1\nrate = \"100Mbps\"\ndelay = \"0s\"\n[[workload]]\n\
                          sizes = \"fixed:1KB\"\n";
/// Payload of a full datagram in bytes.
const FULL: usize = 1_472;
/// Serialisation time of a full packet (1,538 bytes) on a link of 100 Mb/s, in microseconds.
const ON_LINK_US: f64 = 123.04;
const PORT: u16 = 7_000;
/// Size of the sockets' receive buffers in bytes, including the kernel's overhead.
const RECEIVED: usize = 1 << 20;
/// Number of datagrams whose delay is measured, one at a time.
const LONE: usize = 500;
/// Number of packets in the queue before the last packet.
const QUEUED: usize = 100;
/// Number of measurements of a full queue.
const QUEUES: usize = 50;

/// Measures the delay of single datagrams on an idle path, between the kernels and between the applications.
pub fn lone() -> Result<Vec<Figure>> {
    let lab = TwoHosts::new()?;
    let (mut kernels, mut applications) = (Vec::new(), Vec::new());
    for _ in 0..LONE {
        std::thread::sleep(Duration::from_millis(2));
        let sent = Instant::now();
        lab.send()?;
        let received = lab.receive()?;
        applications.push(sent.elapsed().as_secs_f64() * 1e6);
        kernels.push(micros(received - lab.when_sent()?));
    }
    let ideal = 4.0 * ON_LINK_US;
    let kernels = middle_and_tail(&mut kernels);
    let applications = middle_and_tail(&mut applications);
    Ok(vec![
        Figure::without_target("ideal (us)", ideal),
        Figure::wanted("between kernels, p50 (us)", kernels[0], ideal, ideal + 40.0),
        Figure::without_target("between kernels, p99 (us)", kernels[1]),
        Figure::wanted(
            "between applications, p50 (us)",
            applications[0],
            ideal,
            ideal + 100.0,
        ),
        Figure::without_target("between applications, p99 (us)", applications[1]),
    ])
}

/// Sends 101 datagrams together, and measures how long the last datagram waits behind the earlier datagrams.
pub fn queue() -> Result<Vec<Figure>> {
    let lab = TwoHosts::new()?;
    let mut waits = Vec::new();
    for _ in 0..QUEUES {
        std::thread::sleep(Duration::from_millis(5));
        // The first datagram does not wait.
        // The waiting time of the last datagram is its delay minus the delay of the first datagram.
        for _ in 0..=QUEUED {
            lab.send()?;
        }
        let first = lab.receive()?;
        let mut last = first;
        for n in 0..QUEUED {
            last = lab
                .receive()
                .with_context(|| format!("{n} of {QUEUED} datagrams arrived"))?;
        }
        waits.push(micros(last - first));
    }
    let ideal = QUEUED as f64 * ON_LINK_US;
    let [measured, _] = middle_and_tail(&mut waits);
    Ok(vec![
        Figure::without_target("serialisation of 100 packets (us)", ideal),
        Figure::wanted(
            "delay added by 100 queued packets, p50 (us)",
            measured,
            ideal * 0.97,
            ideal * 1.03,
        ),
    ])
}

fn micros(time: TimeSpec) -> f64 {
    time.tv_sec() as f64 * 1e6 + time.tv_nsec() as f64 / 1e3
}

/// Returns the median and the 99th percentile, or zeros if there are no values.
fn middle_and_tail(values: &mut [f64]) -> [f64; 2] {
    let median = median(values).unwrap_or(0.0);
    let tail = values.get(values.len() * 99 / 100).copied();
    [median, tail.unwrap_or(0.0)]
}

/// Network of two hosts with one socket each. The network ends when the process ends.
struct TwoHosts {
    _network: Network,
    sender: UdpSocket,
    receiver: UdpSocket,
}

impl TwoHosts {
    fn new() -> Result<Self> {
        let scenario = Scenario::from_text(FOUR_LINKS)?;
        let plan = LabPlan::new("bench", &scenario, 1)?;
        let hosts = (0..2).map(|host| Host::create(HostId(host), 2, &plan.kernel));
        let hosts = hosts.collect::<Result<Vec<Host>>>()?;
        let networks = hosts.iter().map(|host| host.namespace.try_clone());
        let networks = networks.collect::<std::io::Result<Vec<OwnedFd>>>()?;
        let socket = |host: u32| -> Result<UdpSocket> {
            namespaces::enter(&networks[host as usize], Namespace::Network)?;
            let socket = UdpSocket::bind(SocketAddrV4::new(addresses::ipv4(HostId(host)), PORT))?;
            let stamps = TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE
                | TimestampingFlag::SOF_TIMESTAMPING_TX_SOFTWARE
                | TimestampingFlag::SOF_TIMESTAMPING_RX_SOFTWARE;
            setsockopt(&socket, sockopt::Timestamping, &stamps)?;
            // The sending thread reads only after it has sent all datagrams, so the buffer must hold all datagrams.
            setsockopt(&socket, sockopt::RcvBuf, &RECEIVED)?;
            socket.set_read_timeout(Some(Duration::from_secs(2)))?;
            Ok(socket)
        };
        let (sender, receiver) = (socket(0)?, socket(1)?);
        sender.connect(SocketAddrV4::new(addresses::ipv4(HostId(1)), PORT))?;
        Ok(Self {
            _network: network::start(plan, hosts)?,
            sender,
            receiver,
        })
    }

    fn send(&self) -> Result<()> {
        self.sender.send(&[0; FULL]).context("cannot send")?;
        Ok(())
    }

    /// Receives a datagram. Returns the time at which the kernel received it.
    fn receive(&self) -> Result<TimeSpec> {
        stamp(&self.receiver, MsgFlags::empty())
    }

    /// Returns the time at which the kernel passed the last datagram to the network card.
    fn when_sent(&self) -> Result<TimeSpec> {
        stamp(&self.sender, MsgFlags::MSG_ERRQUEUE)
    }
}

fn stamp(socket: &UdpSocket, flags: MsgFlags) -> Result<TimeSpec> {
    let mut bytes = [0; 2_048];
    let mut into = [IoSliceMut::new(&mut bytes)];
    let mut space = nix::cmsg_space!([TimeSpec; 3], [u8; 64]);
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut into, Some(&mut space), flags)?;
    for control in message.cmsgs()? {
        if let ControlMessageOwned::ScmTimestampsns(stamps) = control {
            return Ok(stamps.system);
        }
    }
    bail!("the kernel provides no packet timestamps")
}
