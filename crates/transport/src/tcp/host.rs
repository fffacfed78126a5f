//! A plain TCP host: each message is one connection, opened when it is submitted. So a flow's
//! completion time includes the handshake.

use super::config::{ConfigError, TcpConfig};
use super::connection::{Role, Summary};
use super::endpoint::{ConnectionEvent, Endpoint};
use crate::{Event, FlowStats, Message, Segment, Transport};
use alloc::collections::VecDeque;
use tailcut_units::{FiveTuple, HostId, Protocol, Time};

/// The port that hosts are reached at.
pub const SERVICE_PORT: u16 = 80;

/// [`Transport`] over an [`Endpoint`], without replication.
#[derive(Debug)]
pub struct Host {
    endpoint: Endpoint,
    events: VecDeque<Event>,
}

impl Host {
    /// The TCP of `host`.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(host: HostId, config: TcpConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            endpoint: Endpoint::new(host, config)?,
            events: VecDeque::new(),
        })
    }

    /// The connections.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Turns what happened to connections into what happened to flows.
    fn relay(&mut self, now: Time) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                ConnectionEvent::Established { id } => {
                    self.events
                        .extend(self.endpoint.flow(id).map(Event::Established));
                }
                ConnectionEvent::PeerFinished { id, .. } => {
                    if self.endpoint.role(id) == Some(Role::Acceptor) {
                        self.events
                            .extend(self.endpoint.flow(id).map(Event::Completed));
                        self.endpoint.finish(now, id);
                    }
                }
                ConnectionEvent::Closed { summary, .. } => {
                    self.end(summary, Event::Closed);
                }
                ConnectionEvent::Reset { summary, .. }
                | ConnectionEvent::Failed { summary, .. } => {
                    self.end(summary, Event::Failed);
                }
                ConnectionEvent::Accepted { .. } | ConnectionEvent::Delivered { .. } => {}
            }
        }
    }

    /// Only the opener's application hears of the end.
    fn end(&mut self, summary: Summary, event: fn(tailcut_units::FlowId, FlowStats) -> Event) {
        if summary.role == Role::Opener {
            self.events.push_back(event(summary.flow, summary.stats));
        }
    }
}

impl Transport for Host {
    /// A message for which every port is in use fails at once.
    fn submit(&mut self, now: Time, message: Message) {
        let Message {
            flow,
            dst,
            bytes,
            path,
            ..
        } = message;
        let opened = self
            .endpoint
            .unused_port(dst, &[SERVICE_PORT])
            .and_then(|src_port| {
                let tuple = FiveTuple {
                    src: self.endpoint.host(),
                    dst,
                    src_port,
                    dst_port: SERVICE_PORT,
                    protocol: Protocol::Tcp,
                };
                self.endpoint.connect(now, tuple, flow, path).ok()
            });
        match opened {
            Some(id) => {
                self.endpoint.write(now, id, bytes);
                self.endpoint.finish(now, id);
            }
            None => self
                .events
                .push_back(Event::Failed(flow, FlowStats::default())),
        }
    }

    #[inline]
    fn on_segment(&mut self, now: Time, segment: Segment) {
        self.endpoint.on_segment(now, &segment);
        self.relay(now);
    }

    fn on_timeout(&mut self, now: Time) {
        self.endpoint.on_timeout(now);
        self.relay(now);
    }

    #[inline]
    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.endpoint.poll_transmit(now)
    }

    #[inline]
    fn has_transmit(&self) -> bool {
        self.endpoint.has_transmit()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.endpoint.next_timeout()
    }
}
