//! An object that is received: each symbol goes to its place.

use super::outgoing::block_range;
use super::room::{Held, Room};
use crate::codec::{Codes, Present, Recovery};
use tailcut_transport::scdp::{Attempt, Job, MAX_ESI, Object};
use tailcut_units::FlowId;

/// Repair symbols of a block that are kept beside those that replace what is missing.
const SPARE: u32 = 16;
/// Symbols that there is memory for while a sender's address may be forged, for each that it pushes: what the
/// first two pulls ask for may arrive before the answer to the token.
const EARLY: u64 = 4;

/// A block on its way in.
#[derive(Debug)]
enum Block {
    /// Nothing of it has come.
    Untouched,
    /// Some of its symbols have.
    Open(Box<Open>),
    /// All source symbols are in their places.
    Whole,
}

#[derive(Debug)]
struct Open {
    present: Present,
    repair: Vec<(u32, Box<[u8]>)>,
}

/// A symbol that came early: its block, its identifier, its bytes.
type Early = (u32, u32, Box<[u8]>);

/// An object on its way in. While its sender's address may be forged it takes the memory of a few
/// symbols only.
#[derive(Debug)]
pub(super) struct Inbound {
    layout: Object,
    held: Held,
    /// Symbols that came before there was memory for all.
    early: Option<Vec<Early>>,
    bytes: Vec<u8>,
    blocks: Vec<Block>,
}

/// A block to decode, away from the thread that drives: it has its own copy of what has arrived.
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

/// What has become of a block.
#[derive(Debug)]
pub(super) struct Decoded {
    pub(super) job: Job,
    pub(super) flow: FlowId,
    block: u32,
    /// All its bytes, where it is whole.
    bytes: Option<Vec<u8>>,
}

impl DecodeJob {
    /// Decodes.
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
    /// An object for which `room` has room: for a few times the `early` symbols that are pushed by a sender whose
    /// address may be forged, or all of them.
    /// `None` where there is none, or where this machine cannot address its bytes.
    pub(super) fn new(layout: Object, early: Option<u32>, room: &Room) -> Option<Self> {
        let length = usize::try_from(layout.length()).ok()?;
        let most = |pushed| EARLY * u64::from(pushed) * u64::from(layout.symbol());
        let early = early.map(most).filter(|bytes| *bytes < layout.length());
        let mut inbound = Self {
            layout,
            held: room.take(layout.length(), early.unwrap_or(layout.length()))?,
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
        // Every byte is written before the object is whole.
        self.bytes = self.held.spares().take(length);
        let blocks = 0..self.layout.blocks();
        self.blocks = blocks.map(|_| Block::Untouched).collect();
    }

    /// The sender's address is its own: the object gets memory for all its bytes. Says whether there
    /// is as much.
    pub(super) fn prove(&mut self) -> bool {
        let Some(early) = self.early.take() else {
            return true;
        };
        let Ok(length) = usize::try_from(self.layout.length()) else {
            return false;
        };
        if !self.held.grow(self.layout.length()) {
            return false;
        }
        self.make_room(length);
        for (block, esi, payload) in early {
            self.put(block, esi, &payload);
        }
        true
    }

    /// One more sender pushes `pushed` symbols: there is memory for as many more, if there is any.
    pub(super) fn expect_more(&mut self, pushed: u32) {
        if self.early.is_some() {
            let more = EARLY * u64::from(pushed) * u64::from(self.layout.symbol());
            self.held
                .grow((self.held.bytes() + more).min(self.layout.length()));
        }
    }

    /// Bytes of a symbol, if it may be one of this object.
    pub(super) fn payload(&self, block: u32, esi: u32) -> Option<usize> {
        let fits = block < self.layout.blocks() && esi < MAX_ESI;
        fits.then(|| self.layout.payload(block, esi) as usize)
    }

    /// Whether there is memory for every symbol.
    pub(super) fn has_room(&self) -> bool {
        self.early.is_none()
    }

    /// Keeps a symbol that has as many bytes as it must. Says whether it was: if not, it is as good as lost.
    pub(super) fn put(&mut self, block: u32, esi: u32, payload: &[u8]) -> bool {
        if let Some(early) = &mut self.early {
            let most = self.held.bytes() / u64::from(self.layout.symbol()).max(1);
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
        let Block::Open(open) = state else {
            return true;
        };
        if esi >= k {
            let known = open.repair.iter().any(|(other, _)| *other == esi);
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

    /// What it takes to decode a block.
    pub(super) fn job(&self, flow: FlowId, attempt: &Attempt) -> Option<DecodeJob> {
        let Block::Open(open) = self.blocks.get(attempt.block as usize)? else {
            return None;
        };
        let range = block_range(&self.layout, attempt.block);
        Some(DecodeJob {
            job: attempt.job,
            flow,
            block: attempt.block,
            bytes: self.bytes.get(range)?.to_vec(),
            symbol: self.layout.symbol() as usize,
            present: open.present.clone(),
            repair: open.repair.clone(),
        })
    }

    /// A block has been decoded, or not. Says whether it is whole.
    pub(super) fn on_decoded(&mut self, decoded: &Decoded) -> bool {
        let Some(state) = self.blocks.get_mut(decoded.block as usize) else {
            return false;
        };
        let place = self.bytes.get_mut(block_range(&self.layout, decoded.block));
        if let (Block::Open(_), Some(place), Some(bytes)) = (&state, place, &decoded.bytes) {
            place.copy_from_slice(bytes);
            *state = Block::Whole;
        }
        matches!(state, Block::Whole)
    }

    /// The object, which is whole.
    pub(super) fn into_bytes(self) -> (Vec<u8>, Held) {
        (self.bytes, self.held)
    }
}
