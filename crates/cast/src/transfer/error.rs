//! Errors of transfers.

use super::message::Code;
use crate::driver;
use crate::files;
use std::net::SocketAddr;
use std::time::Duration;

/// Reason why a transfer has failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// This host has failed to read or write files.
    #[error("{0}")]
    Files(#[from] files::Error),
    /// The other end has given up the transfer.
    #[error("{peer}{}", ended(*.code, .why))]
    Peer {
        /// Address of the other end.
        peer: SocketAddr,
        /// Category of the reason.
        code: Code,
        /// Reason as text.
        why: String,
    },
    /// The other end cannot be reached, or it refuses objects.
    #[error("{peer}: {}", unreachable(*.peer, *.failure, *.has_key))]
    Unreachable {
        /// Address of the other end.
        peer: SocketAddr,
        /// Reason why the other end cannot be reached.
        failure: driver::Failure,
        /// Whether this end has a key.
        has_key: bool,
    },
    /// The connection to the other end was lost during the transfer.
    #[error("{peer}: lost: {}; the data received so far is kept", lost(*.failure))]
    Lost {
        /// Address of the other end.
        peer: SocketAddr,
        /// Failure of the driver that has shown the loss.
        failure: driver::Failure,
    },
    /// The process of the other end has restarted, and the transfer cannot go on with its new process.
    #[error("{0}: its process has restarted; the data received so far is kept")]
    Restarted(SocketAddr),
    /// The other end has ended the transfer for a reason that this end has not learned.
    #[error("{0}: has ended the transfer; the data received so far is kept")]
    Forgotten(SocketAddr),
    /// This receiver was too slow, and the other receivers have waited for it too long.
    #[error("{0}: dropped, because the others waited too long")]
    Dropped(SocketAddr),
    /// The transfer made no progress, and too many others run.
    #[error("{0}: made no progress while others waited; the data received so far is kept")]
    Idle(SocketAddr),
    /// A replica has sent data that does not belong to the requested root.
    #[error(
        "{0}: its data does not match the root; has a file changed there since `serve` started?"
    )]
    Rotten(SocketAddr),
    /// The other end has violated the protocol.
    #[error("{peer} violates the protocol: {why}")]
    Broken {
        /// Address of the other end.
        peer: SocketAddr,
        /// Rule of the protocol that the other end has violated.
        why: &'static str,
    },
    /// No replica is left. Each replica lacks the data, does not answer, or has failed.
    /// The list contains the error of each replica.
    #[error("no replica is left: {}", reasons(.0))]
    NoReplica(Vec<Error>),
    /// The transfer has reached its time limit.
    #[error("not finished within {} s; the data received so far is kept", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The user has interrupted the transfer.
    #[error("interrupted")]
    Interrupted,
    /// The socket of this end has failed.
    #[error("the socket has failed")]
    Closed,
    /// The operating system has no thread or no random bytes left.
    #[error("{0}")]
    System(#[source] std::io::Error),
}

impl Error {
    /// Returns the code for this error. The code is sent to the other end.
    pub fn code(&self) -> Code {
        match self {
            Self::Files(error) => match error.failure() {
                files::Failure::System => Code::System,
                files::Failure::Mismatch => Code::Mismatch,
                files::Failure::Refused => Code::Refused,
            },
            Self::Peer { code, .. } => *code,
            Self::Dropped(_) | Self::Idle(_) => Code::Dropped,
            Self::Rotten(_) => Code::Mismatch,
            Self::Broken { .. } => Code::Refused,
            // If one replica has answered with a reason, this reason explains more than the silence of the others.
            Self::NoReplica(all) => {
                let mut codes = all.iter().map(Self::code);
                let said = codes.find(|code| *code != Code::System);
                said.unwrap_or(Code::System)
            }
            Self::Interrupted => Code::Interrupted,
            Self::Unreachable { .. }
            | Self::Lost { .. }
            | Self::Restarted(_)
            | Self::Forgotten(_)
            | Self::TimedOut(_)
            | Self::Closed
            | Self::System(_) => Code::System,
        }
    }

    /// Returns the error for the answer of an end that does not know the session.
    /// `known` is the number of the process that knew the session. `now` is the number of the process that answers.
    pub(super) fn unknown(peer: SocketAddr, known: Option<u64>, now: u64) -> Self {
        match known == Some(now) {
            true => Self::Forgotten(peer),
            false => Self::Restarted(peer),
        }
    }

    /// Returns the exit code of a process that ends with this error.
    /// 2: the system has failed, or an end does not answer. 3: hashes do not match.
    /// 4: an end has refused. 130: the user has interrupted this end.
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

fn ended(code: Code, why: &str) -> String {
    match code {
        Code::Interrupted => ": was interrupted there".to_owned(),
        Code::Refused => format!(" refuses: {why}"),
        _ => format!(": {why}"),
    }
}

fn unreachable(peer: SocketAddr, failure: driver::Failure, has_key: bool) -> String {
    let key = match (failure, has_key) {
        (driver::Failure::NoAnswer, true) => {
            "with the same key (an end with another key, or none, stays silent)"
        }
        (driver::Failure::NoAnswer, false) => "without a key (an end with --psk stays silent)",
        _ => return failure.to_string(),
    };
    format!(
        "no answer; allowed: a `tailcut cast` that listens there, {key}, and a firewall that lets \
         UDP through; run `tailcut cast check {peer}` to find the cause"
    )
}

fn lost(failure: driver::Failure) -> String {
    match failure {
        driver::Failure::NoAnswer => "it does not answer any more".to_owned(),
        failure => failure.to_string(),
    }
}

fn reasons(said: &[Error]) -> String {
    let said: Vec<String> = said.iter().map(ToString::to_string).collect();
    said.join("; ")
}
