//! Network cards of all hosts, with the times of their next actions.

use super::card::{Card, CardConfig};
use super::queue::QueuedFrame;
use crate::emulator::frames::{Frame, TcpSegment};
use std::collections::BTreeSet;
use tailcut_fabric::{Fabric, Observer};
use tailcut_transport::ConfigError;
use tailcut_units::{HostId, Time};

/// Network cards of all hosts.
#[derive(Debug)]
pub struct Cards {
    cards: Vec<Card>,
    /// Time of each card's next action: the uplink becomes free, or the pacer releases a packet.
    due: Vec<Time>,
    /// Times of `due` in ascending order, each with its host number. Cards without a next action are not included.
    order: BTreeSet<(Time, u32)>,
}

impl Cards {
    /// Creates one card for each host.
    ///
    /// # Errors
    /// A parameter of a pacer is outside its range.
    pub fn new(configs: &[CardConfig]) -> Result<Self, ConfigError> {
        Ok(Self {
            cards: configs.iter().map(Card::new).collect::<Result<_, _>>()?,
            due: vec![Time::MAX; configs.len()],
            order: BTreeSet::new(),
        })
    }

    /// Queues a frame of a host. If the card's queue is full, the fabric drops the frame before the host's uplink.
    pub fn send<O: Observer<Frame>>(
        &mut self,
        now: Time,
        host: HostId,
        tcp: Option<&TcpSegment>,
        queued: QueuedFrame,
        fabric: &mut Fabric<Frame, O>,
    ) {
        match self.cards[host.0 as usize].push(tcp, queued) {
            Ok(()) => self.serve(now, host, fabric),
            Err(full) => fabric.drop_at_host(host, full.packet, full.frame),
        }
    }

    /// Passes a frame from `src`, which has arrived at a host, to the card of the host.
    pub fn on_arrival(&mut self, now: Time, src: HostId, host: HostId, frame: &[u8]) {
        let card = &mut self.cards[host.0 as usize];
        if card.reads_arrivals()
            && let Some(tcp) = TcpSegment::read(frame)
        {
            card.on_arrival(now, tcp.tuple(src, host), tcp.flags);
        }
    }

    /// Adapts a card to the current rate of the host's link.
    pub fn follow_link<O: Observer<Frame>>(
        &mut self,
        now: Time,
        host: HostId,
        fabric: &mut Fabric<Frame, O>,
    ) {
        if let Some(rate) = fabric.host_rate(host) {
            self.cards[host.0 as usize].set_line_rate(now, rate);
            self.serve(now, host, fabric);
        }
    }

    /// Returns the earliest time at which a card has an action.
    pub fn next(&self) -> Time {
        self.order.first().map_or(Time::MAX, |(at, _)| *at)
    }

    /// Executes the action of the first card whose action is due at `now`.
    pub fn depart<O: Observer<Frame>>(&mut self, now: Time, fabric: &mut Fabric<Frame, O>) {
        if let Some(&(at, host)) = self.order.first()
            && at <= now
        {
            self.serve(now, HostId(host), fabric);
        }
    }

    /// Sends the packets that a host may send now, and schedules its next action.
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
