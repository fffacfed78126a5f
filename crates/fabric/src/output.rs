//! Input and output of a driver: hints that the driver passes with a packet, and packets that the driver receives.

use crate::packet::Packet;
use crate::port::PortId;
use crate::queue::DropReason;
use tailcut_units::{Duration, HostId, Time};

/// Hints that a driver gives about a packet, in addition to the packet's header. Most packets have no hints.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Hints {
    /// Hash of the five-tuple in the opposite direction, for packets of a handshake.
    /// Switches that choose paths recognise the answer by this hash. 0 means no hash.
    pub reverse_hash: u32,
    /// Key by which other packets can purge this packet. 0 means no key.
    pub purge_key: u64,
    /// Purge key of the packets that this packet removes.
    /// A packet with a purge key removes packets from the queues of each switch that it passes.
    /// 0 means that the packet removes no other packets.
    pub purges: u64,
}

impl Hints {
    /// No hints: both keys and the hash are 0.
    pub const NONE: Self = Self {
        reverse_hash: 0,
        purge_key: 0,
        purges: 0,
    };
}

/// Result of the injection of a packet at its host's uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Injected {
    /// Time at which the uplink will have sent all its packets.
    /// If packets wait at the general port of a host with one uplink, the time is the end of the current service.
    pub free_at: Time,
    /// Reason why the packet was dropped immediately, or `None`.
    /// [`advance`](crate::Fabric::advance) still returns the body of a dropped packet.
    pub dropped: Option<DropReason>,
}

/// Packet that has reached its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery<B> {
    /// Time when the last bit of the packet arrived.
    pub time: Time,
    /// Receiving host.
    pub host: HostId,
    /// Header of the packet.
    pub packet: Packet,
    /// Body of the packet.
    pub body: B,
}

/// Packet that was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dropped<B> {
    /// Time of the drop.
    pub time: Time,
    /// Port whose queue dropped the packet.
    /// `None` if no port dropped the packet.
    /// Examples are a missing route, the end of the hop limit, and a link that is down.
    pub port: Option<PortId>,
    /// Switch at which the hop limit ended. `None` for every other reason.
    pub ended_at: Option<u32>,
    /// Reason of the drop.
    pub reason: DropReason,
    /// Header of the packet.
    pub packet: Packet,
    /// Body of the packet.
    pub body: B,
}

/// Packet that leaves the network. Every packet that enters the network leaves it once.
/// Every copy that a switch makes also leaves the network once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output<B> {
    /// Packet that has reached its host.
    Delivered(Delivery<B>),
    /// Packet that was dropped.
    Dropped(Dropped<B>),
}

impl<B> Output<B> {
    /// Returns the time at which the packet left the network.
    pub const fn time(&self) -> Time {
        match self {
            Self::Delivered(delivery) => delivery.time,
            Self::Dropped(dropped) => dropped.time,
        }
    }

    /// Returns the delivery if the packet reached its host, or `None`.
    pub fn delivered(self) -> Option<Delivery<B>> {
        match self {
            Self::Delivered(delivery) => Some(delivery),
            Self::Dropped(_) => None,
        }
    }
}

/// Lateness of a driver: packets that the driver injected for a time in the past.
/// Late packets enter at the fabric's own time.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Lateness {
    /// Number of late packets.
    pub packets: u64,
    /// Largest delay of a late packet.
    pub longest: Duration,
    /// Sum of the delays of all late packets.
    pub total: Duration,
}

impl Lateness {
    pub(crate) fn add(&mut self, late: Duration) {
        self.packets += 1;
        self.longest = self.longest.max(late);
        self.total += late;
    }
}
