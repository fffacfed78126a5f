//! Interface through which an application gives orders.

use super::multicast::MulticastTransfers;
use super::order::{Order, Orders};
use crate::recorder::{Recorder, SESSION_FLOW};
use tailcut_fabric::{Fabric, GroupError, Observer};
use tailcut_transport::{Event, Message, PathPin, Replication, Stragglers};
use tailcut_units::{FlowId, HostId, Time};
use tailcut_workload::{Class, Flow};

/// Time and orders of one call of an application.
/// The orders are executed in sequence after the call, at the same instant.
pub struct Desk<'a> {
    pub(super) now: Time,
    pub(super) hosts: u32,
    pub(super) groups: &'a mut dyn Groups,
    pub(super) recorder: &'a mut Recorder,
    pub(super) orders: &'a mut Orders,
    pub(super) multicasts: &'a mut MulticastTransfers,
    /// Number of transfers so far. The next transfer gets this number.
    pub(super) numbers: &'a mut u32,
}

/// Multicast groups of a network.
pub(crate) trait Groups {
    fn form_group(&mut self, members: &[HostId]) -> Result<HostId, GroupError>;
    fn join_group(&mut self, group: HostId, member: HostId) -> Result<(), GroupError>;
    fn leave_group(&mut self, now: Time, group: HostId, member: HostId, told_by: HostId);
    fn dissolve_group(&mut self, group: HostId);
}

impl<B: Clone, O: Observer<B>> Groups for Fabric<B, O> {
    fn form_group(&mut self, members: &[HostId]) -> Result<HostId, GroupError> {
        Self::form_group(self, members)
    }
    fn join_group(&mut self, group: HostId, member: HostId) -> Result<(), GroupError> {
        Self::join_group(self, group, member)
    }
    fn leave_group(&mut self, now: Time, group: HostId, member: HostId, told_by: HostId) {
        Self::leave_group(self, now, group, member, told_by);
    }
    fn dissolve_group(&mut self, group: HostId) {
        Self::dissolve_group(self, group);
    }
}

impl Desk<'_> {
    /// Returns the current time.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Returns the number of hosts in the network. Hosts are numbered from 0.
    pub const fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Sends `bytes` from one host to another, as a flow with a row in the table of flows.
    /// Returns the number of the flow. The flow's events contain this number.
    /// Returns `None` if a host does not exist, or if both hosts are the same.
    pub fn send(&mut self, src: HostId, dst: HostId, bytes: u64) -> Option<FlowId> {
        if src == dst || src.0 >= self.hosts || dst.0 >= self.hosts {
            return None;
        }
        Some(self.send_flow(&Flow {
            id: FlowId(0),
            start: self.now,
            src,
            dst,
            bytes,
            path: None,
            class: Class::Foreground,
        }))
    }

    /// Cancels a flow that `src` sends. Unsent data is discarded.
    /// The application receives `Failed` at this instant, with the costs of the flow so far.
    /// The call has no effect on a flow that has ended, or in a transport that cannot cancel flows.
    pub fn cancel(&mut self, src: HostId, flow: FlowId) {
        if src.0 < self.hosts {
            self.order(Order::Cancel(src, flow));
        }
    }

    /// Sets the class of all further packets of a flow that `src` sends, in place of the class that the design selects.
    /// Class 0 is the highest. A flow that has ended is not affected.
    /// The class has an effect in pias, qos, ndp-plus, scdp and custom queues, where switches have classes.
    pub fn reprioritise(&mut self, src: HostId, flow: FlowId, class: u8) {
        if src.0 < self.hosts {
            self.order(Order::Reprioritise {
                host: src,
                flow,
                class,
            });
        }
    }

    /// Sends `bytes` to several hosts at the same time. Each host has a row in the table of flows.
    /// The receivers form a multicast group, and switches copy the packets.
    /// Returns the number of the transfer. The transfer's events contain this number.
    /// The receivers report `Completed`, and the sender reports `Closed`.
    /// Only scdp can send to several receivers. All designs except scdp report `Failed` at this instant.
    ///
    /// # Errors
    /// The list of receivers is empty or too long. Or a receiver occurs twice, does not exist, or is the sender.
    pub fn send_to_all(
        &mut self,
        src: HostId,
        receivers: &[HostId],
        bytes: u64,
        stragglers: Stragglers,
    ) -> Result<FlowId, GroupError> {
        let excluded = |host: &&HostId| **host == src || host.0 >= self.hosts;
        let ends = std::iter::once(&src).filter(|src| src.0 >= self.hosts);
        if let Some(host) = receivers.iter().filter(excluded).chain(ends).next() {
            return Err(GroupError::Excluded(*host));
        }
        let start = self.now;
        self.multicast(receivers, stragglers, |dst| Flow {
            id: FlowId(0),
            start,
            src,
            dst,
            bytes,
            path: None,
            class: Class::Foreground,
        })
    }

    /// Creates a multicast group of hosts and returns its address. Custom transports use this function.
    /// Built-in transports send to groups by [`Desk::send_to_all`].
    ///
    /// # Errors
    /// The list of members is empty or too long. Or a member occurs twice or does not exist.
    pub fn form_group(&mut self, members: &[HostId]) -> Result<HostId, GroupError> {
        if let Some(host) = members.iter().find(|host| host.0 >= self.hosts) {
            return Err(GroupError::Excluded(*host));
        }
        self.groups.form_group(members)
    }

    /// Adds a host to a group. The host receives all packets that enter the network after this instant.
    ///
    /// # Errors
    /// The group or the host does not exist, the group is full, or the host is already in the group.
    pub fn join_group(&mut self, group: HostId, member: HostId) -> Result<(), GroupError> {
        if member.0 >= self.hosts {
            return Err(GroupError::Excluded(member));
        }
        self.groups.join_group(group, member)
    }

    /// Removes a host from a group at its own request.
    /// Each switch stops forwarding to the host when the request reaches it.
    pub fn leave_group(&mut self, group: HostId, member: HostId) {
        self.groups.leave_group(self.now, group, member, member);
    }

    /// Ends a group. Packets in the network still arrive, but no further packet can enter.
    pub fn dissolve_group(&mut self, group: HostId) {
        self.groups.dissolve_group(group);
    }

    /// Sends one object to several receivers. `flow` returns the row of each receiver.
    pub(crate) fn multicast(
        &mut self,
        receivers: &[HostId],
        stragglers: Stragglers,
        flow: impl Fn(HostId) -> Flow,
    ) -> Result<FlowId, GroupError> {
        let group = self.groups.form_group(receivers)?;
        let first = transfer_flow(*self.numbers as usize);
        for receiver in receivers {
            let id = self.number();
            self.recorder.started(&Flow {
                id,
                ..flow(*receiver)
            });
        }
        self.multicasts.began(first, group, receivers.to_vec());
        let Flow { src, bytes, .. } = flow(group);
        self.order(Order::Multicast {
            host: src,
            message: message(first, group, bytes),
            receivers: receivers.to_vec(),
            stragglers,
        });
        Ok(first)
    }

    /// Records an event of a transfer to several hosts. Returns false for other events.
    pub(super) fn record_multicast(&mut self, host: HostId, event: Event) -> bool {
        let (recorder, groups) = (&mut *self.recorder, &mut *self.groups);
        self.multicasts
            .record_event(self.now, host, event, recorder, groups)
    }

    /// Sends a flow and replaces its number. Returns the new number.
    pub(crate) fn send_flow(&mut self, flow: &Flow) -> FlowId {
        let id = self.number();
        self.recorder.started(&Flow { id, ..*flow });
        let message = message(id, flow.dst, flow.bytes);
        self.order(Order::Submit(flow.src, message));
        id
    }

    /// Sends a flow and keeps its number.
    pub(super) fn start(&mut self, flow: &Flow, replication: Replication) {
        self.recorder.started(flow);
        self.submit(flow, replication);
    }

    /// Sends a flow for which the run does not wait, and keeps its number.
    pub(super) fn start_load_only(&mut self, flow: &Flow, replication: Replication) {
        self.recorder.list(flow);
        self.submit(flow, replication);
    }

    fn submit(&mut self, flow: &Flow, replication: Replication) {
        let message = Message {
            path: flow.path.map_or(PathPin::NONE, PathPin::to),
            replication,
            ..message(flow.id, flow.dst, flow.bytes)
        };
        self.order(Order::Submit(flow.src, message));
    }

    /// Returns the next number of a transfer.
    pub(crate) const fn number(&mut self) -> FlowId {
        *self.numbers += 1;
        transfer_flow(*self.numbers as usize - 1)
    }

    /// Adds an order for this instant.
    pub(crate) fn order(&mut self, order: Order) {
        self.orders.add(self.now, order);
    }

    /// Returns the recorder.
    pub(crate) const fn recorder(&mut self) -> &mut Recorder {
        self.recorder
    }
}

/// Creates a message of an application.
/// The network selects the path of the message, and the design selects its replication.
pub(crate) fn message(flow: FlowId, dst: HostId, bytes: u64) -> Message {
    Message {
        flow,
        dst,
        bytes,
        path: PathPin::NONE,
        replication: Replication::AsConfigured,
    }
}

/// Converts the index of an application's transfer to its flow number.
pub(crate) const fn transfer_flow(index: usize) -> FlowId {
    FlowId(SESSION_FLOW | index as u32)
}

/// Converts the flow number of an application's transfer to its index, from 0.
pub(crate) const fn transfer_index(flow: FlowId) -> usize {
    (flow.0 & !SESSION_FLOW) as usize
}
