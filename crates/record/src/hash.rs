//! Hash of a run. Runs with equal results have equal hashes.

use crate::fields::{Fields, Hashed};
use crate::{FlowRows, PacketCount, RequestRecord, RunTotals};

/// Hashes `flows`, `totals` without `events`, and the requests, in this order.
/// Flows and requests are in the order of their numbers.
pub(crate) fn of_run(
    flows: &impl FlowRows,
    totals: &RunTotals,
    requests: &[RequestRecord],
) -> String {
    let mut hash = Fields::new();
    hash.number(flows.count() as u64);
    for flow in flows.in_order() {
        flow.hash(&mut hash);
    }
    hash.totals(totals);
    let mut order: Vec<&RequestRecord> = requests.iter().collect();
    order.sort_by_key(|request| request.request);
    for request in order {
        request.hash(&mut hash);
    }
    hash.digits()
}

impl Fields {
    fn count(&mut self, count: PacketCount) {
        self.number(count.packets);
        self.number(count.bytes);
    }

    fn totals(&mut self, totals: &RunTotals) {
        let RunTotals {
            packet_hops,
            events: _,
            sent,
            copied,
            delivered,
            drops,
            remaining,
            trimmed,
            returned,
            marks,
            simulated,
        } = totals;
        self.number(*packet_hops);
        self.count(*sent);
        self.count(*delivered);
        self.count(*remaining);
        self.count(*trimmed);
        self.count(*returned);
        self.number(*marks);
        self.number(simulated.as_ps());
        self.number(drops.0.len() as u64);
        for (reason, count) in &drops.0 {
            self.number(reason.len() as u64);
            self.bytes(reason.as_bytes());
            self.count(*count);
        }
        // Earlier versions did not count copies. A run without copies must have the same hash as in earlier versions.
        if copied.packets > 0 {
            self.count(*copied);
        }
    }
}
