//! The hash that shows two runs equal, and that of whatever is written.

use crate::cell::{Cell, Value};
use crate::row::Hashed;
use crate::{FlowRows, PacketCount, RequestRecord, RunTotals};
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
        flow.hash(&mut hash);
    }
    hash.totals(totals);
    let mut order: Vec<&RequestRecord> = requests.iter().collect();
    order.sort_by_key(|request| request.request);
    for request in order {
        request.hash(&mut hash);
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
pub(crate) struct Fields(XxHash3_128);

impl Fields {
    fn number(&mut self, value: u64) {
        self.0.write(&value.to_le_bytes());
    }

    /// One of a row, exact to the picosecond; before one that may be missing stands whether it is there.
    pub fn field<T: Cell>(&mut self, field: &T) {
        let number = match T::value(field, 1) {
            Value::Integer(number) => Some(number),
            _ => None,
        };
        if T::IS_OPTIONAL {
            self.number(number.is_some().into());
        }
        self.number(number.unwrap_or(0));
    }

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
            self.0.write(reason.as_bytes());
            self.count(*count);
        }
        // Runs without copies have the hashes that they had before there were any.
        if copied.packets > 0 {
            self.count(*copied);
        }
    }
}
