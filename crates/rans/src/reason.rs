//! Reasons why a request has failed, for logs and metrics.

use crate::connections::ConnectionError;
use crate::upload::Fault;
use http::StatusCode;
use std::error::Error;
use std::io;
use tailcut_proxy::tls::{self, TlsFault};

/// Reason why a request has failed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Reason {
    /// The server refused the connection.
    Refused,
    /// No packet reaches the server, or its name has no address.
    Unreachable,
    /// The server did not accept a connection in time.
    ConnectTimeout,
    /// The server's certificate has expired, or is not valid yet.
    CertificateExpired,
    /// The server's certificate does not contain the server's name.
    CertificateName,
    /// The server's certificate comes from an unknown authority, or is not valid in another way.
    CertificateUntrusted,
    /// TLS failed for another reason.
    Tls,
    /// The server ended the connection before its answer.
    Reset,
    /// The server did not begin its answer in time.
    AnswerTimeout,
    /// The server ended its answer early.
    AnswerCut,
    /// The server stopped to send its answer.
    AnswerStalled,
    /// The answer to a call of gRPC has a code that is not fatal.
    #[cfg(feature = "gateway")]
    Code,
    /// Too many requests are open.
    OverLimit,
    /// The queue of the guard is full.
    #[cfg(feature = "guard")]
    QueueFull,
    /// No worker was free in time.
    #[cfg(feature = "guard")]
    QueueTimeout,
    /// Optional work was refused, because no worker was idle.
    #[cfg(feature = "guard")]
    Optional,
    /// The request waited for its client, and another client needed the worker.
    Displaced,
    /// The client left before the end of its answer.
    ClientGone,
    /// No route takes the request.
    NoRoute,
    /// The request is not valid.
    BadRequest,
    /// The request needs a function that this program does not have.
    Unsupported,
    /// The body of the request came too slowly.
    BodySlow,
    /// The body of the request is too long.
    BodyTooLong,
}

impl Reason {
    /// Returns the name in logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::ConnectTimeout => "connect-timeout",
            Self::CertificateExpired => "certificate-expired",
            Self::CertificateName => "certificate-name",
            Self::CertificateUntrusted => "certificate-untrusted",
            Self::Tls => "tls",
            Self::Reset => "reset",
            Self::AnswerTimeout => "answer-timeout",
            Self::AnswerCut => "answer-cut",
            Self::AnswerStalled => "answer-stalled",
            #[cfg(feature = "gateway")]
            Self::Code => "grpc-code",
            Self::OverLimit => "over-limit",
            #[cfg(feature = "guard")]
            Self::QueueFull => "queue-full",
            #[cfg(feature = "guard")]
            Self::QueueTimeout => "queue-timeout",
            #[cfg(feature = "guard")]
            Self::Optional => "optional",
            Self::Displaced => "displaced",
            Self::ClientGone => "client-gone",
            Self::NoRoute => "no-route",
            Self::BadRequest => "bad-request",
            Self::Unsupported => "unsupported",
            Self::BodySlow => "body-slow",
            Self::BodyTooLong => "body-too-long",
        }
    }

    /// Whether the client is at fault.
    pub const fn is_of_client(self) -> bool {
        matches!(
            self,
            Self::Displaced
                | Self::ClientGone
                | Self::NoRoute
                | Self::BadRequest
                | Self::Unsupported
                | Self::BodySlow
                | Self::BodyTooLong
        )
    }

    /// Returns the reason of an answer that the program itself gave with this status, without asking a server.
    pub fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND => Self::NoRoute,
            StatusCode::REQUEST_TIMEOUT => Self::BodySlow,
            StatusCode::PAYLOAD_TOO_LARGE => Self::BodyTooLong,
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => Self::Unsupported,
            StatusCode::SERVICE_UNAVAILABLE => Self::OverLimit,
            StatusCode::BAD_GATEWAY => Self::Unreachable,
            StatusCode::GATEWAY_TIMEOUT => Self::AnswerTimeout,
            _ => Self::BadRequest,
        }
    }
}

/// A fault of TLS can be the cause of any error of a connection: with TLS 1.3 a server checks the certificate of its
/// client only after the client has finished the handshake.
fn of_tls(error: &(dyn Error + 'static)) -> Option<Reason> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let fault = error.downcast_ref::<io::Error>().and_then(tls::fault);
        if let Some(fault) = fault {
            return Some(match fault {
                TlsFault::Expired => Reason::CertificateExpired,
                TlsFault::Name => Reason::CertificateName,
                TlsFault::Untrusted => Reason::CertificateUntrusted,
                TlsFault::Other => Reason::Tls,
            });
        }
        cause = error.source();
    }
    None
}

impl From<&ConnectionError> for Reason {
    fn from(error: &ConnectionError) -> Self {
        match error {
            ConnectionError::Connect(cause) => of_tls(&**cause).unwrap_or_else(|| {
                let kind = cause.downcast_ref().map(io::Error::kind);
                match kind {
                    Some(io::ErrorKind::ConnectionRefused) => Self::Refused,
                    Some(io::ErrorKind::TimedOut) => Self::ConnectTimeout,
                    Some(io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof) => {
                        Self::Reset
                    }
                    _ => Self::Unreachable,
                }
            }),
            ConnectionError::Http(cause) => of_tls(&**cause).unwrap_or(Self::Reset),
            ConnectionError::Address => Self::BadRequest,
        }
    }
}

impl From<Fault> for Reason {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::TooLong => Self::BodyTooLong,
            Fault::Stalled => Self::BodySlow,
            Fault::Cut => Self::BadRequest,
            Fault::Displaced => Self::Displaced,
        }
    }
}
