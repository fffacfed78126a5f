//! What can go wrong with a transfer.

use super::message::Code;
use crate::driver;
use crate::files;
use std::fmt;
use std::net::SocketAddr;

/// Why a transfer has failed.
#[derive(Debug)]
pub enum Error {
    /// Files at this end.
    Files(files::Error),
    /// The other end has given up, and says why.
    Peer {
        /// The other end.
        peer: SocketAddr,
        /// What kind of reason.
        code: Code,
        /// In words.
        why: String,
    },
    /// The other end cannot be reached, or does not take what is sent.
    Unreachable {
        /// The other end.
        peer: SocketAddr,
        /// Why.
        failure: driver::Failure,
        /// Whether this end has a key.
        has_key: bool,
    },
    /// The other end was there, and is no longer.
    Lost {
        /// The other end.
        peer: SocketAddr,
        /// How that was noticed.
        failure: driver::Failure,
    },
    /// Others have waited for it too long.
    Dropped(SocketAddr),
    /// The other end breaks the rules of the protocol.
    Broken {
        /// The other end.
        peer: SocketAddr,
        /// How.
        why: &'static str,
    },
    /// No replica has what was asked for, or none answers: why, for each of them.
    NoReplica(Vec<Error>),
    /// The user has interrupted it.
    Interrupted,
    /// This end's socket has failed.
    Closed,
    /// The system has no thread or no random numbers.
    System(std::io::Error),
}

impl Error {
    /// What the other end is told.
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
            // What somebody has said is more than that others say nothing.
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

    /// The exit code of a process for which this was all: 2 where a system fails or nobody answers, 3
    /// where hashes do not agree, 4 where an end refuses, 130 when interrupted here.
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
                     firewall that lets UDP through; `tailcut cast check {peer}` tells more"
                )
            }
            Self::Unreachable { peer, failure, .. } => write!(f, "{peer}: {failure}"),
            Self::Lost {
                peer,
                failure: driver::Failure::NoAnswer,
            } => {
                write!(
                    f,
                    "{peer}: lost: it answers no longer; what has arrived is kept"
                )
            }
            Self::Lost { peer, failure } => {
                write!(f, "{peer}: lost: {failure}; what has arrived is kept")
            }
            Self::Dropped(peer) => write!(f, "{peer}: dropped, the others waited for it too long"),
            Self::Broken { peer, why } => write!(f, "{peer} breaks the protocol: {why}"),
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
