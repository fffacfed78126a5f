//! Hosts. Each host is a network namespace with its own kernel settings and a network card into the fabric.

mod congestion;
mod kernel_limits;
mod netlink;
mod settings;
mod tap;

pub use kernel_limits::apply_kernel_limits;
pub use settings::{KernelSettings, carried};
pub use tap::{DEVICE, Tap};

use crate::emulator::sandbox::namespaces::{self, Namespace};
use anyhow::{Context, Result};
use netlink::Netlink;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use tailcut_units::HostId;

/// Index of the network card in its namespace: the first device after loopback.
pub const CARD: u32 = 2;

/// Host that is ready for programs.
#[derive(Debug)]
pub struct Host {
    /// Network namespace of the host.
    pub namespace: OwnedFd,
    /// Network card: the file through which the fabric reads and writes frames.
    pub tap: Tap,
    /// Counters of the kernel for the network card.
    pub counters: Counters,
    /// Names of settings that this kernel does not have.
    pub missing: Vec<String>,
}

impl Host {
    /// Creates host `number` of `hosts` hosts. Afterwards, the calling thread is in the network namespace of this host.
    ///
    /// # Errors
    /// The kernel rejects a call.
    pub fn create(number: HostId, hosts: u32, settings: &KernelSettings) -> Result<Self> {
        namespaces::leave_for_new(Namespace::Network).context("cannot make a network namespace")?;
        // The settings must be set before the device is created, because a new device copies some of them.
        let missing = settings.apply()?;
        let tap = Tap::create().with_context(|| {
            "cannot open /dev/net/tun, which the hosts' network cards need: the kernel must have the \
             TUN driver (modprobe tun), and you must be allowed to open the file (chmod 666 /dev/net/tun)"
        })?;
        let mut netlink = Netlink::open().context("cannot open a netlink socket")?;
        netlink
            .set_up(number, CARD, settings)
            .with_context(|| format!("cannot set up the network card of h{}", number.0))?;
        for other in (0..hosts).map(HostId).filter(|other| *other != number) {
            netlink
                .neighbour(CARD, other)
                .with_context(|| format!("cannot set the neighbours of h{}", number.0))?;
        }
        Ok(Self {
            namespace: namespaces::current(Namespace::Network)
                .context("cannot open a network namespace")?,
            tap,
            counters: Counters::open()
                .context("cannot read the kernel's counters of network devices")?,
            missing,
        })
    }
}

/// Counters of the kernel for a host's network card. A process in any namespace can read them.
#[derive(Debug)]
pub struct Counters(File);

impl Counters {
    fn open() -> std::io::Result<Self> {
        File::open("/proc/thread-self/net/dev").map(Self)
    }

    /// Returns the number of frames that the host has sent but that the kernel has dropped before the fabric read them.
    /// Returns `None` if the counter is not readable.
    pub fn dropped(&mut self) -> Option<u64> {
        let mut text = String::new();
        self.0.rewind().ok()?;
        self.0.read_to_string(&mut text).ok()?;
        dropped_on_sending(&text)
    }
}

/// Returns the number of dropped frames from the kernel's table. The number is the fourth transmit counter.
/// The transmit counters follow eight receive counters.
fn dropped_on_sending(text: &str) -> Option<u64> {
    let card = text.lines().find_map(|line| {
        let (name, counters) = line.split_once(':')?;
        (name.trim() == DEVICE).then_some(counters)
    });
    card?.split_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_read_off_the_kernels_table() {
        let table = "Inter-|   Receive  |  Transmit\n \
             face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop\n    \
             lo:       0       0    0    0    0     0          0         0        0       0    0    0 0 0 0 0\n  \
             eth0:     426       5    0    0    0     0          0         0     1000      11    0   17 0 0 0 0\n";
        assert_eq!(dropped_on_sending(table), Some(17));
        assert_eq!(dropped_on_sending("nothing"), None);
    }
}
