//! Why a request got no answer.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// Why a request got no answer.
#[derive(Clone, Debug)]
pub enum WayError {
    /// There is no connection to the server. All that waited for it get the same error.
    Connect(Arc<dyn Error + Send + Sync>),
    /// The connection, or the request on it, ended before the answer.
    Http(Arc<hyper::Error>),
    /// The request has no address that can be sent.
    Address,
}

impl WayError {
    /// Whether the server says that it has done nothing for the request, so that it may be sent again
    /// whatever it is: the stream was refused, or is beyond the last one that a GOAWAY names (RFC 9113,
    /// section 8.7).
    pub(super) fn is_unprocessed(error: &hyper::Error) -> bool {
        cause(error).is_some_and(|cause| {
            // h2 gives a remote GOAWAY only to streams that are beyond its last one.
            let refused = cause.is_reset() && cause.reason() == Some(h2::Reason::REFUSED_STREAM);
            cause.is_remote() && (cause.is_go_away() || refused)
        })
    }
}

fn cause(error: &hyper::Error) -> Option<&h2::Error> {
    error.source().and_then(|source| source.downcast_ref())
}

/// Whether the server ended the connection for something that it takes for a fault of ours.
pub(super) fn is_accusation(error: &hyper::Error) -> bool {
    cause(error).is_some_and(|cause| {
        let reason = cause.reason();
        cause.is_remote() && cause.is_go_away() && reason != Some(h2::Reason::NO_ERROR)
    })
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
