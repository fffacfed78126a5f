//! The hash that shows two runs equal, and that of whatever is written.

use crate::{FlowRecord, FlowRows, PacketCount, RequestRecord, RunTotals};
use std::fmt;
use std::io;
use twox_hash::XxHash3_128;

/// Hashes `flows` in flow order, then `totals` without `events`, then the requests in their order where
/// there are any.
pub(crate) fn of_run(
    flows: &impl FlowRows,
    totals: &RunTotals,
    requests: &[RequestRecord],
) -> String {
    let mut hash = Fields(XxHash3_128::with_seed(0));
    hash.number(flows.count() as u64);
    for flow in flows.in_order() {
        hash.flow(&flow);
    }
    hash.totals(totals);
    let mut order: Vec<&RequestRecord> = requests.iter().collect();
    order.sort_by_key(|request| request.request);
    for request in order {
        hash.request(request);
    }
    format!("{:032x}", hash.0.finish_128())
}

/// The hash of what is written into it: 32 hexadecimal digits (XXH3-128). It tells apart what
/// differs by accident, not what somebody forged.
#[derive(Clone, Default)]
pub struct Fingerprint(XxHash3_128);

impl Fingerprint {
    /// Of nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The hash of everything so far.
    pub fn digits(&self) -> String {
        format!("{:032x}", self.0.finish_128())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Fingerprint").field(&self.digits()).finish()
    }
}

impl fmt::Write for Fingerprint {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl io::Write for Fingerprint {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Every field enters as eight little-endian bytes, so that no two sequences of fields look alike.
struct Fields(XxHash3_128);

impl Fields {
    fn number(&mut self, value: u64) {
        self.0.write(&value.to_le_bytes());
    }

    fn optional(&mut self, value: Option<u64>) {
        self.number(u64::from(value.is_some()));
        self.number(value.unwrap_or(0));
    }

    fn count(&mut self, count: PacketCount) {
        self.number(count.packets);
        self.number(count.bytes);
    }

    fn flow(&mut self, flow: &FlowRecord) {
        let FlowRecord {
            flow,
            src,
            dst,
            bytes,
            start,
            fct,
            ideal_fct,
            handshake,
            payload_sent,
            retransmissions,
            timeouts,
            copies,
            class,
        } = *flow;
        for id in [flow.0, src.0, dst.0] {
            self.number(u64::from(id));
        }
        self.number(bytes.0);
        self.number(start.as_ps());
        self.optional(fct.map(|span| span.as_ps()));
        self.number(ideal_fct.as_ps());
        self.optional(handshake.map(|span| span.as_ps()));
        self.number(payload_sent.0);
        for count in [retransmissions, timeouts, copies, u32::from(class)] {
            self.number(u64::from(count));
        }
    }

    fn request(&mut self, request: &RequestRecord) {
        let RequestRecord {
            request,
            client,
            server,
            bytes,
            start,
            latency,
            copies,
            winner,
            sent,
            wasted,
            service,
            purged,
            purge,
        } = *request;
        for number in [request, client.0, server.0, copies, purged] {
            self.number(u64::from(number));
        }
        for bytes in [bytes, sent, wasted] {
            self.number(bytes.0);
        }
        self.number(start.as_ps());
        self.number(service.as_ps());
        self.optional(winner.map(u64::from));
        self.optional(latency.map(|span| span.as_ps()));
        self.optional(purge.map(|span| span.as_ps()));
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
            self.0.write(reason.as_bytes());
            self.count(*count);
        }
        // Runs without copies have the hashes that they had before there were any.
        if copied.packets > 0 {
            self.count(*copied);
        }
    }
}
