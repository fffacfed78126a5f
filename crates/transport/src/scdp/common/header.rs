//! Headers of SCDP packets (SCDP paper, section IV-A).

/// Upper bound of encoding symbol identifiers, exclusive. Identifiers have 24 bits (RFC 6330, section 3.2).
pub const MAX_ESI: u32 = 1 << 24;

/// Kind of an SCDP packet. A header is a symbol whose payload a switch has trimmed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ScdpKind {
    /// Source or repair symbol, or its header after trimming.
    #[default]
    Symbol,
    /// Request for symbols of a block.
    Pull,
    /// Report that the receiver has the whole object and needs no more symbols.
    Done,
    /// Credit mode: source or repair symbol, or its header after trimming.
    Credited,
    /// Credit mode: offer of an object.
    /// The offer contains the options, and the sender pushes the first symbols after it.
    Offer,
    /// Credit mode: report of the number of symbols that the sender has sent.
    /// A sender that has no symbol to send answers a probe with this report.
    /// With SYN, the report requests an answer from a receiver that has sent nothing for some time.
    Status,
}

/// SCDP header.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ScdpHeader {
    /// Kind of the packet.
    pub kind: ScdpKind,
    /// In a symbol: whether it contains the options, so that it may open the session.
    /// In a status: whether the sender waits for an answer.
    pub syn: bool,
    /// In a pull: whether the symbol that answers this pull is the last symbol that the receiver needs.
    pub fin: bool,
    /// In a symbol: whether the session must use `Segment::path`. If so, pulls of the session use the same path.
    pub pinned: bool,
    /// Number of the source block, from 0.
    pub block: u32,
    /// In a symbol: its encoding symbol identifier. Identifiers below K of the block are source symbols.
    pub esi: u32,
    /// In a pull: total number of symbols of `block` that the receiver has requested, without pushed symbols.
    /// In a credited symbol: number of the used credit, from 0. In a status: number of credits used so far.
    pub pull: u32,
    /// With SYN and in an offer: number of symbols that the sender pushes.
    /// In a pull: total number of pulls for all blocks.
    /// In a credited symbol and a status: departure time by the sender's clock, in units of 100 ns, modulo 2^32.
    pub count: u32,
    /// With SYN and in an offer: length of the object in bytes.
    pub length: u64,
    /// With SYN and in an offer: number of source blocks.
    /// In a pull: number of blocks, counted from the first, that the receiver has completely.
    /// If an object has several senders, blocks with enough symbols count too.
    pub blocks: u32,
    /// With SYN and in an offer: size of a symbol in bytes.
    pub symbol: u32,
    /// With SYN and in an offer: number of hosts that send symbols of the object.
    pub senders: u16,
    /// With SYN and in an offer: number of this sender among the senders.
    /// The sender's symbols have identifiers that are equal to this number modulo `senders`.
    pub share: u16,
}

/// Number of symbols of one block that a receiver wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Want {
    /// Number of the block, counted from the receiver's first incomplete block. 65,535 means an unused entry.
    pub ahead: u16,
    /// Number of symbols of the block that should use credits, starting with credit [`CreditHeader::next`].
    pub symbols: u16,
}

impl Want {
    /// Unused entry.
    pub const NONE: Self = Self {
        ahead: u16::MAX,
        symbols: 0,
    };
}

impl Default for Want {
    fn default() -> Self {
        Self::NONE
    }
}

/// Largest number of wants in one pull.
pub const WANTS: usize = 5;

/// Pull in credit mode. It contains the whole state of the receiver that the sender needs.
/// A later pull replaces an earlier pull, so the loss of a pull has no effect.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct CreditHeader {
    /// Whether the receiver requests an answer, because it has received nothing for too long.
    pub probe: bool,
    /// Whether the receiver has already requested all symbols that it needs.
    /// In a group, the sender does not wait for more credits from a receiver that has requested all its symbols.
    pub fin: bool,
    /// Total number of symbols that the sender may have sent so far, including pushed symbols.
    pub granted: u32,
    /// First credit that is still open. Every earlier credit is closed: its symbol has arrived or counts as lost.
    pub next: u32,
    /// Number of blocks, counted from the first, that the receiver has completely.
    pub whole: u32,
    /// Total number of symbols that the receiver counts as lost.
    pub lost: u32,
    /// Requests for some of the blocks. For all other blocks, earlier requests remain valid.
    pub wants: [Want; WANTS],
}
