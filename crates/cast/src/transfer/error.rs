//! Errors of transfers.

use super::message::Code;
use crate::driver;
use crate::files;
use std::fmt;
use std::net::SocketAddr;

/// Reason why a transfer has failed.
#[derive(Debug)]
pub enum Error {
    /// An error in reading or writing files on this host.
    Files(files::Error),
    /// The other end has ended the transfer.
    Peer {
        /// Address of the other end.
        peer: SocketAddr,
        /// Category of the reason.
        code: Code,
        /// Reason as text.
        why: String,
    },
    /// The other end cannot be reached, or refuses objects.
    Unreachable {
        /// Address of the other end.
        peer: SocketAddr,
        /// Reason.
        failure: driver::Failure,
        /// Whether this end has a key.
        has_key: bool,
    },
    /// The connection to the other end was lost during the transfer.
    Lost {
        /// Address of the other end.
        peer: SocketAddr,
        /// Failure that showed the loss.
        failure: driver::Failure,
    },
    /// The other receivers have waited for this one too long.
    Dropped(SocketAddr),
    /// The other end violates the protocol.
    Broken {
        /// Address of the other end.
        peer: SocketAddr,
        /// Violation.
        why: &'static str,
    },
    /// No replica is left: each lacks the object, does not answer, or has failed. Contains the
    /// reason of each replica.
    NoReplica(Vec<Error>),
    /// The user has interrupted the transfer.
    Interrupted,
    /// The socket of this end has failed.
    Closed,
    /// The system has no thread or no random bytes left.
    System(std::io::Error),
}

impl Error {
    /// Returns the code that the other end gets.
    pub(super) fn code(&self) -> Code {
        match self {
            Self::Files(error) => match error.failure() {
                files::Failure::System => Code::System,
                files::Failure::Mismatch => Code::Mismatch,
                files::Failure::Refused => Code::Refused,
            },
            Self::Peer { code, .. } => *code,
            Self::Dropped(_) => Code::Dropped,
            Self::Broken { .. } => Code::Refused,
            // A replica's answer explains more than the silence of the other replicas.
            Self::NoReplica(all) => {
                let mut codes = all.iter().map(Self::code);
                let said = codes.find(|code| *code != Code::System);
                said.unwrap_or(Code::System)
            }
            Self::Interrupted => Code::Interrupted,
            Self::Unreachable { .. } | Self::Lost { .. } | Self::Closed | Self::System(_) => {
                Code::System
            }
        }
    }

    /// Returns the exit code of a process that ends with this error: 2 if a system fails or an end
    /// does not answer, 3 if hashes do not match, 4 if an end refuses, 130 if the user has
    /// interrupted this end.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted => 130,
            other => match other.code() {
                Code::Mismatch => 3,
                Code::Refused | Code::NotFound => 4,
                Code::System | Code::Interrupted | Code::Dropped => 2,
            },
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(error) => error.fmt(f),
            Self::Peer { peer, code, why } => match code {
                Code::Interrupted => write!(f, "{peer}: was interrupted there"),
                Code::Refused => write!(f, "{peer} refuses: {why}"),
                _ => write!(f, "{peer}: {why}"),
            },
            Self::Unreachable {
                peer,
                failure: driver::Failure::NoAnswer,
                has_key,
            } => {
                let key = match has_key {
                    true => "with the same key (an end with another key, or none, stays silent)",
                    false => "without a key (an end with --psk stays silent)",
                };
                write!(
                    f,
                    "{peer}: no answer; allowed: a `tailcut cast` that listens there, {key}, and a \
                     firewall that lets UDP through; run `tailcut cast check {peer}` to find the cause"
                )
            }
            Self::Unreachable { peer, failure, .. } => write!(f, "{peer}: {failure}"),
            Self::Lost {
                peer,
                failure: driver::Failure::NoAnswer,
            } => {
                write!(
                    f,
                    "{peer}: lost: it does not answer any more; the data received so far is kept"
                )
            }
            Self::Lost { peer, failure } => {
                write!(
                    f,
                    "{peer}: lost: {failure}; the data received so far is kept"
                )
            }
            Self::Dropped(peer) => write!(f, "{peer}: dropped, because the others waited too long"),
            Self::Broken { peer, why } => write!(f, "{peer} violates the protocol: {why}"),
            Self::NoReplica(said) => {
                let said: Vec<String> = said.iter().map(ToString::to_string).collect();
                write!(f, "no replica is left: {}", said.join("; "))
            }
            Self::Interrupted => f.write_str("interrupted"),
            Self::Closed => f.write_str("the socket has failed"),
            Self::System(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Files(error) => Some(error),
            Self::System(error) => Some(error),
            _ => None,
        }
    }
}

impl From<files::Error> for Error {
    fn from(error: files::Error) -> Self {
        Self::Files(error)
    }
}
