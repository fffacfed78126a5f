//! Applications: what feeds a run beside the workload's flows. They hear of time and of their transfers,
//! and answer with commands.

mod own;

use crate::recorder::{LEG, Recorder};
pub use own::{ApplicationSeat, OwnApplication};
use std::collections::VecDeque;
use tailcut_fabric::{Fabric, GroupError, Observer};
use tailcut_record::SessionRecord;
use tailcut_transport::{
    Event, Message, Part, PathPin, Replication, Segment, Share, Stragglers, Transport,
};
use tailcut_units::{FlowId, HostId, Time};
use tailcut_workload::{Class, Flow};

/// Something on top of the transports of a run: a storage service, a training job, a chat. A run has at
/// most one, on all of its hosts, beside its flows.
///
/// It never sees a clock. It is called at the time that [`Application::next`] said, and whenever a
/// transport has news of a transfer that it began. Each call gets a [`Desk`], which takes its commands.
pub trait Application: Send {
    /// When it does something next by itself; `None`: only when it hears of a transfer.
    fn next(&self) -> Option<Time>;

    /// The time that `next` said has come: `desk.now()`.
    fn act(&mut self, desk: &mut Desk<'_>);

    /// The transport of `host` has news of a transfer of this application: the receiver's says that
    /// all of it is there (`Completed`), the sender's that it is over or was given up.
    fn event(&mut self, _host: HostId, _event: Event, _desk: &mut Desk<'_>) {}

    /// A segment of one of its transfers reached its host whole. Only called where
    /// [`Application::hears_segments`] says so: most applications do without.
    fn segment_arrived(&mut self, _segment: &Segment, _desk: &mut Desk<'_>) {}

    /// Whether `segment_arrived` is to be called.
    fn hears_segments(&self) -> bool {
        false
    }

    /// How many things it has begun, for the progress that is shown.
    fn started(&self) -> u64 {
        0
    }

    /// The run is over. Gives rows for the table of sessions.
    fn finish(self: Box<Self>, _desk: &mut Desk<'_>) -> Vec<SessionRecord> {
        Vec::new()
    }
}

/// What an application is given at each call: the time, and a place for its commands. They are carried
/// out at this instant, in their order, after the call.
pub struct Desk<'a> {
    pub(crate) now: Time,
    pub(crate) hosts: u32,
    pub(crate) groups: &'a mut dyn Groups,
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) orders: &'a mut Orders,
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

    /// Sends a flow whatever its number is; gives the number that it gets.
    pub(crate) fn send_flow(&mut self, flow: &Flow) -> FlowId {
        let id = self.number();
        self.recorder.started(&Flow { id, ..*flow });
        let message = message(id, flow.dst, flow.bytes);
        self.order(Order::Submit(flow.src, message));
        id
    }

    /// The next number of a transfer.
    pub(crate) const fn number(&mut self) -> FlowId {
        self.orders.numbers += 1;
        FlowId(LEG | (self.orders.numbers - 1))
    }

    /// Orders something to be done at this instant.
    pub(crate) fn order(&mut self, order: Order) {
        self.orders.due_at = self.now;
        self.orders.due.push_back(order);
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

/// Whether a flow is an application's.
pub(crate) const fn is_transfer(flow: FlowId) -> bool {
    flow.0 & LEG != 0
}

/// What an application has ordered and nobody has done yet.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    due: VecDeque<Order>,
    due_at: Time,
    /// Transfers that have a number.
    numbers: u32,
}

impl Orders {
    /// When they are due; `None` where there are none.
    #[inline]
    pub fn due_at(&self) -> Option<Time> {
        (!self.due.is_empty()).then_some(self.due_at)
    }

    /// All of them.
    pub fn take(&mut self) -> VecDeque<Order> {
        std::mem::take(&mut self.due)
    }
}

/// Something that a host's transport is to do.
#[derive(Debug)]
pub(crate) enum Order {
    Submit(HostId, Message),
    Spread {
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
}

impl Order {
    pub const fn host(&self) -> HostId {
        match self {
            Self::Submit(host, _)
            | Self::Spread { host, .. }
            | Self::Collect { host, .. }
            | Self::Share { host, .. } => *host,
        }
    }

    pub fn carry_out(&self, now: Time, transport: &mut impl Transport) {
        let part = match self {
            Self::Submit(_, message) => return transport.submit(now, *message),
            Self::Spread {
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
        let taken = transport.take_part(now, part);
        debug_assert!(taken.is_ok(), "a design with several ends has them");
    }
}
