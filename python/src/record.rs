//! Finished run, and its form in reports.

use tailcut_report::Run;
use tailcut_scenario::record::{Row, RunRecord, RunSummary};

/// Finished run. A summary from a directory has more than the record next to it, whose times are whole nanoseconds.
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
    /// Returns the run as reports read it from files, with times in whole nanoseconds. Reports here then equal the
    /// command's reports to the last digit.
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

/// Rounds rows to the values that files contain.
fn round<R: Row>(rows: &mut [R]) {
    for row in rows {
        if let Some(rounded) = row.rounded() {
            *row = rounded;
        }
    }
}
