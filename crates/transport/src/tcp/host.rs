//! TCP host: each message uses its own connection, which opens when the message is submitted.
//! The completion time of a flow therefore includes the handshake of its connection.

use super::config::TcpConfig;
use super::connection::{Role, Summary};
use super::endpoint::{ConnectionEvent, Endpoint};
use crate::{ConfigError, Event, FlowStats, Message, Segment, Transport};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use tailcut_units::{FiveTuple, FlowId, HostId, Protocol, Time};

/// Flows of messages. Each message uses one connection of an endpoint.
/// `Messages` receives the events of the connections of its messages.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    events: VecDeque<Event>,
}

impl Messages {
    /// Opens a connection for `message` to `port` of its destination.
    /// The message fails immediately if every local port is in use.
    pub(crate) fn submit(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint,
        message: Message,
        port: u16,
    ) {
        let Message {
            flow,
            dst,
            bytes,
            path,
            ..
        } = message;
        let opened = endpoint.unused_port(dst, &[port]).and_then(|src_port| {
            let tuple = FiveTuple {
                src: endpoint.host(),
                dst,
                src_port,
                dst_port: port,
                protocol: Protocol::Tcp,
            };
            endpoint.connect(now, tuple, flow, path).ok()
        });
        match opened {
            Some(id) => {
                endpoint.write(now, id, bytes);
                // The whole message is written now, so the last segment can contain the FIN.
                endpoint.finish(now, id);
            }
            None => self
                .events
                .push_back(Event::Failed(flow, FlowStats::default())),
        }
    }

    /// Converts an event of a connection into an event of its flow.
    #[inline]
    pub(crate) fn on_event(&mut self, now: Time, endpoint: &mut Endpoint, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Established { id } => {
                self.events
                    .extend(endpoint.flow(id).map(Event::Established));
            }
            ConnectionEvent::PeerFinished { id, .. } => {
                // The receiver has all data. The receiver closes its own direction, which ends the connection.
                if endpoint.role(id) == Some(Role::Acceptor) {
                    self.events.extend(endpoint.flow(id).map(Event::Completed));
                    endpoint.finish(now, id);
                }
            }
            ConnectionEvent::Closed { summary, .. } => {
                self.end(summary, Event::Closed);
            }
            ConnectionEvent::Reset { summary, .. } | ConnectionEvent::Failed { summary, .. } => {
                self.end(summary, Event::Failed);
            }
            ConnectionEvent::Accepted { .. } | ConnectionEvent::Delivered { .. } => {}
        }
    }

    /// Reports the end of a flow. Only the application that opened the flow receives this event.
    fn end(&mut self, summary: Summary, event: fn(FlowId, FlowStats) -> Event) {
        if summary.role == Role::Opener {
            self.events.push_back(event(summary.flow, summary.stats));
        }
    }

    /// Returns the next event of a flow, in order.
    #[inline]
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

/// [`Transport`] that uses an [`Endpoint`], without replication.
#[derive(Debug)]
pub struct Host {
    endpoint: Endpoint,
    messages: Messages,
}

impl Host {
    /// Creates the TCP transport of the host with the number `host`.
    ///
    /// # Errors
    /// A parameter is outside its range.
    pub fn new(host: HostId, config: impl Into<Arc<TcpConfig>>) -> Result<Self, ConfigError> {
        Ok(Self {
            endpoint: Endpoint::new(host, config)?,
            messages: Messages::default(),
        })
    }

    /// Returns the endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn relay(&mut self, now: Time) {
        while let Some(event) = self.endpoint.poll_event() {
            self.messages.on_event(now, &mut self.endpoint, event);
        }
    }
}

impl Transport for Host {
    fn submit(&mut self, now: Time, message: Message) {
        let endpoint = &mut self.endpoint;
        let port = endpoint.config().port;
        self.messages.submit(now, endpoint, message, port);
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        let id = self.endpoint.opened(flow)?;
        self.endpoint.reset(now, id).map(|summary| summary.stats)
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
        self.messages.poll_event()
    }

    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        self.endpoint.next_timeout()
    }

    #[inline]
    fn prefetch(&self, arriving: Option<&Segment>) {
        self.endpoint.prefetch(arriving);
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        sent(self.endpoint.unfinished()).collect()
    }
}

/// Returns the flows among `all` that this host opened, with their cost.
pub(crate) fn sent(
    all: impl Iterator<Item = Summary>,
) -> impl Iterator<Item = (FlowId, FlowStats)> {
    let opened = all.filter(|summary| summary.role == Role::Opener);
    opened.map(|summary| (summary.flow, summary.stats))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A large network has more hosts than the cache can hold, so each visit of a host reads its lines from memory.
    #[test]
    fn a_host_has_at_most_four_cache_lines() {
        let size = size_of::<Host>();
        assert!(size <= 256, "{size} bytes");
    }
}
