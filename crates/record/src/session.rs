//! Sessions: requests of storage clients, which take one transfer or several.

use crate::cell::{Class, words};
use crate::row::table;
use serde::{Deserialize, Serialize};
use tailcut_units::{Bytes, Duration, HostId, Time};

/// What a client wanted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SessionOperation {
    /// To put a block on several servers.
    #[default]
    Write,
    /// To get blocks.
    Read,
}

words!(SessionOperation: Write = "write", Read = "read");

/// Whether a receiver held the others of a one-to-many transfer up.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Straggling {
    /// No, or the transfer has no others.
    #[default]
    No,
    /// It did, and the application was told.
    Reported,
    /// It was left out.
    LeftOut,
}

words!(Straggling: No = "no", Reported = "reported", LeftOut = "left-out");

/// What became of a receiver of a session.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SessionEnd {
    /// The run ended first, or the receiver was left out.
    #[default]
    Open,
    /// It has everything.
    Whole,
    /// The transfer was given up.
    Failed,
}

words!(SessionEnd: Open = "open", Whole = "whole", Failed = "failed");

table! {
    /// One receiver of one session: a server of a write, the client of a read.
    #[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
    pub struct SessionRecord {
        /// The session's number; its receivers' rows follow one another.
        "session" session: u32,
        /// What the client wanted.
        "operation" operation: SessionOperation,
        /// The client.
        "client" client: HostId,
        /// Who receives.
        "receiver" receiver: HostId,
        /// The session's bytes, all of which this receiver is to get.
        "bytes" bytes: Bytes,
        /// When the client asked.
        "start_ns" start: Time,
        /// From `start` until this receiver had all of it, and in a daisy chain those before it too; `None`
        /// when the run ended first.
        "completion_ns" completion: Option<Duration>,
        /// Symbols that arrived here, whole or trimmed; 0 in transfers with one sender and one receiver.
        "symbols" symbols: u32,
        /// Of them, the ones that this receiver did not need, though it was not done yet.
        "in_vain" in_vain: u32,
        /// Symbols that arrived when this receiver had all of it, whole or trimmed; not among `symbols`.
        "late" late: u32,
        /// Whether it held the others up.
        "straggling" straggling: Straggling,
        /// What became of it.
        "end" end: SessionEnd,
        /// Of a read from several senders that failed: what the client had not got.
        "missing_bytes" missing: Option<Bytes>,
        /// Index into [`RunRecord::classes`](crate::RunRecord::classes).
        "class" class: u8 as Class,
    }
}

/// A session as a whole, from its receivers' rows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SessionOutcome {
    /// What the client wanted.
    pub operation: SessionOperation,
    /// Index into [`RunRecord::classes`](crate::RunRecord::classes).
    pub class: u8,
    /// The session's bytes.
    pub bytes: Bytes,
    /// From the client's request until the last receiver that was not left out had them; `None` when
    /// one of these, or all, had not got them.
    pub completion: Option<Duration>,
    /// The most symbols that came in vain for one of its receivers.
    pub in_vain: u32,
    /// Whether the transfer to some receiver was given up.
    pub failed: bool,
}

impl SessionOutcome {
    /// The sessions of rows in their order.
    pub fn of(rows: &[SessionRecord]) -> Vec<Self> {
        let sessions = rows.chunk_by(|a, b| a.session == b.session);
        sessions.filter_map(Self::of_one).collect()
    }

    fn of_one(rows: &[SessionRecord]) -> Option<Self> {
        let first = rows.first()?;
        let wanted = rows
            .iter()
            .filter(|row| row.straggling != Straggling::LeftOut || row.completion.is_some());
        let completions: Option<Vec<Duration>> = wanted.map(|row| row.completion).collect();
        let last = completions.and_then(|all| all.into_iter().max());
        Some(Self {
            operation: first.operation,
            class: first.class,
            bytes: first.bytes,
            completion: last,
            in_vain: rows.iter().map(|row| row.in_vain).max().unwrap_or(0),
            failed: rows.iter().any(|row| row.end == SessionEnd::Failed),
        })
    }

    /// The session's bytes over its completion time, in bits per second.
    pub fn goodput_bps(&self) -> Option<f64> {
        let span = self.completion?;
        Some(self.bytes.0 as f64 * 8.0 / span.as_secs_f64())
    }
}

/// The sessions of a run in short.
#[derive(Clone, Copy, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct SessionSummary {
    /// Sessions started.
    pub sessions: u64,
    /// Sessions of which some receiver had not got everything when the run ended.
    pub unfinished: u64,
    /// Of them, those of which a transfer was given up.
    #[serde(default)]
    pub failed: u64,
    /// The mean of the finished sessions' goodputs, in bits per second.
    pub mean_goodput_bps: Option<f64>,
    /// Symbols that arrived at receivers of transfers with several ends.
    pub symbols: u64,
    /// Of them, those that were sent in vain for their receiver.
    pub in_vain: u64,
    /// Symbols that arrived at a receiver that had everything; not among `symbols`.
    #[serde(default)]
    pub late: u64,
}

impl SessionSummary {
    /// The summary of these rows; `None` without any.
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
