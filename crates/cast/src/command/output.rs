//! Standard output as a destination of received data. The user can interrupt a write that waits for space.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{ioctl_fionread, write};
use rustix::pipe::fcntl_getpipe_size;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Interval at which a wait checks whether the user has interrupted it.
const TICK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// Size of a page of a pipe in bytes. A writable pipe has space for one page.
const PAGE: usize = 4_096;
/// Number of bytes per write if standard output is not a pipe.
const PIECE: usize = 1 << 18;

/// Standard output that never blocks. Each write contains only as many bytes as fit.
#[derive(Debug)]
pub(super) struct Output<'a> {
    stop: &'a AtomicBool,
    stdout: io::Stdout,
}

impl<'a> Output<'a> {
    pub(super) fn new(stop: &'a AtomicBool) -> Self {
        let stdout = io::stdout();
        Self { stop, stdout }
    }

    /// Returns an estimate of the number of bytes that a write accepts without blocking.
    fn room(file: BorrowedFd<'_>) -> usize {
        // The call fails if standard output is a file or a terminal.
        let Ok(all) = fcntl_getpipe_size(file) else {
            return PIECE;
        };
        let unread = ioctl_fionread(file).map_or(all, |bytes| bytes as usize);
        // The first and the last page of the unread bytes may be partly filled.
        let taken = unread.next_multiple_of(PAGE) + 2 * PAGE;
        all.saturating_sub(taken).max(PAGE)
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = self.stdout.as_fd();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(io::Error::other("interrupted"));
            }
            let mut files = [PollFd::from_borrowed_fd(file, PollFlags::OUT)];
            match poll(&mut files, Some(&TICK)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(error.into()),
            }
            let piece = bytes.len().min(Self::room(file));
            match write(file, &bytes[..piece]) {
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
