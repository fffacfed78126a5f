//! A finished run, and how reports see it.

use tailcut_report::Run;
use tailcut_scenario::record::{Row, RunRecord, RunSummary};

/// A finished run. A summary that was read from a directory knows more than the record beside it,
/// whose times are whole nanoseconds.
pub struct Finished {
    pub record: RunRecord,
    pub summary: RunSummary,
}

impl From<RunRecord> for Finished {
    fn from(record: RunRecord) -> Self {
        Self {
            summary: record.summary(),
            record,
        }
    }
}

impl Finished {
    /// The run as a report reads it from files, where times are whole nanoseconds: so it says here,
    /// to the last digit, what the command prints.
    pub fn for_report(&self) -> Run {
        let mut record = self.record.clone();
        round(&mut record.flows);
        round(&mut record.requests);
        round(&mut record.sessions);
        let mut run = Run::from(&record);
        run.summary = self.summary.clone();
        run
    }
}

/// Replaces rows by the rows that files keep.
fn round<R: Row>(rows: &mut [R]) {
    for row in rows {
        if let Some(rounded) = row.rounded() {
            *row = rounded;
        }
    }
}
