//! Object that is being received, in memory. Each symbol is stored at its offset.

use super::buffer_budget::{BufferBudget, Reservation};
use super::outgoing::block_range;
use crate::codec::{Codes, Present, Recovery};
use tailcut_transport::scdp::{Attempt, Job, MAX_ESI, Object};
use tailcut_units::{Duration, FlowId, Time};

/// Number of spare repair symbols that a block may store, beyond one for each missing source symbol.
/// These spare symbols are needed because K symbols may not be enough to decode.
/// More spare symbols would use memory without a benefit.
const SPARE: u32 = 16;
/// Size of the buffer for symbols of a sender whose address is not validated.
/// The unit is the number of symbols that the sender pushes.
/// The symbols of the first two pulls may arrive before the answer to the token, so they need space too.
const EARLY: u64 = 4;
/// Memory that is reserved for an object before its symbols arrive, in bytes.
const FIRST: u64 = 64 << 10;
/// Ratio of the reserved memory to the bytes that have arrived.
/// The kernel provides memory in pages of 4 KiB, so a symbol may take several times its own size.
const SPREAD: u64 = 4;
/// Age at which an object is old enough to be compared with others. The rate of a younger object says little.
const SETTLED: Duration = Duration::from_ms(2_000);

/// State of a block of an object that is being received.
#[derive(Debug)]
enum Block {
    /// No symbol has arrived.
    Untouched,
    /// Some symbols have arrived.
    Open(Box<Open>),
    /// All source symbols of the block are stored.
    Whole,
}

/// Block of which some symbols have arrived. The source symbols are already stored in the object's bytes.
#[derive(Debug)]
struct Open {
    /// Source symbols that have arrived.
    present: Present,
    /// Repair symbols that have arrived. Each has its identifier (ESI) and its bytes.
    repair: Vec<(u32, Box<[u8]>)>,
}

/// Symbol that arrived before the object had memory: block, identifier (ESI) and bytes.
type Early = (u32, u32, Box<[u8]>);

/// Object that is being received. It needs memory for only a few symbols until the sender's address is validated.
#[derive(Debug)]
pub(super) struct Inbound {
    layout: Object,
    /// Reserved memory. It grows with the bytes that arrive, up to the size of the object.
    reservation: Reservation,
    /// Number of bytes of symbols that have arrived.
    arrived: u64,
    /// Time at which the object was offered.
    since: Time,
    /// Symbols that arrived before memory for the whole object was allocated. `None` after the allocation.
    early: Option<Vec<Early>>,
    bytes: Vec<u8>,
    blocks: Vec<Block>,
}

/// Job for another thread: a block to decode, with a copy of its symbols.
#[derive(Debug)]
pub(super) struct DecodeJob {
    job: Job,
    flow: FlowId,
    block: u32,
    bytes: Vec<u8>,
    symbol: usize,
    present: Present,
    repair: Vec<(u32, Box<[u8]>)>,
}

/// Result of decoding a block.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) job: Job,
    pub(super) flow: FlowId,
    block: u32,
    /// All bytes of the block. `None`: the symbols were not enough.
    bytes: Option<Vec<u8>>,
}

impl DecodeJob {
    /// Decodes the block. The result has the block's bytes, or `None` if the symbols were not enough.
    pub(super) fn run(mut self, codes: &Codes) -> Decoded {
        let repair: Vec<(u32, &[u8])> = self
            .repair
            .iter()
            .map(|(esi, bytes)| (*esi, &**bytes))
            .collect();
        let code = codes.get(self.present.source_symbols());
        let recovered = code
            .and_then(|code| code.recover(&mut self.bytes, self.symbol, &self.present, &repair));
        Decoded {
            job: self.job,
            flow: self.flow,
            block: self.block,
            bytes: (recovered == Ok(Recovery::Whole)).then_some(self.bytes),
        }
    }
}

/// Returns the memory to reserve for an object of `length` bytes after `arrived` bytes of symbols.
fn needed(arrived: u64, length: u64) -> u64 {
    FIRST
        .saturating_add(arrived.saturating_mul(SPREAD))
        .min(length)
}

impl Inbound {
    /// Reserves memory for the first symbols of an object.
    /// If `early` is `None`, the sender's address is validated. The reservation then grows with the symbols.
    /// Otherwise `early` is the number of symbols that the sender pushes.
    /// In this case, memory for a small multiple of this number is reserved.
    /// Returns `None` if `budget` has too little memory left, or if this machine cannot address the whole object.
    pub(super) fn new(
        now: Time,
        layout: Object,
        early: Option<u32>,
        budget: &BufferBudget,
    ) -> Option<Self> {
        let length = usize::try_from(layout.length()).ok()?;
        let most = |pushed| EARLY * u64::from(pushed) * u64::from(layout.symbol());
        // The early symbols of a short object need as much memory as the object. So the object is not limited.
        let early = early.map(most).filter(|bytes| *bytes < layout.length());
        let first = early.unwrap_or(needed(0, layout.length()));
        let mut inbound = Self {
            layout,
            reservation: budget.take(layout.length(), first)?,
            arrived: 0,
            since: now,
            early: early.map(|_| Vec::new()),
            bytes: Vec::new(),
            blocks: Vec::new(),
        };
        if early.is_none() {
            inbound.make_room(length);
        }
        Some(inbound)
    }

    fn make_room(&mut self, length: usize) {
        // The buffer may contain old bytes. The symbols overwrite all of them before the object is complete.
        self.bytes = self.reservation.spares().take(length);
        let blocks = 0..self.layout.blocks();
        self.blocks = blocks.map(|_| Block::Untouched).collect();
    }

    /// Prepares the buffer for all bytes of the object, after the sender's address is validated.
    /// Returns `false` if there is too little memory.
    pub(super) fn prove(&mut self) -> bool {
        let Some(early) = self.early.take() else {
            return true;
        };
        let Ok(length) = usize::try_from(self.layout.length()) else {
            return false;
        };
        // If the memory is not available, the early symbols are lost. The caller then ends the session.
        let arrived = early.iter().map(|(_, _, payload)| payload.len()).sum();
        if !self.reserve(arrived) {
            return false;
        }
        self.make_room(length);
        for (block, esi, payload) in early {
            self.put(block, esi, &payload);
        }
        true
    }

    /// Reserves memory for `bytes` bytes of symbols that have arrived. Returns `false` if there is too little memory.
    pub(super) fn reserve(&mut self, bytes: usize) -> bool {
        // The buffer of early symbols is already reserved. `put` limits their number.
        if self.early.is_some() {
            return true;
        }
        let arrived = self.arrived.saturating_add(bytes as u64);
        let has_room = self.reservation.grow(needed(arrived, self.layout.length()));
        if has_room {
            self.arrived = arrived;
        }
        has_room
    }

    /// Reserves memory for the whole object. Returns `false` if there is too little memory.
    pub(super) fn reserve_all(&mut self) -> bool {
        self.reservation.grow(self.layout.length())
    }

    /// Returns the average rate of the object in bytes per second, or `None` if the object is too young.
    pub(super) fn rate(&self, now: Time) -> Option<u64> {
        let age = now.since(self.since);
        let ms = age.as_ns() / 1_000_000;
        (age >= SETTLED).then(|| self.arrived.saturating_mul(1_000) / ms.max(1))
    }

    /// Reserves memory for the symbols of a further sender that pushes `pushed` symbols.
    /// Without enough memory, nothing is reserved.
    pub(super) fn expect_more(&mut self, pushed: u32) {
        if self.early.is_some() {
            let more = EARLY * u64::from(pushed) * u64::from(self.layout.symbol());
            // The result is ignored. Without memory, `put` drops the symbols.
            self.reservation
                .grow((self.reservation.bytes() + more).min(self.layout.length()));
        }
    }

    /// Returns the size of a symbol in bytes, or `None` if the object has no such symbol.
    pub(super) fn payload(&self, block: u32, esi: u32) -> Option<usize> {
        let fits = block < self.layout.blocks() && esi < MAX_ESI;
        fits.then(|| self.layout.payload(block, esi) as usize)
    }

    /// Returns whether memory for all bytes is allocated.
    pub(super) fn has_room(&self) -> bool {
        self.early.is_none()
    }

    /// Stores a symbol. The caller has checked its length. Returns `false` if there is no memory for the symbol.
    /// The caller must then treat the symbol as lost.
    pub(super) fn put(&mut self, block: u32, esi: u32, payload: &[u8]) -> bool {
        if let Some(early) = &mut self.early {
            // `max` prevents a division by zero.
            let most = self.reservation.bytes() / u64::from(self.layout.symbol()).max(1);
            let known = early
                .iter()
                .any(|(of, other, _)| (*of, *other) == (block, esi));
            if !known {
                if early.len() as u64 >= most {
                    return false;
                }
                early.push((block, esi, payload.into()));
            }
            return true;
        }
        let k = self.layout.source_symbols(block);
        let Some(state) = self.blocks.get_mut(block as usize) else {
            return false;
        };
        if let Block::Untouched = state {
            *state = Block::Open(Box::new(Open {
                present: Present::new(k),
                repair: Vec::new(),
            }));
        }
        // A complete block needs no further symbol.
        let Block::Open(open) = state else {
            return true;
        };
        if esi >= k {
            let known = open.repair.iter().any(|(other, _)| *other == esi);
            // The reservation is not larger than the object, so the number of repair symbols is limited here.
            // A few spare symbols are useful, because K symbols may not be enough to decode.
            if !known && (open.repair.len() as u32) < open.present.missing() + SPARE {
                open.repair.push((esi, payload.into()));
            }
            return true;
        }
        let index = self.layout.first_index(block) + u64::from(esi);
        let from = (index * u64::from(self.layout.symbol())) as usize;
        let place = self.bytes.get_mut(from..from + payload.len());
        if let (Some(place), true) = (place, open.present.insert(esi)) {
            place.copy_from_slice(payload);
        }
        if open.present.missing() == 0 {
            *state = Block::Whole;
        }
        true
    }

    /// Returns the job to decode a block, or `None` if the block cannot be decoded now.
    pub(super) fn job(&self, flow: FlowId, attempt: &Attempt) -> Option<DecodeJob> {
        let Block::Open(open) = self.blocks.get(attempt.block as usize)? else {
            return None;
        };
        let range = block_range(&self.layout, attempt.block);
        Some(DecodeJob {
            job: attempt.job,
            flow,
            block: attempt.block,
            // Further symbols may be stored during the decoding in another thread. So the job gets a copy.
            bytes: self.bytes.get(range)?.to_vec(),
            symbol: self.layout.symbol() as usize,
            present: open.present.clone(),
            repair: open.repair.clone(),
        })
    }

    /// Stores the result of decoding a block. Returns whether the block is complete.
    pub(super) fn on_decoded(&mut self, decoded: &Decoded) -> bool {
        let Some(state) = self.blocks.get_mut(decoded.block as usize) else {
            return false;
        };
        let place = self.bytes.get_mut(block_range(&self.layout, decoded.block));
        if let (Block::Open(_), Some(place), Some(bytes)) = (&state, place, &decoded.bytes) {
            place.copy_from_slice(bytes);
            *state = Block::Whole;
        }
        // The decoding may have failed, but the missing symbols may have arrived in the meantime.
        matches!(state, Block::Whole)
    }

    /// Returns the bytes of the object, which must be complete.
    pub(super) fn into_bytes(self) -> (Vec<u8>, Reservation) {
        (self.bytes, self.reservation)
    }
}
