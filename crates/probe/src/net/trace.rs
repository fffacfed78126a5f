//! TCP traceroute. The probes of a walk are SYNs with small TTLs. Each SYN expires at a router on the path.

use super::handshake::{Outcome, Socket, wait_for};
use super::ports::Ports;
use super::queue::Icmp;
use super::trouble::Trouble;
use crate::mda::{Answer, Map, Probe, Walk};
use crate::pace::Pace;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tailcut_units::Time;

/// Number of times that a probe is sent. If no answer arrives, the router counts as silent.
const TRIES: u32 = 4;
/// Time to wait after each try. The time is below 1 s, because the kernel repeats a SYN after 1 s.
const WAITS: [Duration; TRIES as usize] = [
    Duration::from_millis(300),
    Duration::from_millis(600),
    Duration::from_millis(900),
    Duration::from_millis(900),
];
/// Pause before the first repetition of a probe. The pause doubles with each repetition.
const PAUSE: Duration = Duration::from_millis(200);
/// Largest number of open sockets.
const MOST_OPEN: usize = 256;
/// Longest sleep of the loop. It is short, so that the loop soon reacts to an interruption.
const LOOK: Duration = Duration::from_millis(100);
/// Number of times that a probe is postponed because another socket uses its five-tuple.
const MOST_BUSY: u32 = 60;
const BUSY: Duration = Duration::from_millis(50);

/// Time after which a walk ends early, if routers answer only some probes a second.
/// Linux, for example, answers one probe a second. The number of paths is then a lower bound.
/// The walk and the usual number of volleys take less than 40 s together.
const MOST_SLOW: Duration = Duration::from_secs(14);

/// Runs a walk over real sockets.
pub struct Tracing<'a> {
    to: SocketAddr,
    ports: &'a mut Ports,
    pace: Pace,
    walk: Walk,
    began: Instant,
    open: Vec<Open>,
    later: Vec<Later>,
    /// TTLs at which a router or the target has answered.
    heard: BTreeSet<u8>,
}

/// Probe that was sent and has no answer yet.
struct Open {
    probe: Probe,
    tries: u32,
    socket: Socket,
    until: Instant,
}

/// Probe that will be sent again.
struct Later {
    at: Instant,
    probe: Probe,
    tries: u32,
    busy: u32,
}

/// Runs a walk to a target at a limited rate. `told` is called after each step with the state of the walk.
///
/// # Errors
/// The reason why nothing can be measured. An interruption is also an error.
pub fn trace(
    to: SocketAddr,
    ports: &mut Ports,
    walk: Walk,
    rate: f64,
    stop: &AtomicBool,
    mut told: impl FnMut(&Walk),
) -> Result<Map, Trouble> {
    let mut tracing = Tracing {
        to,
        ports,
        pace: Pace::new(rate),
        walk,
        began: Instant::now(),
        open: Vec::new(),
        later: Vec::new(),
        heard: BTreeSet::new(),
    };
    while !tracing.walk.is_over() {
        if stop.load(Ordering::Relaxed) {
            return Err(Trouble::Interrupted);
        }
        let wait = tracing.send()?;
        tracing.wait(wait)?;
        tracing.hear();
        if tracing.pace.is_slowed() && tracing.began.elapsed() > MOST_SLOW {
            tracing.walk.stop();
        }
        told(&tracing.walk);
    }
    Ok(tracing.walk.map())
}

impl Tracing<'_> {
    /// Sends the probes that are allowed now. Returns the time until the next call.
    fn send(&mut self) -> Result<Duration, Trouble> {
        loop {
            let now = Instant::now();
            let due = self.later.iter().position(|later| later.at <= now);
            if self.open.len() >= MOST_OPEN {
                return Ok(self.rest(now));
            }
            // Repetitions that are due come before new probes.
            let elapsed = now.saturating_duration_since(self.began).as_nanos() as u64;
            if let Err(later) = self.pace.take(Time::from_ns(elapsed)) {
                let free = self.began + Duration::from_nanos(later.as_ns());
                return Ok(self.rest(now).min(free.saturating_duration_since(now)));
            }
            let (probe, tries, busy) = match due {
                Some(place) => {
                    let later = self.later.swap_remove(place);
                    (later.probe, later.tries, later.busy)
                }
                None => match self.walk.next_probe() {
                    Some(probe) => (probe, 0, 0),
                    None => return Ok(self.rest(now)),
                },
            };
            if tries > 0 {
                self.walk.repeated();
            }
            self.begin(probe, tries, busy)?;
        }
    }

    fn begin(&mut self, probe: Probe, tries: u32, busy: u32) -> Result<(), Trouble> {
        let port = self.ports.get(probe.flow).ok_or(Trouble::NoPorts)?;
        let socket = Socket::bound(self.to, port).and_then(|mut socket| {
            socket.connect(Some(probe.ttl))?;
            Ok(socket)
        });
        let now = Instant::now();
        match socket {
            Ok(socket) => self.open.push(Open {
                probe,
                tries,
                socket,
                until: now + WAITS[tries as usize],
            }),
            // A second probe uses the five-tuple with a different TTL, or another program uses the port.
            Err(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL) if busy < MOST_BUSY => {
                self.later.push(Later {
                    at: now + BUSY,
                    probe,
                    tries,
                    busy: busy + 1,
                });
            }
            Err(Errno::ADDRINUSE | Errno::ADDRNOTAVAIL) => self.walk.answer(probe, Answer::Silent),
            Err(error) => return Err(Trouble::System(self.to, error)),
        }
        Ok(())
    }

    /// Returns the time until a probe must be given up or repeated.
    fn rest(&self, now: Instant) -> Duration {
        let open = self.open.iter().map(|open| open.until);
        let next = open.chain(self.later.iter().map(|later| later.at)).min();
        next.map_or(LOOK, |next| next.saturating_duration_since(now))
            .min(LOOK)
    }

    fn wait(&self, most: Duration) -> Result<(), Trouble> {
        wait_for(self.open.iter().map(|open| &open.socket), most)
            .map_err(|error| Trouble::System(self.to, error))
    }

    /// Reads the answers that have arrived. Ends the wait for probes that have waited too long.
    fn hear(&mut self) {
        let now = Instant::now();
        let mut place = 0;
        while let Some(open) = self.open.get(place) {
            let outcome = open.socket.outcome();
            if outcome.is_none() && open.until > now {
                place += 1;
                continue;
            }
            let Open { probe, tries, .. } = self.open.swap_remove(place);
            let answer = match outcome {
                Some(Outcome::Established { .. } | Outcome::Refused) => Some(Answer::Target),
                Some(Outcome::Icmp(Icmp::TimeExceeded(router))) => Some(Answer::Router(router)),
                _ => None,
            };
            if answer.is_some() {
                self.heard.insert(probe.ttl);
            }
            // A hop that has never answered may be silent at any rate. So its silence must not lower the rate.
            if self.heard.contains(&probe.ttl) {
                self.pace.hear(answer.is_some());
            }
            match answer {
                Some(answer) => self.walk.answer(probe, answer),
                None if tries + 1 < TRIES => self.later.push(Later {
                    at: now + PAUSE * (1 << tries),
                    probe,
                    tries: tries + 1,
                    busy: 0,
                }),
                None => self.walk.answer(probe, Answer::Silent),
            }
        }
    }
}
