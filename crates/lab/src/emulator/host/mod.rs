//! Hosts: a network namespace each, with a kernel of its own settings and a network card into the fabric.

mod congestion;
mod kept;
mod netlink;
mod settings;
mod tap;

pub use kept::settle;
pub use settings::{KernelSettings, carried};
pub use tap::{DEVICE, Tap};

use crate::emulator::world::namespaces::{self, Namespace};
use anyhow::{Context, Result};
use netlink::Netlink;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use tailcut_units::HostId;

/// The number of the network card in its namespace: the first device after loopback.
pub const CARD: u32 = 2;

/// A host that is set up.
#[derive(Debug)]
pub struct Host {
    /// Its network namespace.
    pub namespace: OwnedFd,
    /// Its network card's other side.
    pub tap: Tap,
    /// What its kernel counts at its devices.
    pub counters: Counters,
    /// Settings that this kernel does not have.
    pub missing: Vec<String>,
}

impl Host {
    /// Makes host `number` of `hosts`. This thread is in its namespace afterwards.
    ///
    /// # Errors
    /// The system refuses.
    pub fn create(number: HostId, hosts: u32, settings: &KernelSettings) -> Result<Self> {
        namespaces::leave_for_new(Namespace::Network).context("cannot make a network namespace")?;
        // Some are taken over by devices when they are made.
        let missing = settings.apply()?;
        let tap = Tap::create().with_context(|| {
            "cannot open /dev/net/tun, which the hosts' network cards are made of: it takes the kernel's \
             TUN driver (modprobe tun), and a file that you may open (chmod 666 /dev/net/tun)"
        })?;
        let mut netlink = Netlink::open().context("cannot talk to the kernel about networks")?;
        netlink
            .set_up(number, CARD, settings)
            .with_context(|| format!("cannot set up the network card of h{}", number.0))?;
        for other in (0..hosts).map(HostId).filter(|other| *other != number) {
            netlink
                .neighbour(CARD, other)
                .with_context(|| format!("cannot tell h{} its neighbours", number.0))?;
        }
        Ok(Self {
            namespace: namespaces::current(Namespace::Network)
                .context("cannot hold a network namespace")?,
            tap,
            counters: Counters::open().context("cannot read what the kernel counts")?,
            missing,
        })
    }
}

/// What a host's kernel counts at its network card. It stays readable from any namespace.
#[derive(Debug)]
pub struct Counters(File);

impl Counters {
    fn open() -> std::io::Result<Self> {
        File::open("/proc/thread-self/net/dev").map(Self)
    }

    /// Frames that the host has sent and that were dropped before the fabric could read them; `None` where
    /// the kernel does not say.
    pub fn dropped(&mut self) -> Option<u64> {
        let mut text = String::new();
        self.0.rewind().ok()?;
        self.0.read_to_string(&mut text).ok()?;
        dropped_on_sending(&text)
    }
}

/// The fourth of the counters for sending, which follow eight for receiving.
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
