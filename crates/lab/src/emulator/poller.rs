//! Waiting for files to have something, and for others to wake us.

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Wakes a thread that waits on a [`Poller`].
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// One that has woken nobody.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Ok(Self(eventfd(0, flags)?))
    }

    /// Another handle of the same.
    ///
    /// # Errors
    /// The system refuses.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Wakes whoever waits.
    pub fn wake(&self) {
        // It fails only where it is woken already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Takes note that it has woken.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0u8; 8][..]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What a file has.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// The number that the file was added with.
    pub key: u64,
    /// Whether it can be written, or its connection has failed.
    pub is_writable: bool,
}

/// Files that are waited for.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

/// Files that are told at a time.
const AT_A_TIME: usize = 64;

impl Poller {
    /// One without files.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new() -> io::Result<Self> {
        let none = epoll::Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        Ok(Self {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: vec![none; AT_A_TIME],
        })
    }

    /// Waits from now on for a file to have something to read, known by `key`.
    ///
    /// # Errors
    /// The system refuses.
    pub fn add(&self, file: impl AsFd, key: u64) -> io::Result<()> {
        Ok(epoll::add(
            &self.epoll,
            file,
            EventData::new_u64(key),
            EventFlags::IN,
        )?)
    }

    /// Waits from now on for a file to have something to read or room to write, and tells each once.
    ///
    /// # Errors
    /// The system refuses.
    pub fn add_edges(&self, file: impl AsFd, key: u64) -> io::Result<()> {
        let both = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(
            &self.epoll,
            file,
            EventData::new_u64(key),
            both,
        )?)
    }

    /// Waits for at most `timeout`, or for ever, and tells `tell` what is ready.
    pub fn wait(&mut self, timeout: Option<Duration>, mut tell: impl FnMut(Ready)) {
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs() as _,
            tv_nsec: timeout.subsec_nanos() as _,
        });
        // Interrupted is as good as nothing.
        let count = epoll::wait(&self.epoll, &mut self.events, timeout.as_ref()).unwrap_or(0);
        for event in &self.events[..count] {
            let (flags, data) = (event.flags, event.data);
            let closed = EventFlags::HUP | EventFlags::ERR;
            tell(Ready {
                key: data.u64(),
                is_writable: flags.intersects(EventFlags::OUT | closed),
            });
        }
    }
}
