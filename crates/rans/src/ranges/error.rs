//! Why a download failed.

use std::error::Error;
use std::fmt;

/// An error of another library.
pub type Cause = Box<dyn Error + Send + Sync>;

/// Why a replica was given up in a download.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// It could not be reached, reset, or ended its answer early, too often.
    Broken,
    /// It began an answer and stopped sending.
    Stalled,
    /// It answered with this status.
    Status(u16),
    /// Its object is another one: its entity tag, length or digest differs.
    Differs,
    /// Its object was replaced during the download (412).
    Replaced,
    /// The replica has no strong entity tag, or compresses: its bytes cannot be combined with bytes of other replicas.
    NotComparable,
    /// It answered a range with the whole object.
    IgnoresRanges,
    /// The replica sent another range than the requested one, or more bytes than it announced.
    WrongRange,
    /// Its bytes do not come to the digest that it told of them.
    WrongDigest,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "answered with {status}"),
            Self::Broken => f.write_str("broke off or could not be reached"),
            Self::Stalled => f.write_str("stopped sending"),
            Self::Differs => f.write_str("has another object (entity tag, length or digest)"),
            Self::Replaced => f.write_str("has replaced the object"),
            Self::NotComparable => f.write_str("has no strong entity tag, or compresses"),
            Self::IgnoresRanges => f.write_str("answered a range with the whole object"),
            Self::WrongRange => f.write_str("sent other bytes than it was asked for"),
            Self::WrongDigest => f.write_str("sent bytes that are not those of its digest"),
        }
    }
}

/// Why a download failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum RangesError {
    /// Every replica was given up: which one, and why. The error of the last one, if it was one of HTTP's.
    Replicas(Vec<(usize, Fault)>, Option<Cause>),
    /// The whole object does not match the digest that the origin sent.
    Digest,
    /// A digest is required, and the origin sends none.
    NoDigest,
    /// The object is larger than allowed: bytes, and the limit. The first is `None` where it is not known.
    TooLarge(Option<u64>, u64),
    /// A download was answered with a status that is none of success.
    Status(http::StatusCode),
    /// The body of a single answer broke off.
    Body(Cause),
    /// The place that bytes go to refused them.
    Place(std::io::Error),
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
                f.write_str("the bytes are not those of the digest that the origin told")
            }
            Self::NoDigest => f.write_str("the origin tells no digest of the object"),
            Self::TooLarge(Some(bytes), limit) => {
                write!(f, "the object has {bytes} bytes; {limit} are allowed")
            }
            Self::TooLarge(None, limit) => {
                write!(
                    f,
                    "the object has more than the {limit} bytes that are allowed"
                )
            }
            Self::Status(status) => write!(f, "the origin answered {status}"),
            Self::Body(_) => f.write_str("the answer broke off"),
            Self::Place(_) => f.write_str("the bytes cannot be written"),
        }
    }
}

impl Error for RangesError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Replicas(_, Some(cause)) | Self::Body(cause) => Some(&**cause),
            Self::Place(cause) => Some(cause),
            _ => None,
        }
    }
}
