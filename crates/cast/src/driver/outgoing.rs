//! An object that is sent: where the bytes of each of its symbols are.

use super::board::{Board, Stage};
use super::paths::Search;
use crate::codec::{CodecError, Codes, Encoder};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use tailcut_transport::scdp::Object;
use tailcut_transport::{Share, Stragglers};
use tailcut_units::{FiveTuple, HostId, Time};

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

/// Where an object goes, and which part of it this end sends.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// All of it to one receiver.
    One,
    /// A share of its symbols to one receiver, in a session that the other senders have too.
    Share(u64, Share),
    /// All of it to several receivers.
    All(Stragglers),
    /// The same, by datagrams to a multicast group that they have joined.
    Group(SocketAddr, Stragglers),
}

/// What an application wants to send.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) to: Vec<SocketAddr>,
    pub(super) kind: Kind,
    pub(super) payload: Payload,
    pub(super) board: Board,
}

impl Task {
    /// All of an object to one receiver.
    pub(super) fn one(to: SocketAddr, payload: Payload) -> Self {
        Self::new(vec![to], Kind::One, payload)
    }

    pub(super) fn new(to: Vec<SocketAddr>, kind: Kind, payload: Payload) -> Self {
        Self {
            board: Board::new(&to),
            to,
            kind,
            payload,
        }
    }
}

/// An object on its way out.
#[derive(Debug)]
pub(super) struct Outbound {
    pub(super) task: Task,
    /// Its receivers; of several, the numbers are those of the task's addresses.
    pub(super) lines: Vec<HostId>,
    /// The addresses of what leaves, once something has.
    pub(super) tuple: Option<FiveTuple>,
    /// How often it was begun again, and when it will be.
    pub(super) restarts: u32,
    pub(super) waits_until: Option<Time>,
    /// The line to the group of all receivers.
    pub(super) group: Option<HostId>,
    /// Receivers that may not get datagrams as large as those of this object.
    pub(super) searches: HashMap<HostId, Search>,
    layout: Object,
    encoders: BTreeMap<u32, Encoder>,
}

impl Outbound {
    pub(super) fn new(task: Task, layout: Object) -> Self {
        Self {
            task,
            lines: Vec::new(),
            tuple: None,
            restarts: 0,
            waits_until: None,
            group: None,
            searches: HashMap::new(),
            layout,
            encoders: BTreeMap::new(),
        }
    }

    /// Bytes of a symbol.
    pub(super) fn symbol(&self) -> u32 {
        self.layout.symbol()
    }

    /// Its symbols have another size from now on.
    pub(super) fn lay_out(&mut self, layout: Object) {
        self.layout = layout;
        self.encoders.clear();
        self.searches.clear();
    }

    /// The addresses of what comes from the receiver `line`, once something has left.
    pub(super) fn answers_from(&self, line: HostId) -> Option<FiveTuple> {
        let tuple = self.tuple?.reversed();
        Some(FiveTuple { src: line, ..tuple })
    }

    /// The receiver `line` has the first `blocks` blocks.
    pub(super) fn note(&self, line: HostId, blocks: u32) {
        let bytes = self.layout.bytes_before(blocks.min(self.layout.blocks()));
        self.set(line, Some(bytes), Stage::Receiving);
    }

    /// The receiver `line` says of so many symbols that they have arrived or are lost, and of how many of
    /// these that they are lost.
    pub(super) fn count(&self, line: HostId, settled: u32, lost: u32) {
        if let Some(at) = self.lines.iter().position(|other| *other == line) {
            self.task.board.count(at, settled, lost);
        }
    }

    /// Whether anything came from the receiver `line`.
    pub(super) fn was_heard(&self, line: HostId) -> bool {
        let at = self.lines.iter().position(|other| *other == line);
        let progress = at.and_then(|at| self.task.board.read().get(at).copied());
        progress.is_some_and(|progress| progress.stage != Stage::Asked)
    }

    /// What has become of the receiver `line`.
    pub(super) fn set(&self, line: HostId, bytes: Option<u64>, stage: Stage) {
        if let Some(at) = self.lines.iter().position(|other| *other == line) {
            self.task.board.set(at, bytes, stage);
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.task.payload.bytes()
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
        let bytes = self.task.payload.bytes().get(range).unwrap_or_default();
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
