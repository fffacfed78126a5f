//! What an application is given at each call.

use super::order::{Order, Orders};
use crate::recorder::{LEG, Recorder};
use tailcut_fabric::{Fabric, GroupError, Observer};
use tailcut_transport::{Message, PathPin, Replication};
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
    /// Transfers that have a number.
    pub(super) numbers: &'a mut u32,
}

/// The multicast groups of a network.
pub(crate) trait Groups {
    fn form_group(&mut self, members: &[HostId]) -> Result<HostId, GroupError>;
    fn leave_group(&mut self, now: Time, group: HostId, member: HostId, told_by: HostId);
    fn dissolve_group(&mut self, group: HostId);
}

impl<B: Clone, O: Observer<B>> Groups for Fabric<B, O> {
    fn form_group(&mut self, members: &[HostId]) -> Result<HostId, GroupError> {
        Self::form_group(self, members)
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

    /// The network's multicast groups.
    pub(crate) fn groups(&mut self) -> &mut dyn Groups {
        self.groups
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
