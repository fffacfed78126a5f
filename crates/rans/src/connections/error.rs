//! Errors of requests to a server.

use h2::Reason;
use std::error::Error;
use std::fmt;
#[cfg(any(feature = "gateway", feature = "guard"))]
use std::io;
use std::sync::Arc;

/// Reason why a request got no answer.
#[derive(Clone, Debug)]
pub enum ConnectionError {
    /// No connection to the server could be opened. All requests that waited for the connection receive the same error.
    Connect(Arc<dyn Error + Send + Sync>),
    /// The connection or the request ended before the answer was complete.
    /// The error is hyper's with HTTP/1.1, and h2's with HTTP/2.
    Http(Arc<dyn Error + Send + Sync>),
    /// The address of the request cannot be sent.
    Address,
}

impl ConnectionError {
    /// Whether the server did not accept a connection in time.
    #[cfg(any(feature = "gateway", feature = "guard"))]
    pub(crate) fn is_timeout(&self) -> bool {
        match self {
            Self::Connect(error) => error
                .downcast_ref::<io::Error>()
                .is_some_and(|error| error.kind() == io::ErrorKind::TimedOut),
            Self::Http(_) | Self::Address => false,
        }
    }

    pub(super) fn http(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Http(Arc::new(error))
    }
}

/// Returns whether the server reports that it did not process the request, so that any request may be sent again.
/// Either the stream was refused, or its number is above the last stream in a GOAWAY (RFC 9113, section 8.7).
pub(super) fn is_unprocessed(error: &h2::Error) -> bool {
    // h2 reports a remote GOAWAY only on streams above the last stream of the GOAWAY.
    let refused = error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM);
    error.is_remote() && (error.is_go_away() || refused)
}

/// Returns whether the server ended the connection because of an error that it attributes to the client.
pub(super) fn is_accusation(error: &h2::Error) -> bool {
    error.is_remote() && error.is_go_away() && error.reason() != Some(Reason::NO_ERROR)
}

impl fmt::Display for ConnectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => write!(f, "no connection to the server: {error}"),
            Self::Http(error) => write!(f, "no answer from the server: {error}"),
            Self::Address => f.write_str("the request's address cannot be sent"),
        }
    }
}

impl Error for ConnectionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Connect(error) => error.source(),
            Self::Http(error) => error.source(),
            Self::Address => None,
        }
    }
}
