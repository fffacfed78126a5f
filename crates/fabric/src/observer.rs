//! What looks on at a fabric: captures, waits, whatever counts packets one by one.

use crate::packet::{Packet, PacketId};
use crate::port::PortId;
use crate::queue::DropReason;
use alloc::boxed::Box;
use tailcut_units::{HostId, Time};

/// A packet at a port.
#[derive(Debug)]
pub struct Seen<'a, B: ?Sized> {
    /// When.
    pub now: Time,
    /// Where.
    pub port: PortId,
    /// Its place in the pool, until it leaves the network.
    pub id: PacketId,
    /// Its header.
    pub packet: &'a Packet,
    /// What it carries.
    pub body: &'a B,
}

impl<B: ?Sized> Clone for Seen<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: ?Sized> Copy for Seen<'_, B> {}

/// Hears what happens to packets, one by one, and changes nothing. Every method does nothing by default,
/// and `()` is an observer that costs nothing.
pub trait Observer<B: ?Sized> {
    /// Whether it wants to hear anything.
    fn is_on(&self) -> bool {
        true
    }
    /// A packet has been taken in at a port, before its service.
    fn enqueued(&mut self, _seen: Seen<'_, B>) {}
    /// A packet's service begins. A port whose departures are settled on arrival says so when the packet
    /// arrives: then `now` may lie ahead.
    fn started(&mut self, _seen: Seen<'_, B>) {}
    /// A discipline marked a packet on its arrival. A port whose departures are settled on arrival says
    /// so by the packet's ECN field when it is enqueued.
    fn marked(&mut self, _seen: Seen<'_, B>) {}
    /// A queue cut `cut` bytes of payload off a packet.
    fn trimmed(&mut self, _seen: Seen<'_, B>, _cut: u32) {}
    /// A packet was dropped, at a port or at none.
    fn dropped(
        &mut self,
        _now: Time,
        _port: Option<PortId>,
        _reason: DropReason,
        _packet: &Packet,
        _body: &B,
    ) {
    }
    /// A packet reached its host.
    fn delivered(&mut self, _now: Time, _host: HostId, _packet: &Packet, _body: &B) {}
}

impl<B: ?Sized> Observer<B> for () {
    #[inline]
    fn is_on(&self) -> bool {
        false
    }
}

/// An observer on the heap that may not be there.
impl<B: ?Sized, O: Observer<B> + ?Sized> Observer<B> for Option<Box<O>> {
    #[inline]
    fn is_on(&self) -> bool {
        self.as_ref().is_some_and(|observer| observer.is_on())
    }

    #[inline]
    fn enqueued(&mut self, seen: Seen<'_, B>) {
        if let Some(observer) = self {
            observer.enqueued(seen);
        }
    }

    #[inline]
    fn started(&mut self, seen: Seen<'_, B>) {
        if let Some(observer) = self {
            observer.started(seen);
        }
    }

    #[inline]
    fn marked(&mut self, seen: Seen<'_, B>) {
        if let Some(observer) = self {
            observer.marked(seen);
        }
    }

    #[inline]
    fn trimmed(&mut self, seen: Seen<'_, B>, cut: u32) {
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
