//! Interface for observers of a fabric, such as captures, waiting times, and counters of individual packets.

use crate::packet::{Packet, PacketId};
use crate::port::PortId;
use crate::queue::DropReason;
use alloc::boxed::Box;
use tailcut_units::{HostId, Time};

/// Packet at a port, and the time of an event.
#[derive(Debug)]
pub struct ObservedPacket<'a, B: ?Sized> {
    /// Time of the event.
    pub now: Time,
    /// Port at which the event happens.
    pub port: PortId,
    /// Slot of the packet in the pool. It is valid until the packet leaves the network.
    pub id: PacketId,
    /// Header of the packet.
    pub packet: &'a Packet,
    /// Body of the packet.
    pub body: &'a B,
}

impl<B: ?Sized> Clone for ObservedPacket<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: ?Sized> Copy for ObservedPacket<'_, B> {}

/// Observer of individual packets. An observer changes nothing. Every method does nothing by default.
/// The type `()` is an observer that costs no time.
pub trait Observer<B: ?Sized> {
    /// Returns whether the observer needs events at all.
    fn is_on(&self) -> bool {
        true
    }
    /// Handles a packet that a port has accepted. The service of the packet has not begun.
    fn enqueued(&mut self, _seen: ObservedPacket<'_, B>) {}
    /// Handles the start of a packet's service.
    /// A port with one event per packet calls this function when the packet arrives, so `now` may be in the future.
    fn started(&mut self, _seen: ObservedPacket<'_, B>) {}
    /// Handles a packet that a discipline marked when the packet arrived.
    /// A port with one event per packet does not call this function.
    /// When a port with one event per packet calls `enqueued`, the packets already have the mark in their ECN field.
    fn marked(&mut self, _seen: ObservedPacket<'_, B>) {}
    /// Handles a packet that a queue has trimmed. `cut` is the number of removed bytes.
    fn trimmed(&mut self, _seen: ObservedPacket<'_, B>, _cut: u32) {}
    /// Handles a dropped packet. `port` is `None` if no port dropped the packet.
    fn dropped(
        &mut self,
        _now: Time,
        _port: Option<PortId>,
        _reason: DropReason,
        _packet: &Packet,
        _body: &B,
    ) {
    }
    /// Handles a packet that has reached its host.
    fn delivered(&mut self, _now: Time, _host: HostId, _packet: &Packet, _body: &B) {}
}

impl<B: ?Sized> Observer<B> for () {
    #[inline]
    fn is_on(&self) -> bool {
        false
    }
}

/// Observer on the heap that may be absent.
impl<B: ?Sized, O: Observer<B> + ?Sized> Observer<B> for Option<Box<O>> {
    #[inline]
    fn is_on(&self) -> bool {
        self.as_ref().is_some_and(|observer| observer.is_on())
    }

    #[inline]
    fn enqueued(&mut self, seen: ObservedPacket<'_, B>) {
        if let Some(observer) = self {
            observer.enqueued(seen);
        }
    }

    #[inline]
    fn started(&mut self, seen: ObservedPacket<'_, B>) {
        if let Some(observer) = self {
            observer.started(seen);
        }
    }

    #[inline]
    fn marked(&mut self, seen: ObservedPacket<'_, B>) {
        if let Some(observer) = self {
            observer.marked(seen);
        }
    }

    #[inline]
    fn trimmed(&mut self, seen: ObservedPacket<'_, B>, cut: u32) {
        if let Some(observer) = self {
            observer.trimmed(seen, cut);
        }
    }

    #[inline]
    fn dropped(
        &mut self,
        now: Time,
        port: Option<PortId>,
        reason: DropReason,
        packet: &Packet,
        body: &B,
    ) {
        if let Some(observer) = self {
            observer.dropped(now, port, reason, packet, body);
        }
    }

    #[inline]
    fn delivered(&mut self, now: Time, host: HostId, packet: &Packet, body: &B) {
        if let Some(observer) = self {
            observer.delivered(now, host, packet, body);
        }
    }
}
