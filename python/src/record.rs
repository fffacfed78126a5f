//! Finished run, and its conversion for reports.

use tailcut_report::Run;
use tailcut_scenario::record::{Row, RunRecord, RunSummary};

/// Record of a finished run, with its summary.
/// A summary that was read from a directory is more exact than its record, whose times are whole nanoseconds.
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
    /// Returns the run in the form that reports read from files, with times in whole nanoseconds.
    /// So a report from Python is equal to the command's report in every digit.
    pub fn for_report(&self) -> Run {
        let mut record = self.record.clone();
        round(&mut record.flows);
        round(&mut record.requests);
        round(&mut record.sessions);
        round(&mut record.coflows);
        let mut run = Run::from(&record);
        run.summary = self.summary.clone();
        run
    }
}

/// Rounds rows to the precision that files have.
fn round<R: Row>(rows: &mut [R]) {
    for row in rows {
        if let Some(rounded) = row.rounded() {
            *row = rounded;
        }
    }
}
