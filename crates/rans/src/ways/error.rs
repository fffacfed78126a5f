//! Why a request got no answer.

use h2::Reason;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Why a request got no answer.
#[derive(Clone, Debug)]
pub enum WayError {
    /// There is no connection to the server. All that waited for it get the same error.
    Connect(Arc<dyn Error + Send + Sync>),
    /// The connection, or the request on it, ended before the answer did. The error is hyper's with HTTP/1.1, and
    /// h2's with HTTP/2.
    Http(Arc<dyn Error + Send + Sync>),
    /// The request has no address that can be sent.
    Address,
}

impl WayError {
    pub(super) fn http(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Http(Arc::new(error))
    }
}

/// Whether the server says that it has done nothing for the request, so that it may be sent again whatever it is:
/// the stream was refused, or is beyond the last one that a GOAWAY names (RFC 9113, section 8.7).
pub(super) fn is_unprocessed(error: &h2::Error) -> bool {
    // h2 gives a remote GOAWAY only to streams that are beyond its last one.
    let refused = error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM);
    error.is_remote() && (error.is_go_away() || refused)
}

/// Whether the server ended the connection for something that it takes for a fault of ours.
pub(super) fn is_accusation(error: &h2::Error) -> bool {
    error.is_remote() && error.is_go_away() && error.reason() != Some(Reason::NO_ERROR)
}

impl fmt::Display for WayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "no connection to the server: {error}"),
            Self::Http(error) => write!(f, "no answer from the server: {error}"),
            Self::Address => f.write_str("the request's address cannot be sent"),
        }
    }
}

impl Error for WayError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connect(error) => error.source(),
            Self::Http(error) => error.source(),
            Self::Address => None,
        }
    }
}
