//! An object that is received: each symbol goes to its place.

use super::outgoing::block_range;
use super::room::Held;
use crate::codec::{Codes, Present, Recovery};
use std::net::SocketAddr;
use tailcut_transport::scdp::{Attempt, Job, MAX_ESI, Object};
use tailcut_units::{FlowId, HostId};

/// Repair symbols of a block that are kept beside those that replace what is missing.
const SPARE: u32 = 16;

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

/// An object on its way in.
#[derive(Debug)]
pub(super) struct Inbound {
    pub(super) peer: HostId,
    pub(super) from: SocketAddr,
    layout: Object,
    held: Held,
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
    /// An object, for whose bytes room is held; `None` where this machine cannot address them.
    pub(super) fn new(peer: HostId, from: SocketAddr, layout: Object, held: Held) -> Option<Self> {
        let length = usize::try_from(layout.length()).ok()?;
        Some(Self {
            peer,
            from,
            layout,
            held,
            bytes: vec![0; length],
            blocks: (0..layout.blocks()).map(|_| Block::Untouched).collect(),
        })
    }

    /// Whether a symbol may be one of this object.
    pub(super) fn fits(&self, block: u32, esi: u32, payload: usize) -> bool {
        block < self.layout.blocks()
            && esi < MAX_ESI
            && payload == self.layout.payload(block, esi) as usize
    }

    /// Keeps a symbol that [fits](Self::fits).
    pub(super) fn put(&mut self, block: u32, esi: u32, payload: &[u8]) {
        let k = self.layout.source_symbols(block);
        let Some(state) = self.blocks.get_mut(block as usize) else {
            return;
        };
        if let Block::Untouched = state {
            *state = Block::Open(Box::new(Open {
                present: Present::new(k),
                repair: Vec::new(),
            }));
        }
        let Block::Open(open) = state else {
            return;
        };
        if esi >= k {
            let known = open.repair.iter().any(|(other, _)| *other == esi);
            if !known && (open.repair.len() as u32) < open.present.missing() + SPARE {
                open.repair.push((esi, payload.into()));
            }
            return;
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
