//! RepNet host: each message is one flow over one or two TCP connections, which open when the message is submitted.
//! So the completion time of a flow includes the handshake, which RepSYN shortens.

use super::config::RepNetConfig;
use super::endpoint::Endpoint;
use super::socket::SocketEvent;
use super::state::Role;
use crate::tcp::{self, Summary, TcpConfig};
use crate::{ConfigError, Event, FlowStats, Message, Segment, Transport};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use tailcut_units::{FlowId, HostId, Time};

/// [`Transport`] that uses an [`Endpoint`]. Both connections of a flow use the path to which the flow is pinned.
#[derive(Debug)]
pub struct Host {
    endpoint: Endpoint,
    events: VecDeque<Event>,
}

impl Host {
    /// Creates the RepNet transport of the host with the number `host`, over TCP with any congestion control.
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub fn new(
        host: HostId,
        tcp: impl Into<Arc<TcpConfig>>,
        config: RepNetConfig,
    ) -> Result<Self, ConfigError> {
        let tcp = tcp.into();
        Ok(Self {
            endpoint: Endpoint::new(host, tcp.port, tcp, config)?,
            events: VecDeque::new(),
        })
    }

    /// Returns the endpoint that holds the flows.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Converts events of sockets into events of flows. In most calls there is no event.
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
                    // The receiver of a message has nothing to send, so it ends its direction too.
                    self.endpoint.finish(now, id);
                }
            }
            SocketEvent::Closed { summary, .. } => self.end(summary, Event::Closed),
            SocketEvent::Failed { summary, .. } => self.end(summary, Event::Failed),
            SocketEvent::Accepted { .. } | SocketEvent::Delivered { .. } => {}
        }
    }

    /// Reports the end of a flow. Only the application that opened the flow receives this event.
    fn end(&mut self, summary: Summary, event: fn(FlowId, FlowStats) -> Event) {
        if summary.role == tcp::Role::Opener {
            self.events.push_back(event(summary.flow, summary.stats));
        }
    }
}

impl Transport for Host {
    /// Opens a flow for a message. The message fails immediately if every port is in use.
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
        // `abort` queues an event for the end, but the caller of `cancel` receives the cost as a return value instead.
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

    #[inline]
    fn prefetch(&self, arriving: Option<&Segment>) {
        self.endpoint.tcp().prefetch(arriving);
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
