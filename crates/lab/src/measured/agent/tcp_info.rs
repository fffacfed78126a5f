//! What a kernel says of a TCP connection.

use std::os::fd::{AsFd, AsRawFd};
use tailcut_transport::FlowStats;

/// Where `struct tcp_info` has what is read, in bytes from its start (include/uapi/linux/tcp.h; fields are
/// only ever added behind).
const TOTAL_RETRANS: usize = 100;
const BYTES_SENT: usize = 200;
const TOTAL_RTO: usize = 240;
/// The first byte is the connection's state, and this that of one that is over (include/net/tcp_states.h).
const CLOSED: u8 = 7;
/// As much as is read.
const LENGTH: usize = 256;

/// What a connection has cost so far, as far as the kernel says: those before 4.19 do not count bytes,
/// those before 6.7 no timeouts.
pub fn stats(socket: impl AsFd) -> FlowStats {
    let info = read(socket).unwrap_or_default();
    let u32_at = |place: usize| {
        let bytes = info.get(place..place + 4);
        bytes.map_or(0, |bytes| {
            u32::from_ne_bytes(bytes.try_into().unwrap_or_default())
        })
    };
    let u64_at = |place: usize| {
        let bytes = info.get(place..place + 8);
        bytes.map_or(0, |bytes| {
            u64::from_ne_bytes(bytes.try_into().unwrap_or_default())
        })
    };
    FlowStats {
        retransmissions: u32_at(TOTAL_RETRANS),
        timeouts: u32_at(TOTAL_RTO) & 0xffff,
        copies: 1,
        payload_sent: u64_at(BYTES_SENT),
    }
}

/// Whether a connection is over: both directions have ended, and the kernel waits for nothing.
pub fn is_over(socket: impl AsFd) -> bool {
    read(socket).is_none_or(|info| info.first() == Some(&CLOSED))
}

fn read(socket: impl AsFd) -> Option<Vec<u8>> {
    let mut info = vec![0u8; LENGTH];
    let mut length = LENGTH as libc::socklen_t;
    // SAFETY: `info` is writable for `length` bytes, which the kernel does not exceed; both live through
    // the call, and the kernel keeps no pointer to them.
    let answer = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    info.truncate(length as usize);
    (answer == 0).then_some(info)
}
