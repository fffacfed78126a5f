//! What a driver gives with a packet, and what it gets back.

use crate::packet::Packet;
use crate::port::PortId;
use crate::queue::DropReason;
use tailcut_units::{Duration, HostId, Time};

/// What a driver knows of a packet beyond its header. Most packets have none of it.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Hints {
    /// The hash of the opposite direction's five-tuple, for packets of a handshake: by it, switches that
    /// choose paths know the answer. 0 for none.
    pub reverse_hash: u32,
    /// Which packets may be purged together: those whose key a purging packet names. 0 for none.
    pub purge_key: u64,
    /// The key of the packets that this one takes out of the queues of each switch that it passes; 0 for
    /// none.
    pub purges: u64,
}

impl Hints {
    /// Nothing to say.
    pub const NONE: Self = Self {
        reverse_hash: 0,
        purge_key: 0,
        purges: 0,
    };
}

/// What became of a packet at its host's uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Injected {
    /// When that uplink has sent everything that it holds.
    pub free_at: Time,
    /// Why the packet was dropped at once. Its body comes out of [`advance`](crate::Fabric::advance) like
    /// any other's.
    pub dropped: Option<DropReason>,
}

/// A packet that has reached its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery<B> {
    /// When its last bit arrived.
    pub time: Time,
    /// Where.
    pub host: HostId,
    /// The packet.
    pub packet: Packet,
    /// What it carries.
    pub body: B,
}

/// A packet that will reach no host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped<B> {
    /// When.
    pub time: Time,
    /// The port whose queue dropped it; `None` where it had no port: at a switch without a route, at one
    /// where its hop limit ended, or at the far end of a link that is down.
    pub port: Option<PortId>,
    /// The switch where its hop limit ended; `None` for every other reason.
    pub ended_at: Option<u32>,
    /// Why.
    pub reason: DropReason,
    /// The packet.
    pub packet: Packet,
    /// What it carried.
    pub body: B,
}

/// What leaves the network: every packet that goes in, and every copy that a switch makes of it, comes out
/// once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output<B> {
    /// At a host.
    Delivered(Delivery<B>),
    /// Nowhere.
    Dropped(Dropped<B>),
}

impl<B> Output<B> {
    /// When it left.
    pub const fn time(&self) -> Time {
        match self {
            Self::Delivered(delivery) => delivery.time,
            Self::Dropped(dropped) => dropped.time,
        }
    }

    /// The delivery, if it is one.
    pub fn delivered(self) -> Option<Delivery<B>> {
        match self {
            Self::Delivered(delivery) => Some(delivery),
            Self::Dropped(_) => None,
        }
    }
}

/// How late a driver has been: packets that it injected at a time that had gone by. They enter at the
/// fabric's own time.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Lateness {
    /// Packets.
    pub packets: u64,
    /// The longest.
    pub longest: Duration,
    /// Of all packets together.
    pub total: Duration,
}

impl Lateness {
    pub(crate) fn add(&mut self, late: Duration) {
        self.packets += 1;
        self.longest = self.longest.max(late);
        self.total += late;
    }
}
