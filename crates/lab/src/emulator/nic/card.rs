//! The network card of one host.

use super::connections::Connections;
use super::queue::{FrameQueue, Waiting, arrived};
use crate::emulator::frames::{TcpSegment, code_point};
use std::num::NonZeroU32;
use tailcut_fabric::topology::Topology;
use tailcut_sim::HostPlan;
use tailcut_transport::ConfigError;
use tailcut_transport::Transport;
use tailcut_transport::nic::{Paced, PacedConfig};
use tailcut_transport::pias::Tags;
use tailcut_transport::tcp::TcpFlags;
use tailcut_units::{FiveTuple, HostId, Time};
use tailcut_wire::foreign::set_dscp;

/// What a network card does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CardConfig {
    /// The classes that it gives TCP segments; `None`: their own, by their code points.
    pub tags: Option<Tags>,
    /// Its pacer, if it has one.
    pub pacer: Option<PacedConfig>,
    /// Packets that it holds.
    pub length: NonZeroU32,
}

impl CardConfig {
    /// The card of a host in a design; `None` where the fabric's own queue before the uplink is all that
    /// there is.
    ///
    /// # Errors
    /// A parameter of the pacer outside its range.
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
            // Frames know all of their line time.
            pacer: plan.pacer(&seat).map(|pacer| PacedConfig {
                overhead: 0,
                ..pacer
            }),
            length,
        };
        if let Some(pacer) = &config.pacer {
            pacer.validate()?;
        }
        Ok((config.tags.is_some() || config.pacer.is_some()).then_some(config))
    }
}

/// A network card.
#[derive(Debug)]
pub struct Card {
    tags: Option<Tags>,
    connections: Connections,
    sender: Sender,
}

/// What decides when a frame leaves.
#[derive(Debug)]
enum Sender {
    Plain(Box<FrameQueue>),
    Paced(Box<Paced<FrameQueue>>),
}

impl Card {
    /// One with nothing in it.
    ///
    /// # Errors
    /// A parameter of the pacer outside its range.
    pub fn new(config: &CardConfig) -> Result<Self, ConfigError> {
        let in_order = config.tags.is_some_and(|tags| tags.in_order);
        let queue = FrameQueue::new(config.length, in_order);
        Ok(Self {
            tags: config.tags,
            connections: Connections::default(),
            sender: match config.pacer {
                Some(pacer) => Sender::Paced(Box::new(Paced::new(queue, pacer)?)),
                None => Sender::Plain(Box::new(queue)),
            },
        })
    }

    /// The host sends a frame, with a TCP segment in it or not. A tagged one gets its class, and the code
    /// point that stands for it.
    ///
    /// # Errors
    /// There is no room; the frame.
    pub fn push(&mut self, tcp: Option<&TcpSegment>, mut waiting: Waiting) -> Result<(), Waiting> {
        if let (Some(tags), Some(tcp)) = (&self.tags, tcp) {
            let progress = self.connections.send(waiting.packet.dst, tcp);
            let class = tags.class(progress.offset, progress.sent);
            waiting.packet.priority = class;
            // A frame with a TCP segment has an IP header.
            let _ = set_dscp(waiting.frame.bytes_mut(), code_point(class));
        }
        self.sender.queue().push(waiting)
    }

    /// The next packet, where one may leave now. To be asked when the uplink is free.
    pub fn pull(&mut self, now: Time) -> Option<Waiting> {
        let segment = self.sender.transport_mut().poll_transmit(now)?;
        self.sender.queue().take(&segment)
    }

    /// Whether it matters what arrives at the host.
    pub const fn hears(&self) -> bool {
        matches!(self.sender, Sender::Paced(_))
    }

    /// A TCP segment has arrived at the host.
    pub fn hear(&mut self, now: Time, tuple: FiveTuple, flags: TcpFlags) {
        self.sender
            .transport_mut()
            .on_segment(now, arrived(tuple, flags));
    }

    /// Whether frames wait.
    pub fn has_frames(&self) -> bool {
        self.sender.transport().has_transmit()
    }

    /// When to pull again though nothing has happened.
    pub fn next_timeout(&self) -> Option<Time> {
        self.sender.transport().next_timeout()
    }
}

impl Sender {
    fn queue(&mut self) -> &mut FrameQueue {
        match self {
            Self::Plain(queue) => queue,
            Self::Paced(paced) => paced.inner_mut(),
        }
    }

    fn transport(&self) -> &dyn Transport {
        match self {
            Self::Plain(queue) => queue.as_ref(),
            Self::Paced(paced) => paced.as_ref(),
        }
    }

    fn transport_mut(&mut self) -> &mut dyn Transport {
        match self {
            Self::Plain(queue) => queue.as_mut(),
            Self::Paced(paced) => paced.as_mut(),
        }
    }
}
