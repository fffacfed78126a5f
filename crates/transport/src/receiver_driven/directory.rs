//! Which session a segment belongs to, and which addresses are still in use by segments on their way.

use super::{SessionKey, Sessions};
use crate::tcp::demux::{Demux, Key};
use crate::{Event, Origin, Segment};
use alloc::collections::VecDeque;
use tailcut_units::{Duration, FiveTuple, FlowId, HostId, Protocol, Time};

/// Local ports given to outgoing flows (Linux's default range).
const EPHEMERAL_PORTS: core::ops::RangeInclusive<u16> = 32_768..=60_999;

/// Which of a host's two tables of sessions a slot belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

/// A session that has ended and waits for its last segments to be gone from the network.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    until: Time,
    side: Side,
    session: SessionKey,
}

/// From addresses to sessions.
#[derive(Debug)]
pub(crate) struct Directory {
    host: HostId,
    /// The port that hosts are reached at.
    port: u16,
    demux: Demux,
    waiting: VecDeque<Waiting>,
    time_wait: Duration,
    next_port: u16,
    /// This host's name of the next flow that comes; `None`: flows have their senders' names.
    next_name: Option<FlowId>,
}

impl Directory {
    /// The first port of outgoing flows.
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

    /// Flows that come have names of this host's own from now on, counted from `first`.
    pub(crate) fn name_incoming(&mut self, first: FlowId) {
        self.next_name = Some(first);
    }

    /// What this host calls the flow that `segment` opens. Names of its own are told the
    /// application.
    pub(crate) fn name(&mut self, segment: &Segment, events: &mut VecDeque<Event>) -> FlowId {
        let Some(next) = &mut self.next_name else {
            return segment.flow;
        };
        let name = *next;
        next.0 = next.0.wrapping_add(1);
        let origin = Origin {
            tuple: segment.tuple,
            session: segment.flow,
        };
        events.push_back(Event::Opened(name, origin));
        name
    }

    /// Whether another session may take the addresses of a receiver that is complete, or not, and
    /// that last heard its sender at `heard_at`: that one has ended, or its sender is silent and
    /// may have begun anew.
    pub(crate) fn may_be_replaced(&self, now: Time, complete: bool, heard_at: Time) -> bool {
        complete || now.since(heard_at) >= self.time_wait
    }

    /// Addresses for a flow to `dst` that no session has; `None` when every port is in use.
    pub(crate) fn unused(&mut self, dst: HostId) -> Option<FiveTuple> {
        self.unused_with_all(&[dst], self.port)
    }

    /// Addresses for a flow to `dst_port` of the first of `peers` such that no session has them with any
    /// of these; `None` when every port is in use.
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

    /// Enters a session that sends with `tuple`.
    pub(crate) fn enter(&mut self, tuple: &FiveTuple, side: Side, session: SessionKey) {
        let slot = session.slot << 1 | u32::from(side == Side::Receiver);
        self.demux.insert(Key::of_outgoing(tuple), slot);
    }

    /// The session that `tuple` arrives at: its side and slot.
    #[inline]
    pub(crate) fn arriving(&self, tuple: &FiveTuple) -> Option<(Side, u32)> {
        self.demux.get(Key::of_arriving(tuple)).map(Self::unpack)
    }

    /// The session that sent `tuple`, which came back.
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

    /// Forgets the addresses of a session that sent with `tuple`.
    pub(crate) fn remove(&mut self, tuple: &FiveTuple) {
        self.demux.remove(Key::of_outgoing(tuple));
    }

    /// A session has ended; its addresses stay in use for the time-wait. A sender waits twice as
    /// long as a receiver, so that the receiver of a new session with the same addresses has
    /// forgotten the old one.
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

    /// Removes the sessions whose time-wait is over, for hosts whose sessions have one pair of addresses
    /// each. A receiver waits on from the last segment that it `heard`.
    pub(crate) fn forget<S, R>(
        &mut self,
        now: Time,
        senders: &mut Sessions<S>,
        sends_with: impl Fn(&S) -> FiveTuple,
        receivers: &mut Sessions<R>,
        heard: impl Fn(&R) -> (FiveTuple, Time),
    ) {
        while let Some((side, key)) = self.waited(now) {
            let tuple = match side {
                Side::Sender => senders.remove(key).map(|sender| sends_with(&sender)),
                Side::Receiver => {
                    let Some((tuple, at)) = receivers.get_mut(key).map(|r| heard(r)) else {
                        continue;
                    };
                    if now.since(at) < self.time_wait {
                        self.wait(now, side, key);
                        continue;
                    }
                    receivers.remove(key).map(|_| tuple)
                }
            };
            if let Some(tuple) = tuple {
                self.remove(&tuple);
            }
        }
    }

    /// A session whose wait may be over: the caller removes it, or has it wait again if something
    /// arrived for it meanwhile. Waits of both sides share a queue, so one may end late, never early.
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
