//! Sends checks from a separate socket, and waits for the answers.

use crate::driver::check_codec::CheckCodec;
use crate::transfer::Error;
use crate::udp::{Cause, Inbox, Outgoing, Refusal, Socket, TrafficClass, is_refusal};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tailcut_wire::scdp::credit::{Check, Echo};

/// Interval at which the sender tests whether the user has stopped it.
const TICK: Duration = Duration::from_millis(100);

/// Properties of a check before it is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckRequest {
    pub(super) to: SocketAddr,
    /// Size of the IP packet in bytes. 0: the smallest possible size.
    pub(super) size: u16,
    pub(super) class: TrafficClass,
    /// Traffic class that the answer should have.
    pub(super) back: TrafficClass,
    /// Whether the answer should have the same length as the check.
    pub(super) is_full: bool,
}

impl CheckRequest {
    /// Creates the shortest check, with a DSCP and an ECN field of 0.
    pub(super) fn plain(to: SocketAddr) -> Self {
        Self {
            to,
            size: 0,
            class: TrafficClass::default(),
            back: TrafficClass::default(),
            is_full: false,
        }
    }
}

/// Answer to one of several checks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    /// Index of the answered check, from 0.
    pub(super) check: usize,
    pub(super) from: SocketAddr,
    pub(super) took: Duration,
    pub(super) echo: Echo,
    /// Traffic class of the answer at its arrival.
    pub(super) class: TrafficClass,
}

/// Answers to a list of checks, and ICMP errors about these checks.
#[derive(Debug, Default)]
pub(super) struct CheckResults {
    pub(super) answers: Vec<Answer>,
    pub(super) refusals: Vec<Refusal>,
}

impl CheckResults {
    /// Returns whether a check has an answer.
    pub(super) fn has(&self, check: usize) -> bool {
        self.answers.iter().any(|one| one.check == check)
    }
}

/// Socket for checks, and the session of these checks.
pub(super) struct Checker<'a> {
    pub(super) socket: Socket,
    pub(super) codec: CheckCodec,
    inbox: Inbox,
    stop: &'a AtomicBool,
    /// Number of the next check.
    next: u16,
}

impl<'a> Checker<'a> {
    pub(super) fn new(socket: Socket, codec: CheckCodec, stop: &'a AtomicBool) -> Self {
        Self {
            socket,
            codec,
            inbox: Inbox::full(),
            stop,
            next: 0,
        }
    }

    /// Returns the size of the IP and UDP headers in bytes.
    pub(super) fn headers(&self) -> u16 {
        match self.socket.local() {
            SocketAddr::V4(_) => 28,
            SocketAddr::V6(_) => 48,
        }
    }

    /// Sends checks at intervals of `spacing`.
    /// Then waits until `enough` answers have arrived, at most for the time `patience`.
    pub(super) fn run(
        &mut self,
        checks: &[CheckRequest],
        spacing: Duration,
        patience: Duration,
        enough: usize,
    ) -> Result<CheckResults, Error> {
        let first = self.next;
        self.next = self.next.wrapping_add(checks.len() as u16);
        let begun = Instant::now();
        let mut sent: Vec<Instant> = Vec::with_capacity(checks.len());
        let mut results = CheckResults::default();
        // Number of checks that this machine has refused to send. They cannot have an answer.
        let mut kept_back = 0;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            while let Some(request) = checks.get(sent.len())
                && begun.elapsed() >= spacing * sent.len() as u32
            {
                let number = first.wrapping_add(sent.len() as u16);
                sent.push(Instant::now());
                if let Some(refusal) = self.send(request, number).map_err(Error::System)? {
                    kept_back += 1;
                    results.refusals.push(refusal);
                }
            }
            self.receive(first, &sent, &mut results)?;
            while let Some(refusal) = self.socket.refusal().map_err(Error::System)? {
                results.refusals.push(refusal);
            }
            let is_sent = sent.len() == checks.len();
            let since = sent.last().map_or(Duration::ZERO, Instant::elapsed);
            let is_enough = results.answers.len() >= enough.saturating_sub(kept_back);
            if is_sent && (is_enough || since >= patience) {
                return Ok(results);
            }
            let due = match is_sent {
                true => patience.saturating_sub(since),
                false => (spacing * sent.len() as u32).saturating_sub(begun.elapsed()),
            };
            self.wait(due.min(TICK)).map_err(Error::System)?;
        }
    }

    /// Sends a check. Returns the reason if this machine refuses to send it.
    fn send(&mut self, request: &CheckRequest, number: u16) -> io::Result<Option<Refusal>> {
        let check = Check {
            size: request.size.saturating_sub(self.headers()),
            number,
            class: request.back.0,
            is_full: request.is_full,
        };
        let Some(bytes) = self.codec.write(&check) else {
            return Err(io::Error::other("a check cannot be written"));
        };
        let message = Outgoing {
            to: request.to,
            from: None,
            class: request.class,
            segment: None,
            parts: &[IoSlice::new(&bytes)],
        };
        // The first call may send nothing, and return an ICMP error about an earlier datagram instead.
        // So the call is repeated once.
        let sent = self.socket.send(&[message]);
        let Err(error) = sent.or_else(|_| self.socket.send(&[message])) else {
            return Ok(None);
        };
        let cause = match error.raw_os_error() {
            Some(libc::EMSGSIZE) => Cause::TooLong(0),
            Some(libc::EPERM | libc::EACCES) => Cause::Prohibited,
            Some(libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EADDRNOTAVAIL) => {
                Cause::Unreachable
            }
            Some(libc::ECONNREFUSED) => Cause::Port,
            // The socket's buffer is full. The check then counts as lost.
            _ if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            _ => return Err(error),
        };
        Ok(Some(Refusal {
            to: request.to,
            by: None,
            cause,
        }))
    }

    fn receive(
        &mut self,
        first: u16,
        sent: &[Instant],
        results: &mut CheckResults,
    ) -> Result<(), Error> {
        let (codec, answers) = (&self.codec, &mut results.answers);
        let mut more = 1;
        while more > 0 {
            let received = self.socket.receive(&mut self.inbox, &mut |incoming| {
                for datagram in incoming.datagrams() {
                    let Some(echo) = codec.read(datagram) else {
                        continue;
                    };
                    let check = usize::from(echo.number.wrapping_sub(first));
                    let Some(at) = sent.get(check) else {
                        continue;
                    };
                    // The network may duplicate an answer.
                    let is_known = |one: &Answer| (one.check, one.from) == (check, incoming.from);
                    if !answers.iter().any(is_known) {
                        answers.push(Answer {
                            check,
                            from: incoming.from,
                            took: at.elapsed(),
                            echo,
                            class: incoming.class(),
                        });
                    }
                }
            });
            more = match received {
                Ok(count) => count,
                // This ICMP error is also in the error queue. The caller reads its details there.
                Err(error) if is_refusal(&error) => 0,
                Err(error) => return Err(Error::System(error)),
            };
        }
        Ok(())
    }

    fn wait(&self, time: Duration) -> io::Result<()> {
        let timeout = Timespec {
            tv_sec: time.as_secs() as _,
            tv_nsec: time.subsec_nanos() as _,
        };
        let mut files = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut files, Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => Ok(()),
            result => Ok(result.map(|_| ())?),
        }
    }
}
