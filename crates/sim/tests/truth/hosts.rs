//! The simulator's hosts under a custom driver, with clocks that wake the driver early or late.

use std::collections::BTreeSet;
use tailcut_sim::RunParts;
use tailcut_sim::fabric::{Delivery, Hints, Packet};
use tailcut_sim::transport::Segment;
use tailcut_units::{Duration, HostId, Time, mix64};

/// Wall clock of a driver that sleeps. The variants are errors of its wake-ups.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// Wakes up exactly at the requested instant.
    Exact,
    /// Wakes up at most 20 us after the requested instant.
    Late,
    /// About half of the wake-ups are too early: halfway to the requested instant.
    /// All other wake-ups are at most 5 us late.
    Early,
    /// Wakes up at the next multiple of 50 us, so several events are due at the same time.
    Coarse,
}

impl Clock {
    /// Returns the time at which a driver wakes up, if it requested `due` at `now`.
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

/// Packet that enters the network: time, host and content.
pub type Sent = (Time, HostId, Packet, Hints, Segment);

/// Components of a run, with the events that are due at its hosts.
pub struct Hosts {
    pub parts: RunParts<'static>,
    /// Number of host events so far.
    pub events: u64,
    /// Pending host events: time, kind (false: free NIC, true: timer), and host.
    due: BTreeSet<(Time, bool, u32)>,
    waits_for_nic: Vec<bool>,
    timer_at: Vec<Time>,
    /// Function that receives every packet that enters the network.
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

    /// Returns the time of the next host event.
    pub fn next(&self) -> Option<Time> {
        self.due.first().map(|due| due.0)
    }

    /// Returns the end of the run, if it is known.
    pub fn end(&self, drain: Duration) -> Time {
        match self.parts.begins_more() {
            true => Time::MAX,
            false => self.parts.last_start().saturating_add(drain),
        }
    }

    /// Handles a packet that has reached its host. Returns its segment.
    pub fn arrive(&mut self, now: Time, delivery: &Delivery<Segment>) -> Segment {
        assert!(delivery.time <= now, "the packet arrives before its time");
        let segment = self.parts.arrived(now, delivery);
        let host = delivery.host;
        self.parts.transports[host.0 as usize].on_segment(now, segment);
        self.serve(now, host, delivery.time);
        segment
    }

    /// Handles the first event that is due: a free NIC or a timer. Returns false if nothing is due.
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

    /// Executes the actions of the applications before `end`. Returns false if nothing is due.
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

    /// Serves a host after an input that was due at `due`: its events, its NIC, its timer.
    pub fn serve(&mut self, now: Time, host: HostId, due: Time) {
        let number = host.0 as usize;
        self.parts.deliver_events(now, host);
        if !self.waits_for_nic[number] {
            while self.parts.fabric.uplink_free_at(host) <= now
                && let Some(segment) = self.parts.transports[number].poll_transmit(now)
            {
                let (packet, hints) = self.parts.packet(&segment);
                // The host could have sent the packet at `due`. The fabric counts the delay of the driver.
                let fabric = &mut self.parts.fabric;
                fabric.inject_with(due, host, packet, hints, segment);
                (self.seen)((fabric.now(), host, packet, hints, segment));
                self.parts.deliver_events(now, host);
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
