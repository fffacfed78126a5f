//! A RepNet host: each message is one flow over one or two TCP connections, opened when it is
//! submitted. So a flow's completion time includes the handshake, which is what RepSYN improves.

use super::config::RepNetConfig;
use super::endpoint::Endpoint;
use super::socket::SocketEvent;
use super::state::Role;
use crate::tcp::{self, Summary, TcpConfig};
use crate::{ConfigError, Event, FlowStats, Message, Segment, Transport};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use tailcut_units::{FlowId, HostId, Time};

/// [`Transport`] over an [`Endpoint`]. Both connections of a flow that is pinned to a path are
/// pinned to the same one.
#[derive(Debug)]
pub struct Host {
    endpoint: Endpoint,
    events: VecDeque<Event>,
}

impl Host {
    /// RepNet of `host` over TCP with any congestion control.
    ///
    /// # Errors
    /// A parameter outside its range.
    pub fn new(host: HostId, tcp: TcpConfig, config: RepNetConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            endpoint: Endpoint::new(host, tcp.port, tcp, config)?,
            events: VecDeque::new(),
        })
    }

    /// The flows.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Turns what happened to sockets into what happened to flows. Mostly nothing did.
    #[inline]
    fn relay(&mut self, now: Time) {
        if let Some(event) = self.endpoint.poll_event() {
            self.relay_from(now, event);
        }
    }

    #[cold]
    fn relay_from(&mut self, now: Time, first: SocketEvent) {
        let mut next = Some(first);
        while let Some(event) = next {
            self.on_socket_event(now, event);
            next = self.endpoint.poll_event();
        }
    }

    fn on_socket_event(&mut self, now: Time, event: SocketEvent) {
        match event {
            SocketEvent::Established { id } => {
                let flow = self.endpoint.flow(id);
                self.events.extend(flow.map(Event::Established));
            }
            SocketEvent::PeerFinished { id, .. } => {
                if self.endpoint.role(id) == Some(Role::Server) {
                    let flow = self.endpoint.flow(id);
                    self.events.extend(flow.map(Event::Completed));
                    self.endpoint.finish(now, id);
                }
            }
            SocketEvent::Closed { summary, .. } => self.end(summary, Event::Closed),
            SocketEvent::Failed { summary, .. } => self.end(summary, Event::Failed),
            SocketEvent::Accepted { .. } | SocketEvent::Delivered { .. } => {}
        }
    }

    /// Only the opener's application hears of the end.
    fn end(&mut self, summary: Summary, event: fn(FlowId, FlowStats) -> Event) {
        if summary.role == tcp::Role::Opener {
            self.events.push_back(event(summary.flow, summary.stats));
        }
    }
}

impl Transport for Host {
    /// A message for which every port is in use fails at once.
    fn submit(&mut self, now: Time, message: Message) {
        let replicated = self.endpoint.config().mode_of(&message);
        let Message {
            flow,
            dst,
            bytes,
            path,
            ..
        } = message;
        match self.endpoint.connect(now, dst, flow, path, replicated) {
            Some(id) => {
                self.endpoint.write(now, id, bytes);
                self.endpoint.finish(now, id);
            }
            None => self
                .events
                .push_back(Event::Failed(flow, FlowStats::default())),
        }
        self.relay(now);
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        let id = self.endpoint.opened(flow)?;
        self.endpoint.abort(now, id);
        self.relay(now);
        let is_end = |event: &Event| matches!(event, Event::Closed(its, _) | Event::Failed(its, _) if *its == flow);
        let place = self.events.iter().position(is_end)?;
        match self.events.remove(place) {
            Some(Event::Closed(_, stats) | Event::Failed(_, stats)) => Some(stats),
            _ => None,
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

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        tcp::sent(self.endpoint.unfinished()).collect()
    }
}
