//! Input and output of a driver: hints that it passes with a packet, and packets that it receives.

use crate::packet::Packet;
use crate::port::PortId;
use crate::queue::DropReason;
use tailcut_units::{Duration, HostId, Time};

/// Hints of a driver about a packet, in addition to its header. Most packets have none.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Hints {
    /// Hash of the five-tuple in the opposite direction, for packets of a handshake. With it, switches that
    /// choose paths recognise the answer. 0 for none.
    pub reverse_hash: u32,
    /// Key under which this packet can be purged. 0 for none.
    pub purge_key: u64,
    /// Key of the packets that this packet removes from the queues of each switch that it passes; 0 for none.
    pub purges: u64,
}

impl Hints {
    /// No hints.
    pub const NONE: Self = Self {
        reverse_hash: 0,
        purge_key: 0,
        purges: 0,
    };
}

/// Result of an injection at the host's uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Injected {
    /// Time at which the uplink has sent all its packets. If packets wait at the general port of a host with one
    /// uplink, it is the time at which the packet in service has left.
    pub free_at: Time,
    /// Reason why the packet was dropped at once, if it was. [`advance`](crate::Fabric::advance) still
    /// returns its body.
    pub dropped: Option<DropReason>,
}

/// Packet that has reached its host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delivery<B> {
    /// Arrival of its last bit.
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
    /// Port whose queue dropped the packet; `None` for a drop without a port: at a switch without a route, at
    /// a switch where the hop limit ended, or at the far end of a link that is down.
    pub port: Option<PortId>,
    /// Switch where the hop limit ended; `None` for every other reason.
    pub ended_at: Option<u32>,
    /// Reason of the drop.
    pub reason: DropReason,
    /// Header of the packet.
    pub packet: Packet,
    /// Body of the packet.
    pub body: B,
}

/// Packet that leaves the network. Every packet that enters, and every copy that a switch makes, leaves once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output<B> {
    /// Packet that has reached its host.
    Delivered(Delivery<B>),
    /// Packet that was dropped.
    Dropped(Dropped<B>),
}

impl<B> Output<B> {
    /// Returns the time at which the packet left.
    pub const fn time(&self) -> Time {
        match self {
            Self::Delivered(delivery) => delivery.time,
            Self::Dropped(dropped) => dropped.time,
        }
    }

    /// Returns the delivery, if the packet reached its host.
    pub fn delivered(self) -> Option<Delivery<B>> {
        match self {
            Self::Delivered(delivery) => Some(delivery),
            Self::Dropped(_) => None,
        }
    }
}

/// Lateness of a driver: packets that it injected for a time in the past. They enter at the fabric's own
/// time.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Lateness {
    /// Number of late packets.
    pub packets: u64,
    /// Largest delay of a packet.
    pub longest: Duration,
    /// Sum of the delays of all packets.
    pub total: Duration,
}

impl Lateness {
    pub(crate) fn add(&mut self, late: Duration) {
        self.packets += 1;
        self.longest = self.longest.max(late);
        self.total += late;
    }
}
