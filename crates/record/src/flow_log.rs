//! Compact storage for the rows of flows during a run. When a flow has ended, its row needs a third of the memory.

mod codec;

use crate::{FlowRecord, FlowRows};
use std::fmt;
use tailcut_units::FlowId;

/// Rows of flows, indexed by the flows' numbers.
///
/// The row of an open flow is stored unpacked.
/// When the flow ends, [`FlowLog::end`] packs its row into about 25 bytes, exact to the picosecond.
/// The index needs eight more bytes for each flow. Ten million ended flows therefore need about 0.35 GB.
///
/// Iteration follows the order of the flows' numbers, not the order of their starts or ends.
#[derive(Clone, Default)]
pub struct FlowLog {
    /// Lowest number of a flow.
    first: u32,
    /// Locations of all rows, in the order of the flows' numbers from `first`.
    locations: Vec<RowLocation>,
    /// Rows of open flows.
    open: Vec<FlowRecord>,
    /// Unused indices of `open`.
    free: Vec<u32>,
    /// Packed rows. A row is never in two chunks. To grow, the log adds a chunk and copies nothing.
    /// Each chunk is twice as large as the previous chunk.
    /// The allocator returns large freed chunks to the operating system, but keeps small chunks in the process.
    chunks: Vec<Vec<u8>>,
    /// Used bytes of the last chunk.
    taken: usize,
    rows: usize,
}

/// Location of a flow's row.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum RowLocation {
    /// No row.
    #[default]
    Nowhere,
    /// Index into the open rows.
    Open(u32),
    /// Part of the flow with this number. A part does not have its own row.
    PartOf(u32),
    /// Packed row: the offset of its first byte over all chunks, split into two parts to save memory.
    Packed { high: u16, low: u32 },
}

/// Size of the first chunk in bytes.
const FIRST: u64 = 1 << 16;

/// Returns the offset of the first byte of chunk `number`.
const fn beginning(number: u32) -> u64 {
    FIRST * ((1 << number) - 1)
}

impl FlowLog {
    /// Creates an empty log.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates an empty log of flows whose numbers are `first` or higher.
    pub fn from_number(first: u32) -> Self {
        Self {
            first,
            ..Self::default()
        }
    }

    /// Adds the row of a flow that starts.
    pub fn begin(&mut self, row: FlowRecord) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.open[slot as usize] = row;
                slot
            }
            None => {
                self.open.push(row);
                self.open.len() as u32 - 1
            }
        };
        self.rows += 1;
        self.set_location(row.flow, RowLocation::Open(slot));
    }

    /// Marks the flow `part` as one of several parts of the flow `whole`. A part does not have its own row.
    pub fn is_part(&mut self, part: FlowId, whole: FlowId) {
        self.set_location(part, RowLocation::PartOf(whole.0));
    }

    fn set_location(&mut self, flow: FlowId, location: RowLocation) {
        let index = (flow.0 - self.first) as usize;
        if self.locations.len() <= index {
            self.locations.resize(index + 1, RowLocation::Nowhere);
        }
        self.locations[index] = location;
    }

    fn find(&self, flow: FlowId) -> (FlowId, RowLocation) {
        let at = |flow: FlowId| {
            let index = flow.0.checked_sub(self.first)?;
            self.locations.get(index as usize).copied()
        };
        match at(flow) {
            Some(RowLocation::PartOf(whole)) => {
                (FlowId(whole), at(FlowId(whole)).unwrap_or_default())
            }
            location => (flow, location.unwrap_or_default()),
        }
    }

    /// Returns the row of a flow. For a part of a flow, returns the row of the whole flow.
    pub fn get(&self, flow: FlowId) -> Option<FlowRecord> {
        let (flow, location) = self.find(flow);
        match location {
            RowLocation::Nowhere | RowLocation::PartOf(_) => None,
            RowLocation::Open(slot) => self.open.get(slot as usize).copied(),
            RowLocation::Packed { high, low } => Some(self.unpack(flow, high, low)),
        }
    }

    /// Changes the row of a flow. For a part of a flow, changes the row of the whole flow.
    /// Returns `None` for a flow without a row. The change must keep the flow's number.
    pub fn change<T>(
        &mut self,
        flow: FlowId,
        change: impl FnOnce(&mut FlowRecord) -> T,
    ) -> Option<T> {
        let (flow, location) = self.find(flow);
        match location {
            RowLocation::Nowhere | RowLocation::PartOf(_) => None,
            RowLocation::Open(slot) => self.open.get_mut(slot as usize).map(change),
            RowLocation::Packed { high, low } => {
                let before = self.unpack(flow, high, low);
                let mut after = before;
                let told = change(&mut after);
                if after != before {
                    self.pack_again(&before, &after, (high, low));
                }
                Some(told)
            }
        }
    }

    /// Packs the row of a flow that has ended.
    /// A packed row may change, but [`FlowLog::change`] is slower for packed rows.
    pub fn end(&mut self, flow: FlowId) {
        if let (flow, RowLocation::Open(slot)) = self.find(flow) {
            let row = self.open[slot as usize];
            self.free.push(slot);
            let location = self.pack(&row);
            self.set_location(flow, location);
        }
    }

    /// Packs a row after all packed rows.
    fn pack(&mut self, row: &FlowRecord) -> RowLocation {
        let room = self.chunks.last().map_or(0, Vec::len) - self.taken;
        if room < codec::LONGEST {
            let number = self.chunks.len() as u32;
            let size = beginning(number + 1) - beginning(number);
            self.chunks.push(vec![0; size as usize]);
            self.taken = 0;
        }
        let last = self.chunks.len() - 1;
        let byte = beginning(last as u32) + self.taken as u64;
        self.taken += codec::write(row, &mut self.chunks[last][self.taken..]);
        RowLocation::Packed {
            high: (byte >> 32) as u16,
            low: byte as u32,
        }
    }

    /// Packs a changed row again. The new row replaces the old row if both have the same length.
    fn pack_again(&mut self, before: &FlowRecord, after: &FlowRecord, (high, low): (u16, u32)) {
        let [mut old, mut new] = [[0; codec::LONGEST]; 2];
        let length = codec::write(after, &mut new);
        if codec::write(before, &mut old) == length {
            let (chunk, at) = chunk_of(high, low);
            self.chunks[chunk][at..at + length].copy_from_slice(&new[..length]);
        } else {
            let location = self.pack(after);
            self.set_location(after.flow, location);
        }
    }

    fn unpack(&self, flow: FlowId, high: u16, low: u32) -> FlowRecord {
        let (chunk, at) = chunk_of(high, low);
        codec::read(flow, &self.chunks[chunk][at..])
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the highest flow number plus one. Without flows, this is the first number.
    pub fn numbers(&self) -> u32 {
        self.first + self.locations.len() as u32
    }

    /// Returns the rows in the order of the flows' numbers.
    pub fn iter(&self) -> impl Iterator<Item = FlowRecord> + '_ {
        let numbers = (self.first..).zip(&self.locations);
        let of_its_own =
            numbers.filter(|(_, location)| !matches!(location, RowLocation::PartOf(_)));
        of_its_own.filter_map(|(number, _)| self.get(FlowId(number)))
    }
}

/// Returns the chunk of a byte and the byte's offset within that chunk.
fn chunk_of(high: u16, low: u32) -> (usize, usize) {
    let byte = u64::from(high) << 32 | u64::from(low);
    let chunk = (byte / FIRST + 1).ilog2();
    (chunk as usize, (byte - beginning(chunk)) as usize)
}

impl FlowRows for FlowLog {
    fn count(&self) -> usize {
        self.rows
    }

    fn rows(&self) -> impl Iterator<Item = FlowRecord> + '_ {
        self.iter()
    }

    fn in_order(&self) -> impl Iterator<Item = FlowRecord> + '_ {
        self.iter()
    }
}

impl From<FlowLog> for Vec<FlowRecord> {
    fn from(log: FlowLog) -> Self {
        let mut rows = Self::with_capacity(log.rows);
        rows.extend(log.iter());
        rows
    }
}

impl fmt::Debug for FlowLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for FlowLog {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_row_is_takes_eight_bytes() {
        assert_eq!(size_of::<RowLocation>(), 8);
    }
}
