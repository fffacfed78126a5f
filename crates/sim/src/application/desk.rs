//! What an application is given at each call.

use super::order::{Order, Orders};
use super::spreads::Spreads;
use crate::recorder::{LEG, Recorder};
use tailcut_fabric::{Fabric, GroupError, Observer};
use tailcut_transport::{Event, Message, PathPin, Replication, Stragglers};
use tailcut_units::{FlowId, HostId, Time};
use tailcut_workload::{Class, Flow};

/// What an application is given at each call: the time, and a place for its orders. They are carried
/// out at this instant, one after the other, after the call.
pub struct Desk<'a> {
    pub(super) now: Time,
    pub(super) hosts: u32,
    pub(super) groups: &'a mut dyn Groups,
    pub(super) recorder: &'a mut Recorder,
    pub(super) orders: &'a mut Orders,
    pub(super) spreads: &'a mut Spreads,
    /// Transfers that have a number.
    pub(super) numbers: &'a mut u32,
}

/// The multicast groups of a network.
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
    /// The time.
    pub const fn now(&self) -> Time {
        self.now
    }

    /// Hosts in the network: 0 to one less than this.
    pub const fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Sends `bytes` from one host to another, as a flow that has a row in the table of flows. Gives
    /// the number by which events speak of it; `None` where there is no such host, or both are the same.
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

    /// Takes a flow back that `src` sends: what has not left does not leave. The application hears
    /// `Failed` with what it has cost, at this instant. Nothing happens to a flow that has ended, nor
    /// where the transport cannot take flows back.
    pub fn cancel(&mut self, src: HostId, flow: FlowId) {
        if src.0 < self.hosts {
            self.order(Order::Cancel(src, flow));
        }
    }

    /// What leaves from now on of a flow that `src` sends has `class`, 0 being the highest, whatever the
    /// design would choose. It matters where switches have classes: in pias, qos, ndp-plus, scdp, and
    /// over queues of your own. Nothing happens to a flow that has ended.
    pub fn reprioritise(&mut self, src: HostId, flow: FlowId, class: u8) {
        if src.0 < self.hosts {
            self.order(Order::Reprioritise {
                host: src,
                flow,
                class,
            });
        }
    }

    /// Sends `bytes` to several hosts at once, each of which has a row in the table of flows. Switches
    /// copy the packets for a group that is formed of the receivers. Gives the number by which events
    /// speak of the transfer: `Completed` at each receiver, `Closed` at the sender. `Failed` comes at
    /// this instant where the design has no such transfers: only scdp has.
    ///
    /// # Errors
    /// No receivers or too many, one twice, one that the network does not have, or the sender itself.
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
        self.spread(receivers, stragglers, |dst| Flow {
            id: FlowId(0),
            start,
            src,
            dst,
            bytes,
            path: None,
            class: Class::Foreground,
        })
    }

    /// Forms a group of hosts in the network and gives its address. For transports of your own: those
    /// that are built in send to groups by [`Desk::send_to_all`].
    ///
    /// # Errors
    /// No members or too many, one twice, or one that the network does not have.
    pub fn form_group(&mut self, members: &[HostId]) -> Result<HostId, GroupError> {
        if let Some(host) = members.iter().find(|host| host.0 >= self.hosts) {
            return Err(GroupError::Excluded(*host));
        }
        self.groups.form_group(members)
    }

    /// A host joins a group: what enters the network for it from now on reaches the host, too.
    ///
    /// # Errors
    /// No such group, one that is full, a host that is in it or that the network does not have.
    pub fn join_group(&mut self, group: HostId, member: HostId) -> Result<(), GroupError> {
        if member.0 >= self.hosts {
            return Err(GroupError::Excluded(member));
        }
        self.groups.join_group(group, member)
    }

    /// A host leaves a group, by its own word: switches hear it on its way, and then send it nothing
    /// more.
    pub fn leave_group(&mut self, group: HostId, member: HostId) {
        self.groups.leave_group(self.now, group, member, member);
    }

    /// Ends a group: what is on its way goes on, nothing more enters for it.
    pub fn dissolve_group(&mut self, group: HostId) {
        self.groups.dissolve_group(group);
    }

    /// Sends one object to several receivers, each of which has the row that `flow` says.
    pub(crate) fn spread(
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
        self.spreads.began(first, group, receivers.to_vec());
        let Flow { src, bytes, .. } = flow(group);
        self.order(Order::Spread {
            host: src,
            message: message(first, group, bytes),
            receivers: receivers.to_vec(),
            stragglers,
        });
        Ok(first)
    }

    /// Notes an event of a transfer to several hosts; false for others.
    pub(super) fn note_spread(&mut self, host: HostId, event: Event) -> bool {
        let (recorder, groups) = (&mut *self.recorder, &mut *self.groups);
        self.spreads.note(self.now, host, event, recorder, groups)
    }

    /// Sends a flow whatever its number is; gives the number that it gets.
    pub(crate) fn send_flow(&mut self, flow: &Flow) -> FlowId {
        let id = self.number();
        self.recorder.started(&Flow { id, ..*flow });
        let message = message(id, flow.dst, flow.bytes);
        self.order(Order::Submit(flow.src, message));
        id
    }

    /// Sends a flow that has a number.
    pub(super) fn start(&mut self, flow: &Flow, replication: Replication) {
        self.recorder.started(flow);
        let message = Message {
            path: flow.path.map_or(PathPin::NONE, PathPin::to),
            replication,
            ..message(flow.id, flow.dst, flow.bytes)
        };
        self.order(Order::Submit(flow.src, message));
    }

    /// The next number of a transfer.
    pub(crate) const fn number(&mut self) -> FlowId {
        *self.numbers += 1;
        transfer_flow(*self.numbers as usize - 1)
    }

    /// Orders something to be done at this instant.
    pub(crate) fn order(&mut self, order: Order) {
        self.orders.add(self.now, order);
    }

    /// The rows of flows.
    pub(crate) const fn recorder(&mut self) -> &mut Recorder {
        self.recorder
    }
}

/// A message of an application, whose path and replication are the network's and the design's affair.
pub(crate) fn message(flow: FlowId, dst: HostId, bytes: u64) -> Message {
    Message {
        flow,
        dst,
        bytes,
        path: PathPin::NONE,
        replication: Replication::AsConfigured,
    }
}

/// The transfer that has this place among those of its application.
pub(crate) const fn transfer_flow(index: usize) -> FlowId {
    FlowId(LEG | index as u32)
}

/// Where a transfer stands among those of its application: in the order of their numbers, from 0.
pub(crate) const fn transfer_index(flow: FlowId) -> usize {
    (flow.0 & !LEG) as usize
}
