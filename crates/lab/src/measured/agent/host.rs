//! Transport interface of a host in a measured run. The applications of the run use this host like a simulated host.

use super::orders::{Ends, Order, Start};
use crate::emulator::plan::Several;
use crate::emulator::poller::Waker;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::mpsc::Sender;
use tailcut_transport::copies::{CopyNews, CopyOrder, NotCarried, Side, flow_of_copy};
use tailcut_transport::repnet::RepNetConfig;
use tailcut_transport::{Event, FlowStats, Message, NotShared, Part, Segment, Transport};
use tailcut_units::{FlowId, HostId, Time};

/// Host whose transport is the Linux kernel or an endpoint of SCDP.
/// The host forwards each message to the agents' thread. No packets pass through this interface.
pub struct KernelHost {
    host: HostId,
    /// Replication of flows; `None`: no flow is replicated.
    replication: Option<RepNetConfig>,
    several: Several,
    orders: Sender<Order>,
    waker: Rc<Waker>,
    events: Rc<RefCell<VecDeque<Event>>>,
    unfinished: BTreeMap<FlowId, FlowStats>,
}

impl KernelHost {
    /// Creates the host. `orders` and `waker` belong to the agents' thread.
    /// The caller adds the events of this host to `events`.
    pub fn new(
        (host, replication, several): (HostId, Option<RepNetConfig>, Several),
        orders: Sender<Order>,
        waker: Rc<Waker>,
        events: Rc<RefCell<VecDeque<Event>>>,
    ) -> Self {
        Self {
            host,
            replication,
            several,
            orders,
            waker,
            events,
            unfinished: BTreeMap::new(),
        }
    }
}

impl KernelHost {
    fn start(&mut self, now: Time, message: Message, ends: Ends) {
        self.unfinished.insert(message.flow, FlowStats::default());
        let start = Start {
            at: now,
            flow: message.flow,
            from: self.host,
            to: message.dst,
            bytes: message.bytes,
            mode: self.replication.and_then(|config| config.mode_of(&message)),
            path: message.path.index(),
        };
        self.order(Order::Start(start, ends));
    }

    fn order(&self, order: Order) {
        // The send fails only if the agents' thread has ended. `Agent::end` reports the error of the thread.
        let _ = self.orders.send(order);
        self.waker.wake();
    }
}

impl Transport for KernelHost {
    fn submit(&mut self, now: Time, message: Message) {
        self.start(now, message, Ends::One);
    }

    fn take_part(&mut self, now: Time, part: Part<'_>) -> Result<(), NotShared> {
        match (part, self.several) {
            (
                Part::Spread {
                    message,
                    receivers,
                    stragglers,
                },
                Several::Receivers | Several::All,
            ) => {
                self.start(now, message, Ends::All(receivers.to_vec(), stragglers));
            }
            (
                Part::Share {
                    message,
                    port,
                    share,
                },
                Several::All,
            ) => {
                self.start(now, message, Ends::Share(port, share));
            }
            (Part::Collect { flow, port }, Several::All) => {
                let host = self.host;
                self.order(Order::Collect { host, flow, port });
            }
            _ => return Err(NotShared),
        }
        Ok(())
    }

    fn carry(&mut self, _now: Time, order: CopyOrder) -> Result<(), NotCarried> {
        let _ = self.orders.send(Order::Copy(self.host, order));
        self.waker.wake();
        Ok(())
    }

    fn on_segment(&mut self, _now: Time, _segment: Segment) {}

    fn on_timeout(&mut self, _now: Time) {}

    fn poll_transmit(&mut self, _now: Time) -> Option<Segment> {
        None
    }

    fn has_transmit(&self) -> bool {
        false
    }

    fn poll_event(&mut self) -> Option<Event> {
        let event = self.events.borrow_mut().pop_front()?;
        if let Event::Closed(flow, _) | Event::Failed(flow, _) = event {
            self.unfinished.remove(&flow);
        }
        Some(event)
    }

    fn next_timeout(&self) -> Option<Time> {
        None
    }

    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        let mut open = self.unfinished.clone();
        // At the end of the run, the agents report flows that are still open.
        // The events of open flows are still in the queue, and contain the final statistics.
        for event in self.events.borrow().iter() {
            if let Event::Closed(flow, stats) | Event::Failed(flow, stats) = event
                && let Some(open) = open.get_mut(flow)
            {
                *open = *stats;
            }
        }
        let mut open: Vec<(FlowId, FlowStats)> = open.into_iter().collect();
        for event in self.events.borrow().iter() {
            if let Event::Copy(number, CopyNews::Ended { side, stats, .. }) = event
                && *side == Side::Server
            {
                open.push((flow_of_copy(*number), *stats));
            }
        }
        open
    }
}
