//! Statistics of a TCP connection that the kernel returns for the socket option `TCP_INFO`.

use std::os::fd::{AsFd, AsRawFd};
use tailcut_transport::FlowStats;

/// Offset in bytes of a field in `struct tcp_info` (include/uapi/linux/tcp.h).
/// New kernels add fields only at the end, so offsets never change.
const TOTAL_RETRANS: usize = 100;
const BYTES_SENT: usize = 200;
const TOTAL_RTO: usize = 240;
/// Value of the state TCP_CLOSE (include/net/tcp_states.h). The first byte of the structure is the state.
const CLOSED: u8 = 7;
/// Number of bytes of the structure that are read.
const LENGTH: usize = 256;

/// Returns the statistics of a connection so far.
/// Kernels before 4.19 do not count bytes, and kernels before 6.7 do not count timeouts. The missing values are 0.
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
        // The field has only 16 bits. The upper half of the word belongs to the next field.
        timeouts: u32_at(TOTAL_RTO) & 0xffff,
        copies: 1,
        payload_sent: u64_at(BYTES_SENT),
    }
}

/// Returns whether a connection is closed: both directions have ended, and all data is acknowledged.
pub fn is_over(socket: impl AsFd) -> bool {
    read(socket).is_none_or(|info| info.first() == Some(&CLOSED))
}

fn read(socket: impl AsFd) -> Option<Vec<u8>> {
    let mut info = vec![0u8; LENGTH];
    let mut length = LENGTH as libc::socklen_t;
    // SAFETY: `info` is writable for `length` bytes, and the kernel does not write more.
    // `info` and `length` live through the call, and the kernel keeps no pointer to them.
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
