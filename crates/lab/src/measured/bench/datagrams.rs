//! Benches of single datagrams, with the kernel's own times at both ends.

use super::figure::Figure;
use crate::emulator::addresses;
use crate::emulator::host::Host;
use crate::emulator::network::{self, Network};
use crate::emulator::plan::LabPlan;
use crate::emulator::world::namespaces::{self, Namespace};
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

/// Two hosts, four links of 100 Mb/s apart, without propagation delay.
const FOUR_LINKS: &str = "designs = [\"cubic\"]\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\n\
                          spines = 1\nhosts = 1\nrate = \"100Mbps\"\ndelay = \"0s\"\n[[workload]]\n\
                          sizes = \"fixed:1KB\"\n";
/// Payload of a full datagram.
const FULL: usize = 1_472;
/// A full packet's time on a link of 100 Mb/s, in microseconds: 1,538 bytes.
const ON_LINK_US: f64 = 123.04;
const PORT: u16 = 7_000;
/// Bytes of the receiving socket's buffer, with what the kernel needs itself.
const RECEIVED: usize = 1 << 20;
/// Datagrams that are measured, one by one.
const LONE: usize = 500;
/// Packets that are queued, and how often.
const QUEUED: usize = 100;
const QUEUES: usize = 50;

/// One datagram at a time: how long it takes, between the kernels and between the applications.
pub fn lone() -> Result<Vec<Figure>> {
    let lab = Pair::new()?;
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
        Figure::told("ideal (us)", ideal),
        Figure::wanted("between kernels, p50 (us)", kernels[0], ideal, ideal + 40.0),
        Figure::told("between kernels, p99 (us)", kernels[1]),
        Figure::wanted(
            "between applications, p50 (us)",
            applications[0],
            ideal,
            ideal + 100.0,
        ),
        Figure::told("between applications, p99 (us)", applications[1]),
    ])
}

/// Many at once: the last waits for those before it.
pub fn queue() -> Result<Vec<Figure>> {
    let lab = Pair::new()?;
    let mut waits = Vec::new();
    for _ in 0..QUEUES {
        std::thread::sleep(Duration::from_millis(5));
        for _ in 0..=QUEUED {
            lab.send()?;
        }
        let first = lab.receive()?;
        let mut last = first;
        for n in 0..QUEUED {
            last = lab
                .receive()
                .with_context(|| format!("{n} of {QUEUED} datagrams came"))?;
        }
        waits.push(micros(last - first));
    }
    let ideal = QUEUED as f64 * ON_LINK_US;
    let [measured, _] = middle_and_tail(&mut waits);
    Ok(vec![
        Figure::told("serialisation of 100 packets (us)", ideal),
        Figure::wanted(
            "added by 100 queued packets, p50 (us)",
            measured,
            ideal * 0.97,
            ideal * 1.03,
        ),
    ])
}

fn micros(time: TimeSpec) -> f64 {
    time.tv_sec() as f64 * 1e6 + time.tv_nsec() as f64 / 1e3
}

/// The median and the 99th percentile; 0 without values.
fn middle_and_tail(values: &mut [f64]) -> [f64; 2] {
    let median = median(values).unwrap_or(0.0);
    let tail = values.get(values.len() * 99 / 100).copied();
    [median, tail.unwrap_or(0.0)]
}

/// Two hosts with a socket each. The network ends with the process.
struct Pair {
    _network: Network,
    sender: UdpSocket,
    receiver: UdpSocket,
}

impl Pair {
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
            // Room for all that is measured, whenever this thread comes to read it.
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

    /// Receives a datagram; when the kernel had it.
    fn receive(&self) -> Result<TimeSpec> {
        stamp(&self.receiver, MsgFlags::empty())
    }

    /// When the kernel gave the last datagram to the network card.
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
    bail!("the kernel gives no times of packets")
}
