//! Table that finds the session of a segment by its addresses.
//! The table also keeps the addresses of ended sessions until their last segments have left the network.

use super::SessionKey;
use crate::tcp::demux::{Demux, Key};
use crate::{Event, Origin, Segment};
use alloc::collections::VecDeque;
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Protocol, Time};

/// Local ports of outgoing flows (Linux's default range).
const EPHEMERAL_PORTS: core::ops::RangeInclusive<u16> = 32_768..=60_999;

/// Table to which a slot number belongs. A host has a table of senders and a table of receivers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

/// Session that has ended, but whose last segments may still be in the network.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    until: Time,
    side: Side,
    session: SessionKey,
}

/// Table from addresses to sessions.
#[derive(Debug)]
pub(crate) struct Directory {
    host: HostId,
    /// Port on which hosts accept flows.
    port: u16,
    demux: Demux,
    waiting: VecDeque<Waiting>,
    time_wait: Duration,
    next_port: u16,
    /// Number of the next incoming flow. `None`: incoming flows keep the numbers of their senders.
    next_name: Option<FlowId>,
}

impl Directory {
    /// First port of outgoing flows.
    pub(crate) const FIRST_OUTGOING: u16 = *EPHEMERAL_PORTS.start();

    pub(crate) fn new(host: HostId, port: u16, time_wait: Duration) -> Self {
        Self {
            host,
            port,
            demux: Demux::new(),
            waiting: VecDeque::new(),
            time_wait,
            next_port: *EPHEMERAL_PORTS.start(),
            next_name: None,
        }
    }

    /// Sets the first number for incoming flows. After this call, the host itself numbers incoming flows.
    pub(crate) fn name_incoming(&mut self, first: FlowId) {
        self.next_name = Some(first);
    }

    /// Returns the number of the flow that `segment` opens.
    /// If this host numbers incoming flows, it reports the number to the application.
    pub(crate) fn name(&mut self, segment: &Segment, events: &mut VecDeque<Event>) -> FlowId {
        let Some(next) = &mut self.next_name else {
            return segment.flow;
        };
        let name = *next;
        // The numbers wrap around, so that the host never runs out of numbers.
        next.0 = next.0.wrapping_add(1);
        let origin = Origin {
            tuple: segment.tuple,
            session: segment.flow,
        };
        events.push_back(Event::Opened(name, origin));
        name
    }

    /// Returns whether a new session may use the addresses of a receiver.
    /// `complete` is true if the receiver is complete, and `heard_at` is the time of the last segment from its sender.
    /// A complete receiver has ended.
    /// If a receiver is incomplete, and its sender has been silent for the time-wait, the sender may have restarted.
    pub(crate) fn may_be_replaced(&self, now: Time, complete: bool, heard_at: Time) -> bool {
        complete || !self.is_waiting(now, heard_at)
    }

    /// Returns addresses for a flow to `dst` that no session uses; `None` if every port is in use.
    pub(crate) fn unused(&mut self, dst: HostId) -> Option<FiveTuple> {
        self.unused_with_all(&[dst], self.port)
    }

    /// Returns addresses for a flow to the port `dst_port` of the first host in `peers`.
    /// No session uses the same local port with any host in `peers`. Returns `None` if every port is in use.
    pub(crate) fn unused_with_all(&mut self, peers: &[HostId], dst_port: u16) -> Option<FiveTuple> {
        let (first, last) = (*EPHEMERAL_PORTS.start(), *EPHEMERAL_PORTS.end());
        let mut tuple = FiveTuple {
            src: self.host,
            dst: *peers.first()?,
            src_port: 0,
            dst_port,
            protocol: Protocol::Udp,
        };
        for _ in EPHEMERAL_PORTS {
            tuple.src_port = self.next_port;
            // The search starts after the last port that was used, so that a port is not used again soon.
            self.next_port = if self.next_port == last {
                first
            } else {
                self.next_port + 1
            };
            let taken = |&dst: &HostId| {
                let key = Key::of_outgoing(&FiveTuple { dst, ..tuple });
                self.demux.get(key).is_some()
            };
            if !peers.iter().any(taken) {
                return Some(tuple);
            }
        }
        None
    }

    /// Adds a session that sends with `tuple`.
    pub(crate) fn enter(&mut self, tuple: &FiveTuple, side: Side, session: SessionKey) {
        // Senders and receivers share one table. The lowest bit of an entry is the side.
        let slot = session.slot << 1 | u32::from(side == Side::Receiver);
        self.demux.insert(Key::of_outgoing(tuple), slot);
    }

    /// Returns the side and slot of the session that receives segments with `tuple`.
    #[inline]
    pub(crate) fn arriving(&self, tuple: &FiveTuple) -> Option<(Side, u32)> {
        self.demux.get(Key::of_arriving(tuple)).map(Self::unpack)
    }

    /// Returns the side and slot of the session that sent a segment with `tuple`. A switch has returned the segment.
    #[inline]
    pub(crate) fn returning(&self, tuple: &FiveTuple) -> Option<(Side, u32)> {
        self.demux.get(Key::of_outgoing(tuple)).map(Self::unpack)
    }

    const fn unpack(entry: u32) -> (Side, u32) {
        let side = if entry & 1 == 1 {
            Side::Receiver
        } else {
            Side::Sender
        };
        (side, entry >> 1)
    }

    /// Removes the addresses of a session that sent with `tuple`.
    pub(crate) fn remove(&mut self, tuple: &FiveTuple) {
        self.demux.remove(Key::of_outgoing(tuple));
    }

    /// Starts the time-wait of a session that has ended. Its addresses stay reserved during this time.
    /// A sender waits twice as long as a receiver.
    /// With the longer wait, the receiver has removed the old session before a new session uses the same addresses.
    pub(crate) fn wait(&mut self, now: Time, side: Side, session: SessionKey) {
        let span = match side {
            Side::Sender => self.time_wait * 2,
            Side::Receiver => self.time_wait,
        };
        self.waiting.push_back(Waiting {
            until: now + span,
            side,
            session,
        });
    }

    /// Returns whether a receiver is still in its time-wait. The last segment from its sender arrived at `heard_at`.
    pub(crate) fn is_waiting(&self, now: Time, heard_at: Time) -> bool {
        now.since(heard_at) < self.time_wait
    }

    /// Returns a session whose time-wait may have ended.
    /// The caller removes the session, or starts the wait again if a segment has arrived in the meantime.
    /// Senders and receivers share a queue of time-waits, so a wait may end late, but never early.
    pub(crate) fn waited(&mut self, now: Time) -> Option<(Side, SessionKey)> {
        let first = self.waiting.front()?;
        if first.until > now {
            return None;
        }
        let waiting = self.waiting.pop_front()?;
        Some((waiting.side, waiting.session))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_senders_addresses_outlast_its_receivers_memory() {
        let wait = Duration::from_ms(10);
        let mut directory = Directory::new(HostId(0), 80, wait);
        let tuple = directory.unused(HostId(1)).expect("all are free");
        let session = SessionKey {
            slot: 7,
            generation: 0,
        };
        directory.enter(&tuple, Side::Sender, session);
        directory.wait(Time::ZERO, Side::Sender, session);
        assert_eq!(
            directory.waited(Time::ZERO + wait * 2 - Duration::from_ps(1)),
            None
        );
        assert_eq!(
            directory.arriving(&tuple.reversed()),
            Some((Side::Sender, 7))
        );
        let over = directory.waited(Time::ZERO + wait * 2);
        assert_eq!(over, Some((Side::Sender, session)));
        directory.remove(&tuple);
        assert_eq!(directory.returning(&tuple), None);
    }

    #[test]
    fn an_address_in_use_is_not_given_out_and_all_in_use_are_none() {
        let mut directory = Directory::new(HostId(0), 80, Duration::ZERO);
        let mut ports = alloc::collections::BTreeSet::new();
        while let Some(tuple) = directory.unused(HostId(1)) {
            assert!(ports.insert(tuple.src_port), "{} twice", tuple.src_port);
            let session = SessionKey {
                slot: 0,
                generation: 0,
            };
            directory.enter(&tuple, Side::Sender, session);
        }
        assert_eq!(ports.len(), EPHEMERAL_PORTS.count());
        assert!(directory.unused(HostId(2)).is_some(), "to another host");
    }
}
