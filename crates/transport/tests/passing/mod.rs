//! Hosts, segments in flight between them, and virtual time: the common part of tests with arbitrary operations.

use tailcut_transport::{Segment, Transport};
use tailcut_units::{Duration, Time};

/// Maximum segment lifetime: the network never keeps a segment longer.
/// Designs may require that the lifetime is less than their shortest retransmission timeout.
const LIFETIME: Duration = Duration::from_ms(5);

/// Hosts of one design, and the segments in flight with their send times and receivers.
pub struct Passing<T> {
    pub now: Time,
    pub hosts: Vec<T>,
    pub on_the_way: Vec<(Time, usize, Segment)>,
}

/// State of a test whose hosts exchange segments.
pub trait World<T: Transport>: Sized {
    fn passing(&self) -> &Passing<T>;
    fn passing_mut(&mut self) -> &mut Passing<T>;

    /// Processes the events of one host.
    fn collect(&mut self, host: usize);

    fn next_timeout(&self) -> Option<Time> {
        let hosts = self.passing().hosts.iter();
        hosts.filter_map(Transport::next_timeout).min()
    }

    /// Applies an action to one of the segments in flight, if there are any. `which` is taken modulo their count.
    fn at(&mut self, which: u16, act: fn(&mut Self, usize)) {
        let count = self.passing().on_the_way.len();
        if count > 0 {
            act(self, usize::from(which) % count);
        }
    }

    /// Loses one of the segments in flight.
    fn lose(&mut self, which: u16) {
        self.at(which, |world, at| {
            world.passing_mut().on_the_way.remove(at);
        });
    }

    /// Duplicates one of the segments in flight.
    fn duplicate(&mut self, which: u16) {
        self.at(which, |world, at| {
            let on_the_way = &mut world.passing_mut().on_the_way;
            on_the_way.push(on_the_way[at]);
        });
    }

    /// Advances the time by a number of microseconds.
    fn wait(&mut self, microseconds: u32) {
        let end = self.passing().now + Duration::from_us(u64::from(microseconds));
        self.wait_until(end);
    }

    /// Advances the time to the next timer, if there is one, and fires it.
    fn time_out(&mut self) {
        if let Some(next) = self.next_timeout() {
            self.wait_until(next);
        }
    }

    /// Advances the time. Timers fire when they are due, and segments that are too old are lost.
    fn wait_until(&mut self, end: Time) {
        while let Some(next) = self.next_timeout().filter(|at| *at <= end) {
            let passing = self.passing_mut();
            passing.now = passing.now.max(next);
            self.fire();
        }
        let passing = self.passing_mut();
        passing.now = passing.now.max(end);
        let now = passing.now;
        passing
            .on_the_way
            .retain(|(sent, _, _)| now.since(*sent) <= LIFETIME);
    }

    fn fire(&mut self) {
        for host in 0..self.passing().hosts.len() {
            let passing = self.passing_mut();
            let now = passing.now;
            passing.hosts[host].on_timeout(now);
            self.collect(host);
            let next = self.passing().hosts[host].next_timeout();
            assert!(
                next.is_none_or(|at| at > now),
                "a timer in the past: {next:?}"
            );
        }
    }

    /// Ends a step of the test, which takes one microsecond. `moved` is true if a segment was delivered.
    /// Timers that are due fire. If no segment was delivered, the next timer fires even before it is due.
    /// Returns whether another event is possible.
    fn let_time_pass(&mut self, moved: bool) -> bool {
        let next = self.next_timeout();
        let passing = self.passing_mut();
        passing.now += Duration::from_us(1);
        match next {
            Some(next) if next <= passing.now || !moved => {
                passing.now = passing.now.max(next);
                self.fire();
                true
            }
            _ => moved,
        }
    }
}
