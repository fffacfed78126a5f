//! What the agents tell.

use crate::emulator::clock::Clock;
use crate::emulator::poller::Waker;
use std::sync::mpsc::Sender;
use tailcut_transport::Event;
use tailcut_units::{Duration, HostId, Time};

/// What has happened at a host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct News {
    /// When, by the network's clock.
    pub at: Time,
    /// Where.
    pub host: HostId,
    /// What.
    pub event: Event,
}

/// Tells what has happened.
pub struct Reporter {
    clock: Clock,
    news: Sender<News>,
    told: Waker,
}

impl Reporter {
    /// Tells by `news`, at times of `clock`, and wakes `told`.
    pub const fn new(clock: Clock, news: Sender<News>, told: Waker) -> Self {
        Self { clock, news, told }
    }

    /// The network's time.
    pub fn now(&self) -> Time {
        self.clock.now()
    }

    /// How long to sleep so as to be awake `early` before `until`; `None` for ever.
    pub fn sleep(&self, until: Time, early: Duration) -> Option<std::time::Duration> {
        self.clock.sleep(until, early)
    }

    /// Something has happened at a host just now.
    pub fn tell(&self, host: HostId, event: Event) {
        let at = self.clock.now();
        // Whoever heard has ended the run.
        let _ = self.news.send(News { at, host, event });
        self.told.wake();
    }
}
