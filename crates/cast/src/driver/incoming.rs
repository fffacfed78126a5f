//! Object that is being received. Each symbol is stored at its offset.

use super::buffer_budget::{BufferBudget, Reservation};
use super::outgoing::block_range;
use crate::codec::{Codes, Present, Recovery};
use tailcut_transport::scdp::{Attempt, Job, MAX_ESI, Object};
use tailcut_units::FlowId;

/// Number of repair symbols of a block that are kept beyond the number of missing source symbols. K symbols
/// may not be enough to decode. With more spare symbols, a block would use more memory than it needs.
const SPARE: u32 = 16;
/// Size of the buffer for symbols of a sender whose address is not validated, as a multiple of the
/// symbols that the sender pushes. The symbols of the first two pulls need space too, because they may
/// arrive before the answer to the token.
const EARLY: u64 = 4;

/// State of a block that is being received.
#[derive(Debug)]
enum Block {
    /// No symbol has arrived.
    Untouched,
    /// Some symbols have arrived.
    Open(Box<Open>),
    /// All source symbols are stored.
    Whole,
}

/// Block of which some symbols have arrived. Source symbols are stored in the object's bytes.
#[derive(Debug)]
struct Open {
    /// Source symbols that have arrived.
    present: Present,
    /// Repair symbols that have arrived: identifier (ESI) and bytes.
    repair: Vec<(u32, Box<[u8]>)>,
}

/// Symbol that arrived before the object had memory: its block, its identifier (ESI), its bytes.
type Early = (u32, u32, Box<[u8]>);

/// Object that is being received. Until its sender's address is validated, it uses the memory of a
/// few symbols only.
#[derive(Debug)]
pub(super) struct Inbound {
    layout: Object,
    reservation: Reservation,
    /// Symbols that arrived before the object had memory for all its bytes. `None`: the memory is
    /// allocated.
    early: Option<Vec<Early>>,
    bytes: Vec<u8>,
    blocks: Vec<Block>,
}

/// Block to decode in another thread, with a copy of all symbols that have arrived.
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

/// Result of a decoding job of one block.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) job: Job,
    pub(super) flow: FlowId,
    block: u32,
    /// All bytes of the block. `None`: decoding failed.
    bytes: Option<Vec<u8>>,
}

impl DecodeJob {
    /// Decodes the block. The result has its bytes, or none if the symbols were not enough.
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

impl Inbound {
    /// Reserves memory for an object. `early` is `None` if the sender's address is validated: then
    /// the memory of the whole object is reserved. Otherwise `early` is the number of symbols that
    /// the sender pushes, and memory for a small multiple of it is reserved. Returns `None` if
    /// `budget` has too little memory left, or if the object is too large for the address space of
    /// this machine.
    pub(super) fn new(layout: Object, early: Option<u32>, budget: &BufferBudget) -> Option<Self> {
        let length = usize::try_from(layout.length()).ok()?;
        let most = |pushed| EARLY * u64::from(pushed) * u64::from(layout.symbol());
        // A short object needs no more memory than its early symbols, so it gets its memory at once.
        let early = early.map(most).filter(|bytes| *bytes < layout.length());
        let mut inbound = Self {
            layout,
            reservation: budget.take(layout.length(), early.unwrap_or(layout.length()))?,
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
        // The old content of the buffer does no harm: every byte is written before the object is
        // complete.
        self.bytes = self.reservation.spares().take(length);
        let blocks = 0..self.layout.blocks();
        self.blocks = blocks.map(|_| Block::Untouched).collect();
    }

    /// Allocates memory for all bytes of the object, after the sender's address is validated.
    /// Returns `false` if there is too little memory.
    pub(super) fn prove(&mut self) -> bool {
        let Some(early) = self.early.take() else {
            return true;
        };
        let Ok(length) = usize::try_from(self.layout.length()) else {
            return false;
        };
        // The early symbols are lost then, but the caller ends the session.
        if !self.reservation.grow(self.layout.length()) {
            return false;
        }
        self.make_room(length);
        for (block, esi, payload) in early {
            self.put(block, esi, &payload);
        }
        true
    }

    /// Reserves memory for the symbols of a further sender that pushes `pushed` symbols, if there
    /// is memory left.
    pub(super) fn expect_more(&mut self, pushed: u32) {
        if self.early.is_some() {
            let more = EARLY * u64::from(pushed) * u64::from(self.layout.symbol());
            // The result is ignored: without memory, `put` drops the symbols.
            self.reservation
                .grow((self.reservation.bytes() + more).min(self.layout.length()));
        }
    }

    /// Returns the number of bytes of a symbol, or `None` if the object has no such symbol.
    pub(super) fn payload(&self, block: u32, esi: u32) -> Option<usize> {
        let fits = block < self.layout.blocks() && esi < MAX_ESI;
        fits.then(|| self.layout.payload(block, esi) as usize)
    }

    /// Returns whether memory for all bytes is allocated.
    pub(super) fn has_room(&self) -> bool {
        self.early.is_none()
    }

    /// Stores a symbol, whose length the caller has checked. Returns `false` if there is no memory
    /// for it. The caller must then treat the symbol as lost.
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
            // A few spare symbols are kept, because K symbols may not be enough to decode.
            // The reservation does not include repair symbols, so their number is limited here.
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
            // Further symbols are stored while the other thread decodes, so the job has a copy.
            bytes: self.bytes.get(range)?.to_vec(),
            symbol: self.layout.symbol() as usize,
            present: open.present.clone(),
            repair: open.repair.clone(),
        })
    }

    /// Stores the result of a decoding. Returns whether the block is complete.
    pub(super) fn on_decoded(&mut self, decoded: &Decoded) -> bool {
        let Some(state) = self.blocks.get_mut(decoded.block as usize) else {
            return false;
        };
        let place = self.bytes.get_mut(block_range(&self.layout, decoded.block));
        if let (Block::Open(_), Some(place), Some(bytes)) = (&state, place, &decoded.bytes) {
            place.copy_from_slice(bytes);
            *state = Block::Whole;
        }
        // The missing symbols may have arrived during a decoding that failed.
        matches!(state, Block::Whole)
    }

    /// Returns the bytes of the object, which must be complete.
    pub(super) fn into_bytes(self) -> (Vec<u8>, Reservation) {
        (self.bytes, self.reservation)
    }
}
