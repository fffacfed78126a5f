//! Copies of requests over transports whose flows are messages, such as NDP and SCDP.
//! The request is one message to the server, and the answer is one message back.
//! The answer can leave while the server still produces it.

use super::carry::{Carry, CopyChange, CopyEvent};
use super::order::{Answer, Ask, End, copy_of_flow, flow_of_copy, is_word, word_of_copy};
use crate::tcp::Role;
use crate::{Event, FlowStats, Message, PathPin, Replication, Segment, Streams, Transport};
use alloc::collections::btree_map::Entry;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;
use tailcut_requests::{LOW, REQUEST_BYTES};
use tailcut_units::{FlowId, HostId, Rate, Time};

/// State of a copy at its client.
#[derive(Clone, Debug)]
struct PendingRequest {
    server: HostId,
    below: bool,
    /// Whether a message is being sent. Only one message is sent at a time, so that no message overtakes another.
    is_saying: bool,
    /// Sizes of the messages that wait, in bytes.
    unsaid: VecDeque<u64>,
}

/// Transport for requests over messages.
/// Low copies are in a class below all other classes: at their hosts, in switches, and in the pulls of their receivers.
/// A client that cancels a copy sends a message of the high class to the server, and stops its requests for the answer.
/// The server stops its answer immediately when the message to cancel arrives.
#[derive(Debug)]
pub struct Messenger<T> {
    inner: T,
    /// Copies that this host has requested.
    asked: BTreeMap<u32, PendingRequest>,
    /// Copies that this host serves, with the number of answer bytes that the application has written.
    served: BTreeMap<u32, u64>,
    /// Copies whose cancellation arrived before the copy itself.
    unwanted: BTreeSet<u32>,
    /// Copies that this host has cancelled.
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
    /// Creates a transport for requests over `inner`.
    pub fn new(mut inner: T) -> Self {
        // Both ends of a copy need the number of arrived bytes. Both ends cancel the copy by the number of its flow.
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

    /// Sends the next message about a copy, if a message waits and none is being sent.
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

    /// Sorts events into events of flows and events of copies.
    fn sort_events(&mut self, now: Time) {
        let mut refused = Vec::new();
        while let Some(event) = self.inner.poll_event() {
            let flow = event.flow();
            match copy_of_flow(flow) {
                None => {
                    // For flows that are not copies, the application needs no report of arriving bytes.
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
                // The answer began after the client had sent the cancellation.
                Some(number) if self.dropped.contains(&number) => {
                    if let Event::Arrived(..) | Event::Completed(_) = event {
                        self.inner.refuse(now, flow);
                        refused.push(number);
                    }
                }
                Some(number) => self.at_server(number, event),
            }
        }
        // Refused copies are removed after the loop. A later event of the same batch may report a complete answer.
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
                // The cancellation has overtaken the request, so the server ignores the request.
                if self.unwanted.remove(&number) {
                    return;
                }
                // Only the first message opens the copy. Later messages belong to the open copy.
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

    /// Stops a copy at the server, because the client has cancelled it.
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
        let asked = PendingRequest {
            server: ask.server,
            below: ask.class >= LOW,
            is_saying: false,
            unsaid: VecDeque::from([ask.bytes]),
        };
        self.asked.insert(ask.number, asked);
        self.say_next(now, ask.number);
        self.sort_events(now);
        // The message may have failed immediately, for example because every port is in use.
        self.asked.contains_key(&ask.number).then_some(ask.number)
    }

    fn say(&mut self, now: Time, copy: u32, bytes: u64) {
        if let Some(asked) = self.asked.get_mut(&copy) {
            asked.unsaid.push_back(bytes);
            self.say_next(now, copy);
        }
    }

    // Over messages there is no connection to close, so this call does nothing.
    fn finish(&mut self, _now: Time, _copy: u32) {}

    fn answer(&mut self, now: Time, copy: u32, answer: Answer) {
        let Some(ready) = self.served.get_mut(&copy) else {
            return;
        };
        // The flow opens with the first bytes of the answer, and later bytes extend it.
        let is_first = *ready == 0;
        *ready += answer.bytes;
        let ready = *ready;
        let flow = flow_of_copy(copy);
        if !is_first {
            self.inner.extend(now, flow, ready);
            return;
        }
        // The message ends after `of` bytes, so `is_last` needs no action.
        let message = message(flow, answer.client, answer.of);
        self.inner.open(now, message, ready, answer.class >= LOW);
    }

    fn set_class(&mut self, now: Time, copy: u32, class: u8) -> u32 {
        let below = class >= LOW;
        match self.asked.get_mut(&copy) {
            // Only later messages of the client use the new class. A message that is being sent keeps its class.
            Some(asked) => asked.below = below,
            None => self.inner.set_below(now, flow_of_copy(copy), below),
        }
        copy
    }

    fn reset(&mut self, now: Time, copy: u32) {
        if let Some(asked) = self.asked.remove(&copy) {
            let flow = flow_of_copy(copy);
            // The client no longer receives the answer, and no longer sends its own messages.
            self.inner.refuse(now, flow);
            self.inner.give_up(now, flow);
            self.dropped.insert(copy);
            let word = word_of_copy(copy);
            // The cancellation is in the high class, so that it overtakes the messages of the cancelled copy.
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

    fn prefetch(&self, arriving: Option<&Segment>) {
        self.inner.prefetch(arriving);
    }

    fn on_timeout(&mut self, now: Time) {
        self.inner.on_timeout(now);
        self.sort_events(now);
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Segment> {
        self.inner.poll_transmit(now)
    }

    fn set_line_rate(&mut self, now: Time, rate: Rate, overhead: u32) {
        self.inner.set_line_rate(now, rate, overhead);
    }

    fn has_transmit(&self) -> bool {
        self.inner.has_transmit()
    }

    /// Returns the next event of a flow that is not a copy of a request.
    fn poll_event(&mut self) -> Option<Event> {
        self.flows.pop_front()
    }

    fn next_timeout(&self) -> Option<Time> {
        self.inner.next_timeout()
    }

    /// Returns the flows that are not copies of requests. [`poll_copy`](Carry::poll_copy) reports the copies.
    fn unfinished(&self) -> Vec<(FlowId, FlowStats)> {
        let mut open = self.inner.unfinished();
        open.retain(|(flow, _)| copy_of_flow(*flow).is_none());
        open
    }
}
