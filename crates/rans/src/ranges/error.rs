//! Errors of downloads.

use std::error::Error;
use std::fmt;

/// Error of the origin or of another library.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Reason why a replica was given up in a download.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The replica repeatedly could not be reached, reset the request, or ended its answer early.
    Broken,
    /// The replica began an answer and then stopped sending.
    Stalled,
    /// The replica answered with this status instead of a part.
    Status(u16),
    /// The replica has another object: the entity tag, the length or the digest differs.
    Differs,
    /// The object was replaced during the download (412).
    Replaced,
    /// The replica has no strong entity tag, or compresses its answers.
    /// So its bytes cannot be combined with bytes of other replicas.
    NotComparable,
    /// The replica answered a range with the whole object.
    IgnoresRanges,
    /// The replica sent another range than requested, or more bytes than it had announced.
    WrongRange,
    /// The bytes do not match the digest that the replica sent with them.
    WrongDigest,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "answered with {status}"),
            Self::Broken => f.write_str("ended its answer early or could not be reached"),
            Self::Stalled => f.write_str("stopped sending"),
            Self::Differs => f.write_str("has another object (entity tag, length or digest)"),
            Self::Replaced => f.write_str("has replaced the object"),
            Self::NotComparable => {
                f.write_str("has no strong entity tag, or compresses its answers")
            }
            Self::IgnoresRanges => {
                f.write_str("answered the request for a range with the whole object")
            }
            Self::WrongRange => f.write_str("sent other bytes than the requested ones"),
            Self::WrongDigest => f.write_str("sent bytes that do not match its digest"),
        }
    }
}

/// Reason why a download failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum RangesError {
    /// All replicas were given up.
    /// The value contains the index and the fault of each replica, and the last HTTP error, if there was one.
    Replicas(Vec<(usize, Fault)>, Option<Cause>),
    /// The whole object does not match the digest that the origin sent.
    Digest,
    /// A digest is required, but the origin sends none.
    NoDigest,
    /// The object is larger than the limit.
    /// The value contains its size in bytes (`None`: unknown), and the limit in bytes.
    TooLarge(Option<u64>, u64),
    /// The origin answered a download with a status that is not a success.
    Status(http::StatusCode),
    /// The body of a single answer ended early.
    Body(Cause),
    /// The bytes could not be written to their destination.
    Destination(std::io::Error),
}

impl fmt::Display for RangesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replicas(faults, _) => {
                f.write_str("no replica is left")?;
                for (at, (replica, fault)) in faults.iter().enumerate() {
                    let before = if at == 0 { ": " } else { "; " };
                    write!(f, "{before}replica {replica} {fault}")?;
                }
                Ok(())
            }
            Self::Digest => {
                f.write_str("the bytes of the object do not match the digest that the origin sent")
            }
            Self::NoDigest => f.write_str("the origin sends no digest of the object"),
            Self::TooLarge(Some(bytes), limit) => {
                write!(
                    f,
                    "the object has {bytes} bytes; at most {limit} are allowed"
                )
            }
            Self::TooLarge(None, limit) => {
                write!(
                    f,
                    "the object has more than the {limit} bytes that are allowed"
                )
            }
            Self::Status(status) => write!(f, "the origin answered {status}"),
            Self::Body(_) => f.write_str("the answer ended early"),
            Self::Destination(_) => {
                f.write_str("the bytes of the object cannot be written to their destination")
            }
        }
    }
}

impl Error for RangesError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Replicas(_, Some(cause)) | Self::Body(cause) => Some(&**cause),
            Self::Destination(cause) => Some(cause),
            _ => None,
        }
    }
}
