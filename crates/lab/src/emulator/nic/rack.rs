//! The network cards of all hosts, and when each has something to do.

use super::card::{Card, CardConfig};
use super::queue::Waiting;
use crate::emulator::frames::{Frame, TcpSegment};
use std::collections::BTreeSet;
use tailcut_fabric::{Fabric, Observer};
use tailcut_transport::ConfigError;
use tailcut_units::{HostId, Time};

/// The network cards of all hosts.
#[derive(Debug)]
pub struct Rack {
    cards: Vec<Card>,
    /// When each card has something to do by itself: its uplink is free, or its pacer gives a packet.
    due: Vec<Time>,
    /// The same in order, of those that have.
    order: BTreeSet<(Time, u32)>,
}

impl Rack {
    /// One card for each host.
    ///
    /// # Errors
    /// A parameter of a pacer outside its range.
    pub fn new(configs: &[CardConfig]) -> Result<Self, ConfigError> {
        Ok(Self {
            cards: configs.iter().map(Card::new).collect::<Result<_, _>>()?,
            due: vec![Time::MAX; configs.len()],
            order: BTreeSet::new(),
        })
    }

    /// A host sends a frame. One for which there is no room is dropped before the host's uplink.
    pub fn send<O: Observer<Frame>>(
        &mut self,
        now: Time,
        host: HostId,
        tcp: Option<&TcpSegment>,
        waiting: Waiting,
        fabric: &mut Fabric<Frame, O>,
    ) {
        match self.cards[host.0 as usize].push(tcp, waiting) {
            Ok(()) => self.serve(now, host, fabric),
            Err(full) => fabric.drop_at_host(host, full.packet, full.frame),
        }
    }

    /// A frame from `src` has arrived at a host.
    pub fn hear(&mut self, now: Time, src: HostId, host: HostId, frame: &[u8]) {
        let card = &mut self.cards[host.0 as usize];
        if card.hears()
            && let Some(tcp) = TcpSegment::read(frame)
        {
            card.hear(now, tcp.tuple(src, host), tcp.flags);
        }
    }

    /// When a card next has something to do by itself.
    pub fn next(&self) -> Time {
        self.order.first().map_or(Time::MAX, |(at, _)| *at)
    }

    /// Does that at the first card that is due at `now`.
    pub fn depart<O: Observer<Frame>>(&mut self, now: Time, fabric: &mut Fabric<Frame, O>) {
        if let Some(&(at, host)) = self.order.first()
            && at <= now
        {
            self.serve(now, HostId(host), fabric);
        }
    }

    /// Hands over what a host may send now.
    fn serve<O: Observer<Frame>>(
        &mut self,
        now: Time,
        host: HostId,
        fabric: &mut Fabric<Frame, O>,
    ) {
        let card = &mut self.cards[host.0 as usize];
        while fabric.uplink_free_at(host) <= now
            && let Some(next) = card.pull(now)
        {
            fabric.inject_with(now, host, next.packet, next.hints, next.frame);
        }
        let free_at = fabric.uplink_free_at(host);
        let due = match card.has_frames() {
            false => Time::MAX,
            true if free_at > now => free_at,
            true => card.next_timeout().unwrap_or(Time::MAX),
        };
        self.set_due(host, due);
    }

    fn set_due(&mut self, host: HostId, due: Time) {
        let before = std::mem::replace(&mut self.due[host.0 as usize], due);
        if before == due {
            return;
        }
        self.order.remove(&(before, host.0));
        if due < Time::MAX {
            self.order.insert((due, host.0));
        }
    }
}
