//! Sessions: requests of storage clients, each with one or more transfers.

use crate::cell::{Class, words};
use crate::row::table;
use serde::{Deserialize, Serialize};
use tailcut_units::{Bytes, Duration, HostId, Time};

/// Kind of a session.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionOperation {
    /// The client writes a block to several servers.
    #[default]
    Write,
    /// The client reads blocks.
    Read,
}

words!(SessionOperation: Write = "write", Read = "read");

/// Whether a receiver delayed the other receivers of a one-to-many transfer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Straggling {
    /// The receiver did not delay other receivers, or the transfer has only one receiver.
    #[default]
    No,
    /// The receiver delayed other receivers, and the sender reported this to the application.
    Reported,
    /// The sender removed the receiver from the transfer.
    LeftOut,
}

words!(Straggling: No = "no", Reported = "reported", LeftOut = "left-out");

/// Final state of a session's receiver.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SessionEnd {
    /// The run ended before the transfer, or the receiver was removed from the transfer.
    #[default]
    Open,
    /// The receiver has all bytes.
    Whole,
    /// The transfer was aborted.
    Failed,
}

words!(SessionEnd: Open = "open", Whole = "whole", Failed = "failed");

table! {
    /// Receiver of a session: a server in a write, the client in a read.
    #[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct SessionRecord {
        /// Number of the session. The rows of its receivers follow each other.
        "session" session: u32,
        /// Kind of the session.
        "operation" operation: SessionOperation,
        /// Client of the session.
        "client" client: HostId,
        /// Receiving host.
        "receiver" receiver: HostId,
        /// Size of the session in bytes. Each receiver gets all bytes.
        "bytes" bytes: Bytes,
        /// Time of the client's request.
        "start_ns" start: Time,
        /// Time from `start` until this receiver had all bytes; `None`: the run ended first.
        /// In a daisy chain, the completion time ends when all earlier receivers of the chain also have all bytes.
        "completion_ns" completion: Option<Duration>,
        /// Symbols, complete or trimmed, that arrived before the receiver had all bytes.
        /// The value is 0 in transfers with one sender and one receiver.
        "symbols" symbols: u32,
        /// Part of `symbols` that the receiver did not need.
        "in_vain" in_vain: u32,
        /// Symbols, complete or trimmed, that arrived after the receiver had all bytes.
        /// `symbols` does not include late symbols.
        "late" late: u32,
        /// Whether the receiver delayed the other receivers.
        "straggling" straggling: Straggling,
        /// Final state of the receiver.
        "end" end: SessionEnd,
        /// Bytes that the client did not receive in a failed read from several senders.
        "missing_bytes" missing: Option<Bytes>,
        /// Index into [`RunRecord::classes`](crate::RunRecord::classes).
        "class" class: u8 as Class,
    }
}

/// Result of a session, computed from the rows of its receivers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SessionOutcome {
    /// Number of the session.
    pub session: u32,
    /// Kind of the session.
    pub operation: SessionOperation,
    /// Index into [`RunRecord::classes`](crate::RunRecord::classes).
    pub class: u8,
    /// Time of the client's request.
    pub start: Time,
    /// Size of the session in bytes.
    pub bytes: Bytes,
    /// Time from the client's request until all receivers had all bytes.
    /// Receivers that were removed from the transfer are not included.
    /// `None`: a receiver did not get all bytes, or all receivers were removed.
    pub completion: Option<Duration>,
    /// Largest number of unneeded symbols at one receiver.
    pub in_vain: u32,
    /// Whether the transfer to at least one receiver was aborted.
    pub failed: bool,
}

impl SessionOutcome {
    /// Groups `rows` by session. The sessions keep the order of their rows.
    pub fn of(rows: &[SessionRecord]) -> Vec<Self> {
        let sessions = rows.chunk_by(|a, b| a.session == b.session);
        sessions.filter_map(Self::of_one).collect()
    }

    fn of_one(rows: &[SessionRecord]) -> Option<Self> {
        let first = rows.first()?;
        let wanted = rows
            .iter()
            // A receiver that was removed from the transfer may have received all bytes before its removal.
            .filter(|row| row.straggling != Straggling::LeftOut || row.completion.is_some());
        let completions: Option<Vec<Duration>> = wanted.map(|row| row.completion).collect();
        let last = completions.and_then(|all| all.into_iter().max());
        Some(Self {
            session: first.session,
            operation: first.operation,
            class: first.class,
            start: first.start,
            bytes: first.bytes,
            completion: last,
            in_vain: rows.iter().map(|row| row.in_vain).max().unwrap_or(0),
            failed: rows.iter().any(|row| row.end == SessionEnd::Failed),
        })
    }

    /// Returns the session's size divided by its completion time, in bits per second.
    pub fn goodput_bps(&self) -> Option<f64> {
        let span = self.completion?;
        Some(self.bytes.0 as f64 * 8.0 / span.as_secs_f64())
    }
}

/// Summary of a run's sessions.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Number of started sessions.
    pub sessions: u64,
    /// Number of sessions in which at least one receiver did not get all bytes before the end of the run.
    pub unfinished: u64,
    /// Number of unfinished sessions in which a transfer was aborted.
    #[serde(default)]
    pub failed: u64,
    /// Mean goodput of the finished sessions, in bits per second.
    pub mean_goodput_bps: Option<f64>,
    /// Symbols that arrived at the receivers of transfers with several senders or receivers.
    pub symbols: u64,
    /// Part of `symbols` that the receivers did not need.
    pub in_vain: u64,
    /// Symbols that arrived after the receiver had all bytes. `symbols` does not include late symbols.
    #[serde(default)]
    pub late: u64,
}

impl SessionSummary {
    /// Computes the summary of `rows`. Returns `None` if there are no rows.
    pub fn of(rows: &[SessionRecord]) -> Option<Self> {
        let outcomes = SessionOutcome::of(rows);
        let goodputs: Vec<f64> = outcomes
            .iter()
            .filter_map(SessionOutcome::goodput_bps)
            .collect();
        let sum =
            |count: fn(&SessionRecord) -> u32| rows.iter().map(|row| u64::from(count(row))).sum();
        (!rows.is_empty()).then(|| Self {
            sessions: outcomes.len() as u64,
            unfinished: (outcomes.len() - goodputs.len()) as u64,
            failed: outcomes.iter().filter(|session| session.failed).count() as u64,
            mean_goodput_bps: (!goodputs.is_empty())
                .then(|| goodputs.iter().sum::<f64>() / goodputs.len() as f64),
            symbols: sum(|row| row.symbols),
            in_vain: sum(|row| row.in_vain),
            late: sum(|row| row.late),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(session: u32, completion_us: Option<u64>, straggling: Straggling) -> SessionRecord {
        SessionRecord {
            session,
            bytes: Bytes(1_000),
            completion: completion_us.map(Duration::from_us),
            in_vain: session,
            straggling,
            ..SessionRecord::default()
        }
    }

    #[test]
    fn a_session_ends_with_its_last_receiver_and_not_with_one_that_was_left_out() {
        let rows = [
            row(0, Some(4), Straggling::No),
            row(0, Some(8), Straggling::Reported),
            row(1, Some(2), Straggling::No),
            row(1, None, Straggling::LeftOut),
            row(2, Some(1), Straggling::No),
            row(2, None, Straggling::No),
        ];
        let goodputs: Vec<_> = SessionOutcome::of(&rows)
            .iter()
            .map(SessionOutcome::goodput_bps)
            .collect();
        assert_eq!(goodputs, [Some(1e9), Some(4e9), None]);
        let summary = SessionSummary::of(&rows).expect("rows");
        assert_eq!((summary.sessions, summary.unfinished), (3, 1));
        assert_eq!(summary.failed, 0);
        assert_eq!(summary.mean_goodput_bps, Some(2.5e9));
        assert_eq!(summary.in_vain, 6);
        assert_eq!(SessionSummary::of(&[]), None);
    }

    #[test]
    fn a_session_has_failed_if_the_transfer_to_one_of_its_receivers_was_given_up() {
        let given_up = SessionRecord {
            end: SessionEnd::Failed,
            ..row(1, None, Straggling::No)
        };
        let rows = [
            row(0, None, Straggling::No),
            row(1, Some(2), Straggling::No),
            given_up,
        ];
        let summary = SessionSummary::of(&rows).expect("rows");
        assert_eq!((summary.unfinished, summary.failed), (2, 1));
    }
}
