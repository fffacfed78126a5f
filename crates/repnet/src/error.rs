//! Errors that RepNet itself reports. Errors of the kernel are returned unchanged.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Error that RepNet itself detects. It is inside an [`io::Error`], see [`io::Error::get_ref`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepNetError {
    /// The flow's two connections carried different bytes, or ended cleanly at different lengths.
    #[error("the two connections of the flow differ ({delivered} bytes were delivered)")]
    Diverged {
        /// Number of bytes that the application has received.
        delivered: u64,
    },
    /// The program on the replica port is not a RepNet server, or it accepted no flow.
    #[error("the replica port {at} answered with {found}, and accepts no flow")]
    Hello {
        /// Address of the replica port.
        at: SocketAddr,
        /// Answer of the program.
        found: String,
    },
    /// No connection was established within the deadline.
    #[error("no connection within {} ms", .within.as_millis())]
    LegDeadline {
        /// Deadline for a connection.
        within: Duration,
    },
    /// No connection can send, and the bytes that are kept for the second connection would exceed their limit.
    #[error("more than {cap} bytes wait for a connection")]
    ArchiveFull {
        /// Largest number of kept bytes.
        cap: u64,
    },
}

impl From<RepNetError> for io::Error {
    fn from(error: RepNetError) -> Self {
        let kind = match error {
            RepNetError::Diverged { .. } => io::ErrorKind::InvalidData,
            RepNetError::Hello { .. } => io::ErrorKind::ConnectionRefused,
            RepNetError::LegDeadline { .. } => io::ErrorKind::TimedOut,
            RepNetError::ArchiveFull { .. } => io::ErrorKind::ConnectionReset,
        };
        Self::new(kind, error)
    }
}

/// Returns a copy of the error, for another caller.
pub(crate) fn again(error: &io::Error) -> io::Error {
    let own = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<RepNetError>());
    match (own, error.raw_os_error()) {
        (Some(own), _) => own.clone().into(),
        (None, Some(code)) => io::Error::from_raw_os_error(code),
        (None, None) => io::Error::new(error.kind(), error.to_string()),
    }
}

/// Returns whether the error is a lack of a resource on this machine. Such an error does not depend on the target.
pub(crate) fn is_local(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrInUse, AddrNotAvailable, OutOfMemory};
    // These error numbers (EMFILE, ENFILE, ENOBUFS) have no `ErrorKind`.
    let code = error.raw_os_error();
    matches!(error.kind(), AddrInUse | AddrNotAvailable | OutOfMemory)
        || code.is_some_and(|code| [23, 24, 105].contains(&code))
}
