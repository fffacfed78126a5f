//! Network card of one host.

use super::connections::Connections;
use super::queue::{FrameQueue, QueuedFrame, arrived};
use crate::emulator::frames::{TcpSegment, code_point};
use std::num::NonZeroU32;
use tailcut_fabric::topology::Topology;
use tailcut_sim::HostPlan;
use tailcut_transport::ConfigError;
use tailcut_transport::Transport;
use tailcut_transport::nic::{Departures, Jittered, Paced, PacedConfig};
use tailcut_transport::pias::Tags;
use tailcut_transport::tcp::TcpFlags;
use tailcut_units::{FiveTuple, HostId, Rate, Time};
use tailcut_wire::foreign::set_dscp;

/// Configuration of a network card.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CardConfig {
    /// Rule that gives each TCP segment its priority class; `None` means that the DSCP determines the class.
    pub tags: Option<Tags>,
    /// Pacer, if the card has one.
    pub pacer: Option<PacedConfig>,
    /// Random delays of departing packets (`host.jitter`); `None`: packets leave without random delays.
    pub departures: Option<Departures>,
    /// Maximum number of packets in the card's queue.
    pub length: NonZeroU32,
}

impl CardConfig {
    /// Returns the configuration of a host's card for a design.
    /// Returns `None` if the design needs no functions in the card.
    /// Without functions in the card, the fabric's queue before the uplink is sufficient.
    ///
    /// # Errors
    /// A parameter of the pacer is outside its range.
    pub fn of(
        plan: &HostPlan,
        topology: &Topology,
        host: HostId,
        length: NonZeroU32,
    ) -> Result<Option<Self>, ConfigError> {
        let rate = topology.host_rate(host);
        let seat = plan.seat(host, topology.hosts(), rate, topology.paths);
        let config = Self {
            tags: plan.tags().copied(),
            // The line time of a frame already includes the overhead, so the pacer must not add it again.
            pacer: plan.pacer(&seat).map(|pacer| PacedConfig {
                overhead: 0,
                ..pacer
            }),
            departures: plan.departures(&seat),
            length,
        };
        if let Some(pacer) = &config.pacer {
            pacer.validate()?;
        }
        let is_needed =
            config.tags.is_some() || config.pacer.is_some() || config.departures.is_some();
        Ok(is_needed.then_some(config))
    }
}

/// Network card of a host.
#[derive(Debug)]
pub struct Card {
    tags: Option<Tags>,
    connections: Connections,
    sender: Sender,
}

/// Part of a card that determines when a frame leaves.
#[derive(Debug)]
enum Sender {
    Plain(Box<FrameQueue>),
    Paced(Box<Paced<FrameQueue>>),
    Jittered(Box<Jittered<FrameQueue>>),
    PacedAndJittered(Box<Jittered<Paced<FrameQueue>>>),
}

impl Card {
    /// Creates an empty card.
    ///
    /// # Errors
    /// A parameter of the pacer is outside its range.
    pub fn new(config: &CardConfig) -> Result<Self, ConfigError> {
        let in_order = config.tags.is_some_and(|tags| tags.in_order);
        let queue = FrameQueue::new(config.length, in_order);
        Ok(Self {
            tags: config.tags,
            connections: Connections::default(),
            sender: match (config.pacer, config.departures) {
                (None, None) => Sender::Plain(Box::new(queue)),
                (Some(pacer), None) => Sender::Paced(Box::new(Paced::new(queue, pacer)?)),
                (None, Some(departures)) => {
                    Sender::Jittered(Box::new(Jittered::new(queue, departures)))
                }
                (Some(pacer), Some(departures)) => {
                    let paced = Paced::new(queue, pacer)?;
                    Sender::PacedAndJittered(Box::new(Jittered::new(paced, departures)))
                }
            },
        })
    }

    /// Queues a frame of the host. `tcp` is the TCP segment in the frame, if there is one.
    /// If the card sets classes, it writes the class of the segment into the packet, and the DSCP into the frame.
    ///
    /// # Errors
    /// The queue is full. The error contains the frame.
    pub fn push(
        &mut self,
        tcp: Option<&TcpSegment>,
        mut queued: QueuedFrame,
    ) -> Result<(), QueuedFrame> {
        if let (Some(tags), Some(tcp)) = (&self.tags, tcp) {
            let progress = self.connections.send(queued.packet.dst, tcp);
            let class = tags.class(progress.offset, progress.sent);
            queued.packet.priority = class;
            // Setting the DSCP cannot fail, because a frame with a TCP segment has an IP header.
            let _ = set_dscp(queued.frame.bytes_mut(), code_point(class));
        }
        self.sender.queue().push(queued)
    }

    /// Returns the next packet if one may leave now. Call it only while the uplink is free.
    pub fn pull(&mut self, now: Time) -> Option<QueuedFrame> {
        let segment = self.sender.transport_mut().poll_transmit(now)?;
        self.sender.queue().take(&segment)
    }

    /// Returns whether the card needs the segments that arrive at the host. Only a pacer needs them.
    pub const fn reads_arrivals(&self) -> bool {
        matches!(self.sender, Sender::Paced(_) | Sender::PacedAndJittered(_))
    }

    /// Passes the header of an arriving TCP segment to the pacer.
    pub fn on_arrival(&mut self, now: Time, tuple: FiveTuple, flags: TcpFlags) {
        self.sender
            .transport_mut()
            .on_segment(now, arrived(tuple, flags));
    }

    /// Changes the rate of the host's link. A pacer adapts its rate.
    pub fn set_line_rate(&mut self, now: Time, rate: Rate) {
        self.sender.transport_mut().set_line_rate(now, rate, 0);
    }

    /// Returns whether the card holds frames that have not left yet.
    pub fn has_frames(&self) -> bool {
        self.sender.transport().has_transmit()
    }

    /// Returns the time of the next call of [`Card::pull`]. Other events may cause an earlier call.
    pub fn next_timeout(&self) -> Option<Time> {
        self.sender.transport().next_timeout()
    }
}

impl Sender {
    fn queue(&mut self) -> &mut FrameQueue {
        match self {
            Self::Plain(queue) => queue,
            Self::Paced(paced) => paced.inner_mut(),
            Self::Jittered(jittered) => jittered.inner_mut(),
            Self::PacedAndJittered(jittered) => jittered.inner_mut().inner_mut(),
        }
    }

    fn transport(&self) -> &dyn Transport {
        match self {
            Self::Plain(queue) => queue.as_ref(),
            Self::Paced(paced) => paced.as_ref(),
            Self::Jittered(jittered) => jittered.as_ref(),
            Self::PacedAndJittered(jittered) => jittered.as_ref(),
        }
    }

    fn transport_mut(&mut self) -> &mut dyn Transport {
        match self {
            Self::Plain(queue) => queue.as_mut(),
            Self::Paced(paced) => paced.as_mut(),
            Self::Jittered(jittered) => jittered.as_mut(),
            Self::PacedAndJittered(jittered) => jittered.as_mut(),
        }
    }
}
