//! Receives datagrams, many with one system call.

use super::control;
use super::message::{Datagrams, Incoming, Outgoing};
use super::name::Name;
use super::refusals::{Refusal, is_refusal};
use super::socket::Socket;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering;

/// Largest number of messages in one system call. With a smaller number, each call returns fewer datagrams.
/// With a larger number, each endpoint needs more memory: 64 KiB for each message.
const MOST_RECEIVED: usize = 32;
/// Largest size of a message with merged datagrams, in bytes.
const MERGED: usize = 65_536;

/// Memory for the messages that one system call returns.
#[derive(Debug)]
pub struct Inbox {
    bytes: Box<[u8]>,
    /// Largest size of one message, in bytes.
    room: usize,
    names: Box<[Name]>,
    controls: Box<[[u64; control::RECEIVED / 8]]>,
}

impl Inbox {
    /// Creates memory for 1 to 32 messages. Each message may have up to `room` bytes, at least 1.
    pub fn new(messages: usize, room: usize) -> Self {
        let (messages, room) = (messages.clamp(1, MOST_RECEIVED), room.max(1));
        Self {
            bytes: vec![0; messages * room].into_boxed_slice(),
            room,
            names: vec![Name::EMPTY; messages].into_boxed_slice(),
            controls: vec![[0; control::RECEIVED / 8]; messages].into_boxed_slice(),
        }
    }

    /// Creates memory for the most that the kernel can return in one call: 32 messages of 64 KiB.
    pub fn full() -> Self {
        Self::new(MOST_RECEIVED, MERGED)
    }
}

impl Socket {
    /// Receives messages with one system call, at most as many as `inbox` has memory for.
    /// Passes each message to `take`. Returns the number of messages, which is 0 if no message has arrived.
    ///
    /// # Errors
    /// The system reports an error.
    pub fn receive(
        &self,
        inbox: &mut Inbox,
        take: &mut dyn FnMut(&Incoming<'_>),
    ) -> io::Result<usize> {
        let count = inbox.names.len().min(MOST_RECEIVED);
        // SAFETY: both types consist of integers and raw pointers, for which all-zero bytes are valid.
        let (mut headers, mut parts): (
            [libc::mmsghdr; MOST_RECEIVED],
            [libc::iovec; MOST_RECEIVED],
        ) = unsafe { std::mem::zeroed() };
        let rooms = inbox.bytes.chunks_exact_mut(inbox.room);
        let places = rooms.zip(&mut inbox.names).zip(&mut inbox.controls);
        for ((header, part), ((room, name), control)) in
            headers.iter_mut().zip(&mut parts).zip(places)
        {
            part.iov_base = room.as_mut_ptr().cast();
            part.iov_len = room.len();
            let header = &mut header.msg_hdr;
            header.msg_name = (&raw mut name.0).cast();
            header.msg_namelen = size_of_val(&name.0) as _;
            header.msg_iov = part;
            header.msg_iovlen = 1;
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = size_of_val(control) as _;
        }
        // SAFETY: `inbox` has `count` names, control buffers and rooms.
        // Each of the first `count` headers points to one name, one control buffer and one room, each with its length.
        // The pointers come from exclusive borrows that end before other code uses the memory.
        // This memory, `headers` and `parts` live until the call returns.
        // The kernel writes only within these lengths, and any bytes are valid there.
        let received = unsafe {
            libc::recvmmsg(
                self.as_fd().as_raw_fd(),
                headers.as_mut_ptr(),
                count as u32,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let Ok(received) = usize::try_from(received) else {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(0),
                _ => Err(error),
            };
        };
        let rooms = inbox.bytes.chunks_exact(inbox.room);
        let places = rooms.zip(&inbox.names).zip(&inbox.controls);
        for (header, ((room, name), words)) in headers.iter().take(received).zip(places) {
            let length = (header.msg_len as usize).min(room.len());
            let written_bytes = as_bytes(words);
            let written: usize = header.msg_hdr.msg_controllen as _;
            // A socket is for IPv4 or for IPv6. It receives only addresses of its IP version.
            let Some(from) = name.address() else {
                continue;
            };
            let ancillary = control::parse(&written_bytes[..written.min(written_bytes.len())]);
            if let Some(overflows) = ancillary.overflows {
                self.overflows.store(overflows, Ordering::Relaxed);
            }
            take(&Incoming {
                from,
                ancillary,
                is_cut: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
                bytes: &room[..length],
            });
        }
        Ok(received)
    }
}

/// Converts words to bytes without a copy.
fn as_bytes(words: &[u64; control::RECEIVED / 8]) -> &[u8; control::RECEIVED] {
    // SAFETY: both arrays have the same number of bytes. Integers have no padding, and bytes need no alignment.
    unsafe { &*words.as_ptr().cast() }
}

/// Kernel socket with memory for received messages, for a driver.
#[derive(Debug)]
pub struct Port {
    /// Socket for sending and receiving.
    pub socket: Socket,
    inbox: Inbox,
    /// Whether the error queue of the socket may contain errors.
    has_refusals: bool,
}

impl Port {
    /// Creates a port whose memory is large enough for full batches.
    pub fn new(socket: Socket) -> Self {
        Self {
            socket,
            inbox: Inbox::full(),
            has_refusals: false,
        }
    }

    /// Makes [`Datagrams::refusal`] read the error queue. Call it after `poll(2)` has reported errors.
    pub fn expect_refusals(&mut self) {
        self.has_refusals = true;
    }

    /// Returns an error, unless it may concern an earlier datagram.
    fn note(&mut self, error: io::Error) -> io::Result<()> {
        match is_refusal(&error) {
            true => {
                self.has_refusals = true;
                Ok(())
            }
            false => Err(error),
        }
    }
}

impl Datagrams for Port {
    fn send(&mut self, messages: &[Outgoing<'_>]) -> io::Result<usize> {
        match self.socket.send(messages) {
            // The error may concern an earlier datagram. So the messages are passed once more.
            Err(error) => self.note(error).and_then(|()| self.socket.send(messages)),
            sent => sent,
        }
    }

    fn receive(&mut self, take: &mut dyn FnMut(&Incoming<'_>)) -> io::Result<usize> {
        match self.socket.receive(&mut self.inbox, take) {
            Err(error) => self.note(error).map(|()| 0),
            received => received,
        }
    }

    fn refusal(&mut self) -> io::Result<Option<Refusal>> {
        if !self.has_refusals {
            return Ok(None);
        }
        let refusal = self.socket.refusal()?;
        self.has_refusals = refusal.is_some();
        Ok(refusal)
    }

    fn segments(&self) -> usize {
        self.socket.segments()
    }
}
