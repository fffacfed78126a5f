//! The simulator's hosts for a driver of one's own, and clocks that wake it when they like.

use std::collections::BTreeSet;
use tailcut_sim::RunParts;
use tailcut_sim::fabric::{Delivery, Hints, Packet};
use tailcut_sim::transport::Segment;
use tailcut_units::{Duration, HostId, Time, mix64};

/// A wall clock that is slept on, and wakes its sleeper when it likes.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// At the instant that was asked for.
    Exact,
    /// Up to 20 us later.
    Late,
    /// Before the time as often as not, else up to 5 us later.
    Early,
    /// At the next whole 50 us: many things are due at once.
    Coarse,
}

impl Clock {
    /// When a sleeper that asks for `due` at `now` is woken.
    pub fn wake(self, now: Time, due: Time, wakes: u64) -> Time {
        let draw = mix64(wakes);
        let later = |ps: u64| due.saturating_add(Duration::from_ps(draw % ps));
        let wake = match self {
            Self::Exact => due,
            Self::Late => later(20_000_000),
            Self::Early if draw & 1 == 1 => Time::from_ps(now.as_ps().midpoint(due.as_ps())),
            Self::Early => later(5_000_000),
            Self::Coarse => Time::from_ps(due.as_ps().next_multiple_of(50_000_000)),
        };
        wake.max(now)
    }
}

/// A packet that enters the network: when, where, and what.
pub type Sent = (Time, HostId, Packet, Hints, Segment);

/// The parts of a run with what is due at their hosts.
pub struct Hosts {
    pub parts: RunParts<'static>,
    /// What hosts have done by themselves.
    pub events: u64,
    /// What is due: when, whether it is a timer (NICs that are free come first), and whose.
    due: BTreeSet<(Time, bool, u32)>,
    waits_for_nic: Vec<bool>,
    timer_at: Vec<Time>,
    /// Hears of every packet that enters the network.
    seen: Box<dyn FnMut(Sent)>,
}

impl Hosts {
    pub fn new(parts: RunParts<'static>, seen: impl FnMut(Sent) + 'static) -> Self {
        let hosts = parts.transports.len();
        Self {
            parts,
            events: 0,
            due: BTreeSet::new(),
            waits_for_nic: vec![false; hosts],
            timer_at: vec![Time::MAX; hosts],
            seen: Box::new(seen),
        }
    }

    /// When something is due at a host by itself.
    pub fn next(&self) -> Option<Time> {
        self.due.first().map(|due| due.0)
    }

    /// When the run is over, as far as is known.
    pub fn end(&self, drain: Duration) -> Time {
        match self.parts.begins_more() {
            true => Time::MAX,
            false => self.parts.last_start().saturating_add(drain),
        }
    }

    /// A packet has reached its host: the segment that it brought.
    pub fn arrive(&mut self, now: Time, delivery: &Delivery<Segment>) -> Segment {
        assert!(delivery.time <= now, "it comes from the future");
        let segment = self.parts.arrived(now, delivery);
        let host = delivery.host;
        self.parts.transports[host.0 as usize].on_segment(now, segment);
        self.serve(now, host, delivery.time);
        segment
    }

    /// The NIC that is free first, or the timer that expires first, of those that are due; false without any.
    pub fn act(&mut self, now: Time) -> bool {
        let Some(&(at, is_timer, host)) = self.due.first() else {
            return false;
        };
        if at > now {
            return false;
        }
        self.due.pop_first();
        self.events += 1;
        if !is_timer {
            self.waits_for_nic[host as usize] = false;
        } else if self.timer_at[host as usize] == at {
            self.timer_at[host as usize] = Time::MAX;
            self.parts.transports[host as usize].on_timeout(now);
        } else {
            return true;
        }
        self.serve(now, HostId(host), at);
        true
    }

    /// What the applications have to do before `end`; false where nothing is due.
    pub fn apply(&mut self, now: Time, end: Time) -> bool {
        let Some(at) = self.parts.next().filter(|at| *at <= now && *at < end) else {
            return false;
        };
        self.parts.act(now);
        while let Some(host) = self.parts.carry_out(now) {
            self.serve(now, host, at);
        }
        true
    }

    /// After any input to a host that was due at `due`: its events, its NIC, its timer.
    fn serve(&mut self, now: Time, host: HostId, due: Time) {
        let number = host.0 as usize;
        self.parts.hear(now, host);
        if !self.waits_for_nic[number] {
            while self.parts.fabric.uplink_free_at(host) <= now
                && let Some(segment) = self.parts.transports[number].poll_transmit(now)
            {
                let (packet, hints) = self.parts.packet(&segment);
                // The host could have sent it then: what the driver is late by is for the fabric to count.
                let fabric = &mut self.parts.fabric;
                fabric.inject_with(due, host, packet, hints, segment);
                (self.seen)((fabric.now(), host, packet, hints, segment));
                self.parts.hear(now, host);
            }
            let free_at = self.parts.fabric.uplink_free_at(host);
            if free_at > now && self.parts.transports[number].has_transmit() {
                self.waits_for_nic[number] = true;
                self.due.insert((free_at, false, host.0));
            }
        }
        if let Some(timeout) = self.parts.transports[number].next_timeout()
            && timeout < self.timer_at[number]
        {
            self.timer_at[number] = timeout.max(now);
            self.due.insert((self.timer_at[number], true, host.0));
        }
    }
}
