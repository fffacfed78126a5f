//! Events of the agents, and their transfer to the thread of the run.

use crate::emulator::clock::Clock;
use crate::emulator::poller::Waker;
use std::sync::mpsc::Sender;
use tailcut_transport::Event;
use tailcut_units::{Duration, HostId, Time};

/// Event that an agent reports for a host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AgentEvent {
    /// Time on the clock of the emulated network.
    pub at: Time,
    /// Host at which the event happened.
    pub host: HostId,
    /// Kind of the event.
    pub event: Event,
}

/// Reporter: sends the events of the agents to the thread of the run.
pub struct Reporter {
    clock: Clock,
    events: Sender<AgentEvent>,
    waker: Waker,
}

impl Reporter {
    /// Creates a reporter. It sends each event to `events`, with a time of `clock`, and afterwards wakes `waker`.
    pub const fn new(clock: Clock, events: Sender<AgentEvent>, waker: Waker) -> Self {
        Self {
            clock,
            events,
            waker,
        }
    }

    /// Returns the current time on the clock of the emulated network.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// Returns the wall-clock time that a thread must sleep in order to wake up `early` before `until`.
    /// Returns `None` if the thread may sleep without limit.
    pub fn sleep(&self, until: Time, early: Duration) -> Option<std::time::Duration> {
        self.clock.sleep(until, early)
    }

    /// Reports an event at a host, with the present time.
    pub fn report(&self, host: HostId, event: Event) {
        let at = self.clock.now();
        // The send fails only if the run has ended.
        let _ = self.events.send(AgentEvent { at, host, event });
        self.waker.wake();
    }
}
