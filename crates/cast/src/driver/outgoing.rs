//! An object that is sent: where the bytes of each of its symbols are.

use crate::codec::{CodecError, Codes, Encoder};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use tailcut_transport::scdp::Object;
use tailcut_units::{FiveTuple, HostId};

/// Blocks of one object whose encoders are kept, at most.
const MOST_ENCODERS: usize = 8;

/// The bytes of an object, wherever they are kept. They must not change while it is sent.
#[derive(Clone)]
pub struct Payload(Arc<dyn AsRef<[u8]> + Send + Sync>);

impl Payload {
    /// An object of these bytes. They are dropped when the object is sent.
    pub fn new(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self(Arc::new(bytes))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.bytes().len())
    }
}

/// An object on its way out.
#[derive(Debug)]
pub(super) struct Outbound {
    pub(super) peer: HostId,
    pub(super) to: SocketAddr,
    /// The addresses of what leaves, once something has.
    pub(super) tuple: Option<FiveTuple>,
    payload: Payload,
    layout: Object,
    encoders: BTreeMap<u32, Encoder>,
}

impl Outbound {
    pub(super) fn new(peer: HostId, to: SocketAddr, payload: Payload, layout: Object) -> Self {
        Self {
            peer,
            to,
            tuple: None,
            payload,
            layout,
            encoders: BTreeMap::new(),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.payload.bytes()
    }

    /// Where a source symbol is within the object; `None` of a repair symbol.
    pub(super) fn source(&self, block: u32, esi: u32) -> Option<Range<usize>> {
        if esi >= self.layout.source_symbols(block) {
            return None;
        }
        let index = self.layout.first_index(block) + u64::from(esi);
        let from = usize::try_from(index * u64::from(self.layout.symbol())).ok()?;
        let to = from.checked_add(self.layout.payload(block, esi) as usize)?;
        (to <= self.bytes().len()).then_some(from..to)
    }

    /// Appends a repair symbol to `arena`.
    pub(super) fn repair(
        &mut self,
        codes: &Codes,
        block: u32,
        esi: u32,
        arena: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let symbol = self.layout.symbol() as usize;
        if !self.encoders.contains_key(&block) {
            // Pulls rarely go back.
            if self.encoders.len() >= MOST_ENCODERS {
                self.encoders.pop_first();
            }
            let code = codes.get(self.layout.source_symbols(block))?;
            self.encoders.insert(block, Encoder::new(code, symbol)?);
        }
        let range = block_range(&self.layout, block);
        let bytes = self.payload.bytes().get(range).unwrap_or_default();
        let from = arena.len();
        arena.resize(from + symbol, 0);
        match self.encoders.get_mut(&block) {
            Some(encoder) => encoder.repair(bytes, &mut [(esi, &mut arena[from..])]),
            None => Ok(()),
        }
    }
}

/// The bytes of a block within its object.
pub(super) fn block_range(layout: &Object, block: u32) -> Range<usize> {
    let at = |block| usize::try_from(layout.bytes_before(block)).unwrap_or(usize::MAX);
    at(block)..at(block + 1)
}
