//! Sender of volleys. A volley is one handshake from each port, all at nearly the same time.

use super::handshake::{Outcome, Socket, wait_for};
use super::ports::Ports;
use super::queue::Icmp;
use super::trouble::Trouble;
use crate::stats::{Handshake, Volley};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tailcut_units::median;

/// Time limit of a handshake. Within this limit, the kernel repeats a SYN after 1 s, and again at 2 s or 3 s.
pub const PATIENCE: Duration = Duration::from_millis(3_500);
const LOOK: Duration = Duration::from_millis(100);

/// Sender of volleys to a target.
#[derive(Debug)]
pub struct Shooter {
    to: SocketAddr,
    ports: Vec<u16>,
    random: Xoshiro256PlusPlus,
    /// Seconds between the starts of two volleys.
    every: f64,
    /// Start of the first volley. The times of all volleys are measured from here.
    began: Instant,
    /// Time at which the next volley may begin.
    next: Instant,
    /// Time between the first and the last SYN of each volley, in microseconds.
    spans: Vec<f64>,
    /// Whether the target has answered at least once.
    is_known: bool,
}

impl Shooter {
    /// Creates a sender that uses the first `count` ports.
    /// The sender sends `rate` SYNs per second on average. `rate` must be above 0.
    ///
    /// # Errors
    /// There are not enough free ports.
    pub fn new(
        to: SocketAddr,
        ports: &mut Ports,
        count: usize,
        rate: f64,
        seed: u64,
    ) -> Result<Self, Trouble> {
        let numbers = 0..count;
        let ports = numbers.map(|number| ports.get(number).ok_or(Trouble::NoPorts));
        let now = Instant::now();
        Ok(Self {
            to,
            ports: ports.collect::<Result<_, _>>()?,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            every: count as f64 / rate,
            began: now,
            next: now,
            spans: Vec::new(),
            is_known: false,
        })
    }

    /// Returns the source ports.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Returns the median time between the first and the last SYN of a volley, in microseconds.
    pub fn median_span(&self) -> f64 {
        median(&mut self.spans.clone()).unwrap_or(0.0)
    }

    /// Waits until the next volley may be sent. Then sends the volley and waits for the answers.
    /// Returns `None` if `stop` was set during the wait.
    ///
    /// # Errors
    /// No handshake has succeeded since the start. The error is the reason of the last failure.
    pub fn shoot(&mut self, stop: &AtomicBool) -> Result<Option<Volley>, Trouble> {
        while let Some(rest) = self.next.checked_duration_since(Instant::now()) {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            std::thread::sleep(rest.min(LOOK));
        }
        let mut order: Vec<usize> = (0..self.ports.len()).collect();
        // SYNs that are sent later wait longer in this host's queue.
        // With a random order of SYNs, the delay in the host's queue affects all ports equally.
        for last in (1..order.len()).rev() {
            let other = (u64::from(self.random.next_u32()) * (last as u64 + 1)) >> 32;
            order.swap(last, other as usize);
        }
        let mut trouble = Trouble::NoAnswer(self.to);
        let mut bound: Vec<(usize, Socket)> = Vec::new();
        for number in order {
            match Socket::bound(self.to, self.ports[number]) {
                Ok(socket) => bound.push((number, socket)),
                Err(error) => trouble = Trouble::System(self.to, error),
            }
        }
        let start = Instant::now();
        self.next = start + Duration::from_secs_f64(self.every);
        let mut open: Vec<(usize, Socket)> = Vec::new();
        for (number, mut socket) in bound {
            match socket.connect(None) {
                Ok(()) => open.push((number, socket)),
                Err(error) => trouble = Trouble::System(self.to, error),
            }
        }
        if let (Some((_, first)), Some((_, last))) = (open.first(), open.last()) {
            let span = last.began.saturating_duration_since(first.began);
            self.spans.push(span.as_secs_f64() * 1e6);
        }
        let first = open.first().map_or(start, |(_, socket)| socket.began);
        let sent_us = |socket: &Socket| {
            let since = socket.began.saturating_duration_since(first);
            since.as_secs_f64() * 1e6
        };
        let mut volley = Volley {
            at: start.saturating_duration_since(self.began).as_secs_f64(),
            handshakes: vec![None; self.ports.len()],
        };
        while !open.is_empty() && start.elapsed() < PATIENCE {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let rest = PATIENCE.saturating_sub(start.elapsed()).min(LOOK);
            wait_for(open.iter().map(|(_, socket)| socket), rest)
                .map_err(|error| Trouble::System(self.to, error))?;
            open.retain(|(number, socket)| match socket.outcome() {
                None => true,
                Some(Outcome::Established { rtt, resent }) => {
                    let took = match resent {
                        0 => rtt,
                        // After a lost SYN, the kernel measures the round-trip time from the repeated SYN only.
                        _ => socket.began.elapsed(),
                    };
                    volley.handshakes[*number] = Some(Handshake {
                        sent_us: sent_us(socket),
                        us: took.as_secs_f64() * 1e6,
                        resent,
                        is_answered: true,
                    });
                    false
                }
                Some(other) => {
                    trouble = trouble_of(self.to, other);
                    false
                }
            });
        }
        for (number, socket) in open {
            volley.handshakes[number] = Some(Handshake {
                sent_us: sent_us(&socket),
                us: socket.began.elapsed().as_secs_f64() * 1e6,
                // Within `PATIENCE`, the kernel has repeated the SYN at least once.
                resent: 1,
                is_answered: false,
            });
        }
        let mut handshakes = volley.handshakes.iter().flatten();
        self.is_known |= handshakes.any(|one| one.is_answered);
        // If a target answered earlier, its silence is a result and not an error.
        match self.is_known {
            true => Ok(Some(volley)),
            false => Err(trouble),
        }
    }
}

fn trouble_of(to: SocketAddr, outcome: Outcome) -> Trouble {
    match outcome {
        Outcome::Refused => Trouble::Refused(to),
        Outcome::Icmp(Icmp::Unreachable { from, kind, code }) => {
            Trouble::Unreachable(to, from, kind, code)
        }
        Outcome::Failed(error) => Trouble::System(to, error),
        Outcome::Icmp(Icmp::TimeExceeded(_)) | Outcome::Established { .. } => Trouble::NoAnswer(to),
    }
}
