//! Object that is being sent, and the sources of its symbols' bytes.

use super::paths::Search;
use super::route::Route;
use super::shared_progress::{SharedProgress, Stage};
use crate::codec::{CodecError, Codes, Encoder};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::sync::Arc;
use tailcut_transport::scdp::Object;
use tailcut_transport::{Share, Stragglers};
use tailcut_units::{Duration, FiveTuple, HostId, Time};

/// Largest number of encoders that are kept for one object.
/// There is one encoder for each block, and it may contain a copy of the block.
/// With fewer encoders, receivers at different blocks would cause the same encoder to be prepared several times.
const MOST_ENCODERS: usize = 8;

/// Bytes of an object, in any container. They must not change while the object is sent.
#[derive(Clone)]
pub struct Payload(Arc<dyn AsRef<[u8]> + Send + Sync>);

impl Payload {
    /// Creates the payload of an object from these bytes. The bytes are dropped after the transfer.
    pub fn new(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self(Arc::new(bytes))
    }

    /// Returns the bytes of the object.
    pub fn bytes(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({} bytes)", self.bytes().len())
    }
}

/// Receivers of an object, and the part of the object that this host sends.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// The whole object, one receiver.
    One,
    /// One share of the symbols, one receiver. The other senders use the same session.
    Share(u64, Share),
    /// The whole object, several receivers, with separate datagrams to each.
    All(Stragglers),
    /// The whole object, several receivers, with datagrams to a multicast group that the receivers have joined.
    Group(SocketAddr, Stragglers),
}

/// Request of the application to send an object.
#[derive(Clone, Debug)]
pub(super) struct Task {
    pub(super) to: Vec<SocketAddr>,
    pub(super) kind: Kind,
    pub(super) payload: Payload,
    pub(super) progress: SharedProgress,
    /// Source address of the datagrams. `None`: the routing table selects it.
    pub(super) from: Option<IpAddr>,
    /// Whether an ICMP message that the receiver cannot be reached ends the transfer before the first answer.
    pub(super) heeds_icmp: bool,
}

impl Task {
    /// Creates a request to send a whole object to one receiver.
    pub(super) fn one(to: impl Into<Route>, payload: Payload) -> Self {
        let Route { to, from } = to.into();
        Self {
            from,
            ..Self::new(vec![to], Kind::One, payload)
        }
    }

    pub(super) fn new(to: Vec<SocketAddr>, kind: Kind, payload: Payload) -> Self {
        Self {
            progress: SharedProgress::new(&to),
            to,
            kind,
            payload,
            from: None,
            heeds_icmp: false,
        }
    }
}

/// Object that is being sent.
#[derive(Debug)]
pub(super) struct Outbound {
    pub(super) task: Task,
    /// Connections to the receivers, in the order of the task's addresses.
    pub(super) connections: Vec<HostId>,
    /// Addresses that the transport uses in segments of this object. `None` until the first segment is sent.
    pub(super) tuple: Option<FiveTuple>,
    /// Number of restarts so far.
    pub(super) restarts: u32,
    /// Time of the next restart. `None`: no restart is planned.
    pub(super) waits_until: Option<Time>,
    /// Connection to the multicast group, if there is one.
    pub(super) group: Option<HostId>,
    /// Searches for the datagram sizes of the paths, by receiver.
    pub(super) searches: HashMap<HostId, Search>,
    /// Division of the object into blocks and symbols.
    layout: Object,
    /// Encoders of repair symbols, by block number.
    encoders: BTreeMap<u32, Encoder>,
}

impl Outbound {
    pub(super) fn new(task: Task, layout: Object) -> Self {
        Self {
            task,
            connections: Vec::new(),
            tuple: None,
            restarts: 0,
            waits_until: None,
            group: None,
            searches: HashMap::new(),
            layout,
            encoders: BTreeMap::new(),
        }
    }

    /// Returns the size of a symbol in bytes.
    pub(super) fn symbol(&self) -> u32 {
        self.layout.symbol()
    }

    /// Changes the size of the symbols, and removes everything that depends on the old size.
    pub(super) fn lay_out(&mut self, layout: Object) {
        self.layout = layout;
        self.encoders.clear();
        self.searches.clear();
    }

    /// Returns the addresses that segments from the receiver `connection` must have.
    /// Returns `None` before the first segment is sent.
    pub(super) fn answers_from(&self, connection: HostId) -> Option<FiveTuple> {
        let tuple = self.tuple?.reversed();
        Some(FiveTuple {
            src: connection,
            ..tuple
        })
    }

    /// Records that the receiver on `connection` has the first `blocks` blocks.
    pub(super) fn note(&self, connection: HostId, blocks: u32) {
        let bytes = self.layout.bytes_before(blocks.min(self.layout.blocks()));
        self.set(connection, Some(bytes), Stage::Receiving);
    }

    /// Stores two numbers of symbols for the receiver on `connection`.
    /// `settled` symbols were reported as arrived or lost. `lost` symbols were reported as lost.
    pub(super) fn count(&self, connection: HostId, settled: u32, lost: u32) {
        if let Some(at) = self
            .connections
            .iter()
            .position(|other| *other == connection)
        {
            self.task.progress.count(at, settled, lost);
        }
    }

    /// Stores the time for which other receivers have waited for the receiver on `connection`.
    pub(super) fn hold(&self, connection: HostId, held: Duration) {
        let mut all = self.connections.iter();
        if let Some(at) = all.position(|other| *other == connection) {
            self.task.progress.hold(at, held);
        }
    }

    /// Returns whether any packet of the receiver on `connection` has arrived.
    pub(super) fn was_heard(&self, connection: HostId) -> bool {
        let at = self
            .connections
            .iter()
            .position(|other| *other == connection);
        at.is_some_and(|at| self.task.progress.was_heard(at))
    }

    /// Sets the state of the receiver on `connection`.
    pub(super) fn set(&self, connection: HostId, bytes: Option<u64>, stage: Stage) {
        if let Some(at) = self
            .connections
            .iter()
            .position(|other| *other == connection)
        {
            self.task.progress.set(at, bytes, stage);
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.task.payload.bytes()
    }

    /// Returns the range of a source symbol in the object. Returns `None` for a repair symbol.
    pub(super) fn source(&self, block: u32, esi: u32) -> Option<Range<usize>> {
        if esi >= self.layout.source_symbols(block) {
            return None;
        }
        let index = self.layout.first_index(block) + u64::from(esi);
        let from = usize::try_from(index * u64::from(self.layout.symbol())).ok()?;
        let to = from.checked_add(self.layout.payload(block, esi) as usize)?;
        (to <= self.bytes().len()).then_some(from..to)
    }

    /// Computes a repair symbol and appends it to `arena`.
    pub(super) fn repair(
        &mut self,
        codes: &Codes,
        block: u32,
        esi: u32,
        arena: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        let symbol = self.layout.symbol() as usize;
        if !self.encoders.contains_key(&block) {
            // The encoder of the lowest block is dropped.
            // Receivers rarely need repair symbols of an earlier block again.
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

/// Returns the range of a block in its object.
pub(super) fn block_range(layout: &Object, block: u32) -> Range<usize> {
    let at = |block| usize::try_from(layout.bytes_before(block)).unwrap_or(usize::MAX);
    at(block)..at(block + 1)
}
