//! Sends datagrams, many with one system call.

use super::class::TrafficClass;
use super::control::Control;
use super::message::Outgoing;
use super::name::Name;
use super::socket::Socket;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering;

/// Largest number of messages in one system call.
/// The buffers of a call are on the stack, so a larger number needs more stack. A smaller number needs more calls.
const MOST_SENT: usize = 16;
/// Largest number of slices in one message (UIO_MAXIOV of the kernel).
const MOST_PARTS: usize = 1_024;

impl Socket {
    /// Sends messages with one system call, as [`Datagrams::send`](super::Datagrams::send) does.
    ///
    /// # Errors
    /// Same as for [`Datagrams::send`](super::Datagrams::send).
    pub fn send(&self, messages: &[Outgoing<'_>]) -> io::Result<usize> {
        match self.send_as_given(messages) {
            Err(error) if self.refuses_segments(&error, messages) => {
                // An error of the kernel always concerns the first message.
                self.send_apart(&messages[0])?;
                Ok(1)
            }
            sent => sent,
        }
    }

    /// Returns whether an error means that the interface cannot split messages.
    /// After such an error, later messages are not split either.
    fn refuses_segments(&self, error: &io::Error, messages: &[Outgoing<'_>]) -> bool {
        // Linux returns EIO if the interface cannot compute checksums.
        // It returns EINVAL if the interface refuses the segment size.
        let says_so = matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL));
        let refuses = says_so
            && messages
                .first()
                .is_some_and(|first| first.segment.is_some());
        if refuses {
            self.segments.store(1, Ordering::Relaxed);
        }
        refuses
    }

    /// Sends the datagrams of a message one by one. If the buffer becomes full, the remaining datagrams are lost.
    fn send_apart(&self, message: &Outgoing<'_>) -> io::Result<()> {
        let bytes = message.gathered();
        // The size is at least 1, because `chunks` panics for 0.
        let segment = message.segment.map_or(bytes.len(), usize::from).max(1);
        for datagram in bytes.chunks(segment) {
            let parts = [IoSlice::new(datagram)];
            let one = Outgoing {
                segment: None,
                parts: &parts,
                ..*message
            };
            self.send_as_given(&[one])?;
        }
        Ok(())
    }

    fn send_as_given(&self, messages: &[Outgoing<'_>]) -> io::Result<usize> {
        let count = messages.len().min(MOST_SENT);
        let messages = &messages[..count];
        if let Some(wrong) = messages
            .iter()
            .find(|message| message.parts.len() > MOST_PARTS)
        {
            let found = wrong.parts.len();
            let said = format!("a message of {found} pieces; allowed: {MOST_PARTS}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, said));
        }
        let mut names = [(Name::EMPTY, 0); MOST_SENT];
        let mut controls = [Control::EMPTY; MOST_SENT];
        // SAFETY: `mmsghdr` is made of integers and raw pointers, for which all bits zero are a value.
        let mut headers: [libc::mmsghdr; MOST_SENT] = unsafe { std::mem::zeroed() };
        for (at, message) in messages.iter().enumerate() {
            names[at] = Name::of(message.to);
            let control = &mut controls[at];
            // A datagram without a DSCP gets the DSCP of the socket.
            let class = match (message.class.dscp(), message.class.ecn()) {
                (0, ecn) => TrafficClass::new(self.dscp, ecn).unwrap_or(message.class),
                _ => message.class,
            };
            control.put_class(message.to.is_ipv4(), class);
            if let Some(from) = message.from {
                control.put_from(from);
            }
            if let Some(segment) = message.segment {
                control.put_segment(segment);
            }
            let header = &mut headers[at].msg_hdr;
            header.msg_name = (&raw mut names[at].0).cast();
            header.msg_namelen = names[at].1;
            // `IoSlice` has the layout of `iovec`, as its documentation guarantees. The kernel only reads it.
            header.msg_iov = message.parts.as_ptr().cast_mut().cast();
            header.msg_iovlen = message.parts.len() as _;
            let bytes = controls[at].bytes();
            header.msg_control = bytes.as_ptr().cast_mut().cast();
            header.msg_controllen = bytes.len() as _;
        }
        // SAFETY: The first `count` headers point to names, control messages and slices, with their lengths.
        // All of these live until the call returns.
        // `names` and `controls` are not moved or written after the pointers were taken.
        // The kernel reads from all of them, and writes only to `msg_len` of `headers`.
        // `headers` has at least `count` elements.
        let sent = unsafe {
            libc::sendmmsg(
                self.as_fd().as_raw_fd(),
                headers.as_mut_ptr(),
                count as u32,
                libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL,
            )
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}
