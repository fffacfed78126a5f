//! Rows of flows while a run goes on: what has ended takes a third of the memory.

mod codec;

use crate::{FlowRecord, FlowRows};
use std::fmt;
use tailcut_units::FlowId;

/// Rows of flows, found by their numbers.
///
/// A row that changes is kept as it is. Once its flow has ended, [`FlowLog::end`] packs it into some
/// 25 bytes, picoseconds included; eight more say where it is. So a run of ten million flows
/// takes about 0.35 GB for them, however many of them are under way at once.
///
/// Rows come out in the order of the flows' numbers, whatever the order in which they began and ended.
#[derive(Clone, Default)]
pub struct FlowLog {
    /// By the flow's number.
    places: Vec<Place>,
    /// Rows of flows that have not ended.
    open: Vec<FlowRecord>,
    /// Places among these that are free.
    free: Vec<u32>,
    /// Packed rows, which lie whole in one of the chunks, each twice as large as the one before. So
    /// nothing is copied as it grows, and most of it goes back to the system at its end: smaller
    /// pieces of memory would stay with the process.
    chunks: Vec<Vec<u8>>,
    /// Bytes of the last chunk that are taken.
    taken: usize,
    rows: usize,
}

/// Where the row of a flow is.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    /// There is none.
    #[default]
    Nowhere,
    /// Among the open rows.
    Open(u32),
    /// It is part of the flow with this number and has no row of its own.
    PartOf(u32),
    /// Packed: the number of the byte that it begins at.
    Packed { high: u16, low: u32 },
}

/// Bytes of the first chunk.
const FIRST: u64 = 1 << 16;

/// The number of the byte that chunk `number` begins at.
const fn beginning(number: u32) -> u64 {
    FIRST * ((1 << number) - 1)
}

impl FlowLog {
    /// Without a row.
    pub fn new() -> Self {
        Self::default()
    }

    /// A flow begins.
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
        self.place(row.flow, Place::Open(slot));
    }

    /// The flow `part` has no row of its own: it is one of several that make up the flow `whole`.
    pub fn is_part(&mut self, part: FlowId, whole: FlowId) {
        self.place(part, Place::PartOf(whole.0));
    }

    fn place(&mut self, flow: FlowId, place: Place) {
        let number = flow.0 as usize;
        if self.places.len() <= number {
            self.places.resize(number + 1, Place::Nowhere);
        }
        self.places[number] = place;
    }

    fn find(&self, flow: FlowId) -> (FlowId, Place) {
        let at = |flow: FlowId| self.places.get(flow.0 as usize).copied();
        match at(flow) {
            Some(Place::PartOf(whole)) => (FlowId(whole), at(FlowId(whole)).unwrap_or_default()),
            place => (flow, place.unwrap_or_default()),
        }
    }

    /// The row of a flow, or of the flow that it is part of.
    pub fn get(&self, flow: FlowId) -> Option<FlowRecord> {
        let (flow, place) = self.find(flow);
        match place {
            Place::Nowhere | Place::PartOf(_) => None,
            Place::Open(slot) => self.open.get(slot as usize).copied(),
            Place::Packed { high, low } => Some(self.unpack(flow, high, low)),
        }
    }

    /// Changes the row of a flow, or of the flow that it is part of; `None` where there is none. The
    /// number must stay.
    pub fn change<T>(
        &mut self,
        flow: FlowId,
        change: impl FnOnce(&mut FlowRecord) -> T,
    ) -> Option<T> {
        let (flow, place) = self.find(flow);
        match place {
            Place::Nowhere | Place::PartOf(_) => None,
            Place::Open(slot) => self.open.get_mut(slot as usize).map(change),
            Place::Packed { high, low } => {
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

    /// The flow has ended: its row will hardly change any more.
    pub fn end(&mut self, flow: FlowId) {
        if let (flow, Place::Open(slot)) = self.find(flow) {
            let row = self.open[slot as usize];
            self.free.push(slot);
            let place = self.pack(&row);
            self.place(flow, place);
        }
    }

    /// Packs a row behind the others.
    fn pack(&mut self, row: &FlowRecord) -> Place {
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
        Place::Packed {
            high: (byte >> 32) as u16,
            low: byte as u32,
        }
    }

    /// Packs a row that has changed: in its place where it is as long as before.
    fn pack_again(&mut self, before: &FlowRecord, after: &FlowRecord, (high, low): (u16, u32)) {
        let [mut old, mut new] = [[0; codec::LONGEST]; 2];
        let length = codec::write(after, &mut new);
        if codec::write(before, &mut old) == length {
            let (chunk, at) = chunk_of(high, low);
            self.chunks[chunk][at..at + length].copy_from_slice(&new[..length]);
        } else {
            let place = self.pack(after);
            self.place(after.flow, place);
        }
    }

    fn unpack(&self, flow: FlowId, high: u16, low: u32) -> FlowRecord {
        let (chunk, at) = chunk_of(high, low);
        codec::read(flow, &self.chunks[chunk][at..])
    }

    /// How many flows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// One above the highest number of a flow, 0 without any.
    pub fn numbers(&self) -> u32 {
        self.places.len() as u32
    }

    /// The rows in the order of the flows' numbers.
    pub fn iter(&self) -> impl Iterator<Item = FlowRecord> + '_ {
        let numbers = (0..).zip(&self.places);
        let of_its_own = numbers.filter(|(_, place)| !matches!(place, Place::PartOf(_)));
        of_its_own.filter_map(|(number, _)| self.get(FlowId(number)))
    }
}

/// The chunk of a byte, and where in it the byte is.
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
        assert_eq!(size_of::<Place>(), 8);
    }
}
