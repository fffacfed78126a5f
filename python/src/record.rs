//! A finished run, and how reports see it.

use tailcut_report::Run;
use tailcut_scenario::record::{RunRecord, RunSummary};
use tailcut_scenario::units::{Duration, Time};

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
        for flow in &mut record.flows {
            flow.start = to_ns(flow.start);
            flow.fct = flow.fct.map(span_to_ns);
            flow.ideal_fct = span_to_ns(flow.ideal_fct);
            flow.handshake = flow.handshake.map(span_to_ns);
        }
        for request in &mut record.requests {
            request.start = to_ns(request.start);
            request.latency = request.latency.map(span_to_ns);
            request.service = span_to_ns(request.service);
            request.purge = request.purge.map(span_to_ns);
        }
        for session in &mut record.sessions {
            session.start = to_ns(session.start);
            session.completion = session.completion.map(span_to_ns);
        }
        let mut run = Run::from(&record);
        run.summary = self.summary.clone();
        run
    }
}

const fn to_ns(time: Time) -> Time {
    Time::from_ns(time.as_ns())
}

const fn span_to_ns(span: Duration) -> Duration {
    Duration::from_ns(span.as_ns())
}
