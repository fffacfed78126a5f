//! Poller that waits until files are ready or another thread wakes it.

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Handle with which another thread wakes a thread that waits on a [`Poller`].
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// Creates a waker.
    ///
    /// # Errors
    /// The kernel rejects the call.
    pub fn new() -> io::Result<Self> {
        let flags = EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC;
        Ok(Self(eventfd(0, flags)?))
    }

    /// Returns another handle of the same waker.
    ///
    /// # Errors
    /// The kernel rejects the call.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Wakes the waiting thread.
    pub fn wake(&self) {
        // The write fails only if the counter is full, and a full counter means that a wake-up is already pending.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Resets the waker, so that it can wake the thread again.
    pub fn clear(&self) {
        let _ = rustix::io::read(&self.0, &mut [0u8; 8][..]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Event of a file: it is readable or writable.
#[derive(Clone, Copy, Debug)]
pub struct Ready {
    /// Key with which the file was added.
    pub key: u64,
    /// Whether the file is writable, or its connection has failed.
    pub is_writable: bool,
}

/// Set of files that a thread waits for.
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<epoll::Event>,
}

/// Maximum number of files that one call of the kernel reports.
const AT_A_TIME: usize = 64;

impl Poller {
    /// Creates a poller without files.
    ///
    /// # Errors
    /// The kernel rejects the call.
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

    /// Adds a file, identified by `key`. The poller reports it as long as it is readable.
    ///
    /// # Errors
    /// The kernel rejects the call.
    pub fn add(&self, file: impl AsFd, key: u64) -> io::Result<()> {
        Ok(epoll::add(
            &self.epoll,
            file,
            EventData::new_u64(key),
            EventFlags::IN,
        )?)
    }

    /// Adds a file, identified by `key`. The poller reports the file each time it becomes readable or writable.
    ///
    /// # Errors
    /// The kernel rejects the call.
    pub fn add_edges(&self, file: impl AsFd, key: u64) -> io::Result<()> {
        let both = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(
            &self.epoll,
            file,
            EventData::new_u64(key),
            both,
        )?)
    }

    /// Waits for at most `timeout`, or without limit if `timeout` is `None`.
    /// Calls `on_ready` for each file that is ready.
    pub fn wait(&mut self, timeout: Option<Duration>, mut on_ready: impl FnMut(Ready)) {
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs() as _,
            tv_nsec: timeout.subsec_nanos() as _,
        });
        // An error means that a signal interrupted the call.
        // After a signal, the poller reports no file, and the caller waits again.
        let count = epoll::wait(&self.epoll, &mut self.events, timeout.as_ref()).unwrap_or(0);
        for event in &self.events[..count] {
            let (flags, data) = (event.flags, event.data);
            let closed = EventFlags::HUP | EventFlags::ERR;
            on_ready(Ready {
                key: data.u64(),
                is_writable: flags.intersects(EventFlags::OUT | closed),
            });
        }
    }
}
