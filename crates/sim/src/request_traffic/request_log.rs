//! Log of requests: their results, one row for each request.

use crate::recorder::Started;
use tailcut_record::RequestRecord;
use tailcut_requests::{Completion, CopyId, Departure, RequestId};
use tailcut_units::{Bytes, Duration, HostId, Time};
use tailcut_workload::Request;

/// Rows of requests by number, during the run.
pub(crate) struct RequestLog {
    rows: Vec<RequestRecord>,
    unfinished: usize,
    last_start: Time,
    /// Number of complete answers that a request needs. Bytes beyond this number of answers are wasted.
    quorum: u64,
}

impl RequestLog {
    pub fn new(quorum: u8) -> Self {
        Self {
            rows: Vec::new(),
            unfinished: 0,
            last_start: Time::ZERO,
            quorum: u64::from(quorum),
        }
    }

    /// Records the start of a request. Requests start in the order of their numbers.
    pub fn started(&mut self, request: &Request, client: HostId, server: HostId) {
        self.last_start = request.start;
        self.unfinished += 1;
        self.rows.push(RequestRecord {
            request: request.number,
            client,
            server,
            bytes: Bytes(request.bytes),
            start: request.start,
            ..RequestRecord::default()
        });
    }

    /// Records that a client sends a copy.
    pub fn copy_sent(&mut self, copy: CopyId) {
        if let Some(row) = self.row(copy.request) {
            row.copies += 1;
        }
    }

    /// Records the completion of a request.
    pub fn completed(&mut self, now: Time, completion: Completion) {
        self.unfinished -= 1;
        if let Some(row) = self.row(completion.request) {
            row.latency = Some(now.since(row.start));
            row.winner = Some(u32::from(completion.winner));
        }
    }

    /// Records that a copy has left its server.
    pub fn departed(&mut self, departure: Departure) {
        if let Some(row) = self.row(departure.copy.request) {
            row.sent.0 += departure.sent;
            row.service += departure.service;
            row.purged += u32::from(departure.is_purged);
            if let Some(latency) = row.latency {
                let since_end = departure.time.since(row.start.saturating_add(latency));
                row.purge = row.purge.max(Some(since_end));
            }
        }
    }

    /// Adds the time that a server has worked for a copy.
    pub fn served(&mut self, copy: CopyId, service: Duration) {
        if let Some(row) = self.row(copy.request) {
            row.service += service;
        }
    }

    /// Adds bytes of a copy's answer that a server has sent.
    pub fn sent(&mut self, copy: CopyId, bytes: u64) {
        if let Some(row) = self.row(copy.request) {
            row.sent.0 += bytes;
        }
    }

    /// Returns how many requests have started, and how many of them are unfinished.
    pub fn so_far(&self) -> Started {
        Started {
            started: self.rows.len() as u64,
            unfinished: self.unfinished as u64,
        }
    }

    /// Returns the start of the last request so far.
    pub fn last_start(&self) -> Time {
        self.last_start
    }

    /// Returns the rows of all requests. Each row includes the wasted bytes of the request.
    pub fn finish(mut self) -> Vec<RequestRecord> {
        for row in &mut self.rows {
            if row.latency.is_some() {
                row.wasted = Bytes(row.sent.0.saturating_sub(row.bytes.0 * self.quorum));
            }
        }
        self.rows
    }

    fn row(&mut self, request: RequestId) -> Option<&mut RequestRecord> {
        self.rows.get_mut(request.0 as usize)
    }
}
