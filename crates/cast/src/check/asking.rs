//! Sender of checks with a separate socket, which waits for the answers.

use crate::driver::words::Words;
use crate::transfer::Error;
use crate::udp::{Cause, Inbox, Outgoing, Refusal, Socket, TrafficClass};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tailcut_wire::scdp::credit::{Check, Echo};

/// Interval at which the user's request to stop is checked.
const TICK: Duration = Duration::from_millis(100);

/// Check to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question {
    pub(super) to: SocketAddr,
    /// Bytes of the IP packet. 0: as few as possible.
    pub(super) size: u16,
    pub(super) class: TrafficClass,
    /// Traffic class that the answer should have.
    pub(super) back: TrafficClass,
    /// Whether the answer should be as long as the check.
    pub(super) is_full: bool,
}

impl Question {
    /// Creates the shortest check, without DSCP and ECN marks.
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
    /// Index of the check, from 0.
    pub(super) question: usize,
    pub(super) from: SocketAddr,
    pub(super) took: Duration,
    pub(super) echo: Echo,
    /// Traffic class of the answer at its arrival.
    pub(super) class: TrafficClass,
}

/// Answers and errors after several checks.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) answers: Vec<Answer>,
    pub(super) refusals: Vec<Refusal>,
}

impl Heard {
    /// Returns whether a check has an answer.
    pub(super) fn has(&self, question: usize) -> bool {
        self.answers.iter().any(|one| one.question == question)
    }
}

/// Socket for checks, with the session of the checks.
pub(super) struct Asking<'a> {
    pub(super) socket: Socket,
    pub(super) words: Words,
    inbox: Inbox,
    stop: &'a AtomicBool,
    next: u16,
}

impl<'a> Asking<'a> {
    pub(super) fn new(socket: Socket, words: Words, stop: &'a AtomicBool) -> Self {
        Self {
            socket,
            words,
            inbox: Inbox::full(),
            stop,
            next: 0,
        }
    }

    /// Returns the bytes of the IP and UDP headers.
    pub(super) fn headers(&self) -> u16 {
        match self.socket.local() {
            SocketAddr::V4(_) => 28,
            SocketAddr::V6(_) => 48,
        }
    }

    /// Sends checks at intervals of `spacing`. Waits until there are `enough` answers, or for
    /// `patience` after the last check.
    pub(super) fn ask(
        &mut self,
        questions: &[Question],
        spacing: Duration,
        patience: Duration,
        enough: usize,
    ) -> Result<Heard, Error> {
        let first = self.next;
        self.next = self.next.wrapping_add(questions.len() as u16);
        let begun = Instant::now();
        let mut sent: Vec<Instant> = Vec::with_capacity(questions.len());
        let mut heard = Heard::default();
        // Checks that this machine refuses to send cannot have an answer.
        let mut kept_back = 0;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            while let Some(question) = questions.get(sent.len())
                && begun.elapsed() >= spacing * sent.len() as u32
            {
                let number = first.wrapping_add(sent.len() as u16);
                sent.push(Instant::now());
                if let Some(refusal) = self.send(question, number).map_err(Error::System)? {
                    kept_back += 1;
                    heard.refusals.push(refusal);
                }
            }
            self.receive(first, &sent, &mut heard)?;
            while let Some(refusal) = self.socket.refusal().map_err(Error::System)? {
                heard.refusals.push(refusal);
            }
            let is_sent = sent.len() == questions.len();
            let since = sent.last().map_or(Duration::ZERO, Instant::elapsed);
            let is_enough = heard.answers.len() >= enough.saturating_sub(kept_back);
            if is_sent && (is_enough || since >= patience) {
                return Ok(heard);
            }
            let due = match is_sent {
                true => patience.saturating_sub(since),
                false => (spacing * sent.len() as u32).saturating_sub(begun.elapsed()),
            };
            self.wait(due.min(TICK)).map_err(Error::System)?;
        }
    }

    /// Sends a check. Returns the reason if this machine refuses.
    fn send(&mut self, question: &Question, number: u16) -> io::Result<Option<Refusal>> {
        let check = Check {
            size: question.size.saturating_sub(self.headers()),
            number,
            class: question.back.0,
            is_full: question.is_full,
        };
        let Some(bytes) = self.words.write(&check) else {
            return Err(io::Error::other("a check cannot be written"));
        };
        let message = Outgoing {
            to: question.to,
            from: None,
            class: question.class,
            segment: None,
            parts: &[IoSlice::new(&bytes)],
        };
        // The first call may return an error about an earlier datagram, so the call is repeated
        // once.
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
            _ if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            _ => return Err(error),
        };
        Ok(Some(Refusal {
            to: question.to,
            by: None,
            cause,
        }))
    }

    fn receive(&mut self, first: u16, sent: &[Instant], heard: &mut Heard) -> Result<(), Error> {
        let (words, answers) = (&self.words, &mut heard.answers);
        let mut more = 1;
        while more > 0 {
            let received = self.socket.receive(&mut self.inbox, &mut |incoming| {
                for datagram in incoming.datagrams() {
                    let Some(echo) = words.read(datagram) else {
                        continue;
                    };
                    let question = usize::from(echo.number.wrapping_sub(first));
                    let Some(at) = sent.get(question) else {
                        continue;
                    };
                    let is_known =
                        |one: &Answer| (one.question, one.from) == (question, incoming.from);
                    if !answers.iter().any(is_known) {
                        answers.push(Answer {
                            question,
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
                // The details of this ICMP error are in the error queue.
                Err(error) if error.raw_os_error().is_some_and(is_refusal) => 0,
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

/// Returns whether this error number may be an ICMP error about an earlier datagram.
fn is_refusal(errno: i32) -> bool {
    matches!(
        errno,
        libc::ECONNREFUSED
            | libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::EMSGSIZE
            | libc::EACCES
            | libc::EPROTO
            | libc::ENOPROTOOPT
            | libc::EHOSTDOWN
            | libc::ENONET
    )
}
