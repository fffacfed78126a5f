//! What carries requests over transports whose flows are messages, such as NDP and SCDP: a message to the
//! server and one back, which leaves while it becomes ready.

use super::carry::{Carry, CopyChange, CopyEvent};
use super::order::{Answer, Ask, End, copy_of_flow, flow_of_copy, is_word, word_of_copy};
use crate::tcp::Role;
use crate::{Event, FlowStats, Message, PathPin, Replication, Segment, Streams, Transport};
use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use tailcut_requests::{LOW, REQUEST_BYTES};
use tailcut_units::{FlowId, HostId, Time};

/// A copy at its client.
#[derive(Clone, Debug)]
struct Asked {
    server: HostId,
    below: bool,
    /// Whether a message is under way, and those that follow it. One at a time, so that none overtakes.
    is_saying: bool,
    unsaid: VecDeque<u64>,
}

/// See the module. Low copies go in a class below all others: at their hosts, in switches, and in the pulls of
/// their receivers. A client that wants no more says so in a message of the high class, asks for no more
/// itself, and the server stops where it is.
#[derive(Debug)]
pub struct Messenger<T> {
    inner: T,
    /// Copies that this host has asked for.
    asked: BTreeMap<u32, Asked>,
    /// Copies that this host serves, with the bytes of their answers that were handed over.
    served: BTreeMap<u32, u64>,
    /// Copies whose end was here before they were.
    unwanted: BTreeSet<u32>,
    /// Copies that this host has said to want no more.
    dropped: BTreeSet<u32>,
    copies: VecDeque<CopyEvent<u32>>,
    flows: VecDeque<Event>,
}

const fn message(flow: FlowId, dst: HostId, bytes: u64) -> Message {
    Message {
        flow,
        dst,
        bytes,
        path: PathPin::NONE,
        replication: Replication::Off,
    }
}

impl<T: Streams> Messenger<T> {
    /// Requests over `inner`.
    pub fn new(mut inner: T) -> Self {
        inner.report_arrivals();
        Self {
            inner,
            asked: BTreeMap::new(),
            served: BTreeMap::new(),
            unwanted: BTreeSet::new(),
            dropped: BTreeSet::new(),
            copies: VecDeque::new(),
            flows: VecDeque::new(),
        }
    }

    fn send(&mut self, now: Time, flow: FlowId, dst: HostId, bytes: u64, below: bool) {
        let message = message(flow, dst, bytes);
        self.inner.open(now, message, bytes, below);
    }

    /// Sends the next message about a copy, if there is one and none is under way.
    fn say_next(&mut self, now: Time, number: u32) {
        if let Some(asked) = self.asked.get_mut(&number)
            && !asked.is_saying
            && let Some(bytes) = asked.unsaid.pop_front()
        {
            asked.is_saying = true;
            let (server, below) = (asked.server, asked.below);
            self.send(now, flow_of_copy(number), server, bytes, below);
        }
    }

    /// Sorts what happened into what concerns flows and what concerns copies.
    fn sort_events(&mut self, now: Time) {
        let mut refused = Vec::new();
        while let Some(event) = self.inner.poll_event() {
            let flow = event.flow();
            match copy_of_flow(flow) {
                None => {
                    // Arrivals of flows are nobody's business.
                    let is_told = !matches!(event, Event::Arrived(..));
                    self.flows.extend(is_told.then_some(event));
                }
                Some(number) if is_word(flow) => {
                    if let Event::Completed(_) = event {
                        self.stop(now, number);
                    }
                }
                Some(number) if self.asked.contains_key(&number) => {
                    self.at_client(now, number, event);
                }
                // An answer that began after the word against it had left.
                Some(number) if self.dropped.contains(&number) => {
                    if let Event::Arrived(..) | Event::Completed(_) = event {
                        self.inner.refuse(now, flow);
                        refused.push(number);
                    }
                }
                Some(number) => self.at_server(number, event),
            }
        }
        // Not before: what tells that the answer is whole may follow at once.
        for number in refused {
            self.dropped.remove(&number);
        }
    }

    fn tell(&mut self, number: u32, change: CopyChange<u32>) {
        self.copies.push_back(CopyEvent { number, change });
    }

    fn at_client(&mut self, now: Time, number: u32, event: Event) {
        let ended = |stats, end| CopyChange::Ended {
            role: Role::Opener,
            stats,
            end,
        };
        match event {
            Event::Arrived(_, total) => self.tell(number, CopyChange::Delivered { total }),
            Event::Completed(_) => {
                self.asked.remove(&number);
                self.tell(number, CopyChange::Whole);
                self.tell(number, ended(FlowStats::default(), End::Whole));
            }
            Event::Closed(..) => {
                if let Some(asked) = self.asked.get_mut(&number) {
                    asked.is_saying = false;
                }
                self.say_next(now, number);
            }
            Event::Failed(_, stats) => {
                self.asked.remove(&number);
                self.tell(number, ended(stats, End::Failed));
            }
            _ => {}
        }
    }

    fn at_server(&mut self, number: u32, event: Event) {
        let (stats, end) = match event {
            Event::Completed(_) => {
                if self.unwanted.remove(&number) {
                    return;
                }
                if let Entry::Vacant(place) = self.served.entry(number) {
                    place.insert(0);
                    self.tell(
                        number,
                        CopyChange::Accepted {
                            handle: number,
                            room: None,
                        },
                    );
                }
                self.tell(number, CopyChange::Message);
                return;
            }
            Event::Closed(_, stats) => (stats, End::Whole),
            Event::Failed(_, stats) => (stats, End::Failed),
            _ => return,
        };
        self.end(number, stats, end);
    }

    /// The client wants no more of a copy.
    fn stop(&mut self, now: Time, number: u32) {
        let stats = self.inner.give_up(now, flow_of_copy(number));
        if self.served.contains_key(&number) {
            self.end(number, stats.unwrap_or_default(), End::Purged);
        } else {
            self.unwanted.insert(number);
        }
    }

    fn end(&mut self, number: u32, stats: FlowStats, end: End) {
        if self.served.remove(&number).is_some() {
            let role = Role::Acceptor;
            self.tell(number, CopyChange::Ended { role, stats, end });
        }
    }
}

impl<T: Streams> Carry for Messenger<T> {
    type Handle = u32;

    fn ask(&mut self, now: Time, ask: Ask) -> Option<u32> {
        let asked = Asked {
            server: ask.server,
            below: ask.class >= LOW,
            is_saying: false,
            unsaid: VecDeque::from([ask.bytes]),
        };
        self.asked.insert(ask.number, asked);
        self.say_next(now, ask.number);
        self.sort_events(now);
        self.asked.contains_key(&ask.number).then_some(ask.number)
    }

    fn say(&mut self, now: Time, copy: u32, bytes: u64) {
        if let Some(asked) = self.asked.get_mut(&copy) {
            asked.unsaid.push_back(bytes);
            self.say_next(now, copy);
        }
    }

    fn finish(&mut self, _now: Time, _copy: u32) {}

    fn answer(&mut self, now: Time, copy: u32, answer: Answer) {
        let Some(ready) = self.served.get_mut(&copy) else {
            return;
        };
        let is_first = *ready == 0;
        *ready += answer.bytes;
        let ready = *ready;
        let flow = flow_of_copy(copy);
        if !is_first {
            self.inner.extend(now, flow, ready);
            return;
        }
        let message = message(flow, answer.client, answer.of);
        self.inner.open(now, message, ready, answer.class >= LOW);
    }

    fn set_class(&mut self, now: Time, copy: u32, class: u8) -> u32 {
        let below = class >= LOW;
        match self.asked.get_mut(&copy) {
            Some(asked) => asked.below = below,
            None => self.inner.set_below(now, flow_of_copy(copy), below),
        }
        copy
    }

    fn reset(&mut self, now: Time, copy: u32) {
        if let Some(asked) = self.asked.remove(&copy) {
            let flow = flow_of_copy(copy);
            self.inner.refuse(now, flow);
            self.inner.give_up(now, flow);
            self.dropped.insert(copy);
            let word = word_of_copy(copy);
            self.send(now, word, asked.server, REQUEST_BYTES as u64, false);
        }
    }

    fn payload_sent(&self, copy: u32) -> Option<u64> {
        let stats = self.inner.cost(flow_of_copy(copy))?;
        self.served
            .contains_key(&copy)
            .then_some(stats.payload_sent)
    }

    fn poll_copy(&mut self) -> Option<CopyEvent<u32>> {
        self.copies.pop_front()
    }
}

impl<T: Streams> Transport for Messenger<T> {
    fn submit(&mut self, now: Time, message: Message) {
        self.inner.submit(now, message);
        self.sort_events(now);
    }

    fn cancel(&mut self, now: Time, flow: FlowId) -> Option<FlowStats> {
        self.inner.cancel(now, flow)
    }

    fn on_segment(&mut self, now: Time, segment: Segment) {
        self.inner.on_segment(now, segment);
        self.sort_events(now);
    }

    fn on_timeout(&mut self, now: Time) {
        self.inner.on_timeout(now);
        self.sort_events(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.inner.poll_transmit(now)
    }

    fn has_transmit(&self) -> bool {
        self.inner.has_transmit()
    }

    /// What happened to flows that are no requests.
    fn poll_event(&mut self) -> Option<Event> {
        self.flows.pop_front()
    }

    fn next_timeout(&self) -> Option<Time> {
        self.inner.next_timeout()
    }

    /// Copies of requests are told of by [`poll_copy`](Carry::poll_copy).
    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        let mut open = self.inner.unfinished();
        open.retain(|(flow, _)| copy_of_flow(*flow).is_none());
        open
    }
}
