//! Orders of applications to the transports of hosts.

use std::collections::VecDeque;
use tailcut_transport::copies::CopyOrder;
use tailcut_transport::{Event, FlowStats, Message, Part, Share, Stragglers, Transport};
use tailcut_units::{FlowId, HostId, Time};

/// Order to the transport of a host.
#[derive(Debug)]
pub(crate) enum Order {
    Submit(HostId, Message),
    Multicast {
        host: HostId,
        message: Message,
        receivers: Vec<HostId>,
        stragglers: Stragglers,
    },
    Collect {
        host: HostId,
        flow: FlowId,
        port: u16,
    },
    Share {
        host: HostId,
        message: Message,
        port: u16,
        share: Share,
    },
    Copy(HostId, CopyOrder),
    Cancel(HostId, FlowId),
    Reprioritise {
        host: HostId,
        flow: FlowId,
        class: u8,
    },
}

impl Order {
    pub const fn host(&self) -> HostId {
        match self {
            Self::Submit(host, _)
            | Self::Multicast { host, .. }
            | Self::Collect { host, .. }
            | Self::Share { host, .. }
            | Self::Reprioritise { host, .. }
            | Self::Copy(host, _)
            | Self::Cancel(host, _) => *host,
        }
    }

    /// Executes the order at a transport. Returns an event only if the transport does not report the event later.
    pub fn carry_out(&self, now: Time, transport: &mut impl Transport) -> Option<Event> {
        let part = match self {
            Self::Submit(_, message) => {
                transport.submit(now, *message);
                return None;
            }
            Self::Cancel(_, flow) => {
                let cost = transport.cancel(now, *flow)?;
                return Some(Event::Failed(*flow, cost));
            }
            Self::Reprioritise { flow, class, .. } => {
                transport.reprioritise(now, *flow, *class);
                return None;
            }
            Self::Copy(_, order) => {
                // A client without a free port to the server does not send the copy.
                // An error therefore has no consequence here.
                let _not_carried = transport.carry(now, *order);
                return None;
            }
            Self::Multicast {
                message,
                receivers,
                stragglers,
                ..
            } => Part::Spread {
                message: *message,
                receivers,
                stragglers: *stragglers,
            },
            Self::Collect { flow, port, .. } => Part::Collect {
                flow: *flow,
                port: *port,
            },
            Self::Share {
                message,
                port,
                share,
                ..
            } => Part::Share {
                message: *message,
                port: *port,
                share: *share,
            },
        };
        let flow = match &part {
            Part::Spread { message, .. } | Part::Share { message, .. } => message.flow,
            Part::Collect { flow, .. } => *flow,
        };
        let taken = transport.take_part(now, part);
        taken
            .is_err()
            .then(|| Event::Failed(flow, FlowStats::default()))
    }
}

/// Pending orders of applications.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    due: VecDeque<Order>,
    due_at: Time,
    /// Number of orders of the current execution: the orders that were due when it began.
    batch: usize,
}

impl Orders {
    /// Adds an order for this instant.
    pub fn add(&mut self, now: Time, order: Order) {
        self.due_at = now;
        self.due.push_back(order);
    }

    /// Returns the time at which orders are due, or `None` if there are no orders.
    #[inline]
    pub fn due_at(&self) -> Option<Time> {
        (!self.due.is_empty()).then_some(self.due_at)
    }

    /// Starts the execution of the orders that are due now.
    pub fn begin(&mut self) {
        self.batch = self.due.len();
    }

    /// Returns the next order to execute.
    pub fn next(&mut self) -> Option<Order> {
        self.batch = self.batch.checked_sub(1)?;
        self.due.pop_front()
    }

    /// Returns the next order, if it concerns a copy at `host`.
    pub fn next_of_copy(&mut self, host: HostId) -> Option<Order> {
        let is_copy = matches!(self.due.front(), Some(Order::Copy(at, _)) if *at == host);
        if !is_copy {
            return None;
        }
        self.batch = self.batch.saturating_sub(1);
        self.due.pop_front()
    }
}
