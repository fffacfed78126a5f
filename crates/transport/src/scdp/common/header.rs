//! Headers of SCDP packets (SCDP paper, section IV-A).

/// Upper bound of encoding symbol identifiers, exclusive: they have 24 bits (RFC 6330, section 3.2).
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
    /// Report that the receiver has the whole object and needs nothing more.
    Done,
    /// Credit mode: source or repair symbol, or its header after trimming.
    Credited,
    /// Credit mode: offer of an object, whose first symbols the sender pushes. It contains the options.
    Offer,
    /// Credit mode: report of the number of symbols that the sender has sent. A sender without a symbol to send answers
    /// a probe with this report. With SYN, the report requests an answer from a silent receiver.
    Status,
}

/// SCDP header.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ScdpHeader {
    /// Kind of the packet.
    pub kind: ScdpKind,
    /// Symbol: whether it contains the options and so may open the session. Status: whether the sender waits
    /// for an answer.
    pub syn: bool,
    /// Pull: whether the symbol that answers this pull is the last one needed.
    pub fin: bool,
    /// Symbol: whether the session must use `Segment::path`. Its pulls then use this path too.
    pub pinned: bool,
    /// Number of the source block, from 0.
    pub block: u32,
    /// Symbol: its encoding symbol identifier. Identifiers below the block's K are source symbols.
    pub esi: u32,
    /// Pull: total symbols of `block` that the receiver has requested, without pushed symbols. Credited
    /// symbol: number of the credit that it uses, from 0. Status: number of credits used so far.
    pub pull: u32,
    /// Option with SYN, and of an offer: symbols that the sender pushes. Pull: total pulls for all blocks.
    /// Credited symbol, status: departure time by the sender's clock, in units of 100 ns, modulo 2^32.
    pub count: u32,
    /// Option with SYN, and of an offer: length of the object in bytes.
    pub length: u64,
    /// Option with SYN, and of an offer: number of source blocks. Pull: number of blocks, counted from the
    /// first, that the receiver has completely. For an object from several senders, blocks with enough
    /// symbols count too.
    pub blocks: u32,
    /// Option with SYN, and of an offer: size of a symbol in bytes.
    pub symbol: u32,
    /// Option with SYN, and of an offer: number of hosts that send symbols of the object.
    pub senders: u16,
    /// Option with SYN, and of an offer: number of this sender among the senders. The identifiers of its
    /// symbols are equal to this number modulo `senders`.
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

/// Pull in credit mode. It contains the whole state of the receiver that the sender needs. A later pull
/// replaces an earlier one, so the loss of a pull does no harm.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct CreditHeader {
    /// Whether the receiver requests an answer, because it has received nothing for too long.
    pub probe: bool,
    /// Whether the receiver has already requested everything that it needs. In a group, the sender then does
    /// not wait for more credits of this receiver.
    pub fin: bool,
    /// Total symbols that the sender may have sent so far, including pushed symbols.
    pub granted: u32,
    /// First credit that is still open. For each credit before it, the symbol has arrived or counts as lost.
    pub next: u32,
    /// Number of blocks, counted from the first, that the receiver has completely.
    pub whole: u32,
    /// Total symbols that the receiver counts as lost.
    pub lost: u32,
    /// Wants for some of the blocks. For all other blocks, earlier wants remain valid.
    pub wants: [Want; WANTS],
}
