//! What SCDP endpoints tell each other (SCDP paper, section IV-A).

/// Encoding symbol identifiers are below this: 24 bits (RFC 6330, section 3.2).
pub const MAX_ESI: u32 = 1 << 24;

/// The kind of an SCDP packet. A header is a symbol whose payload a switch has cut off.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ScdpKind {
    /// A source or repair symbol, or the header that is left of it.
    #[default]
    Symbol,
    /// A request for symbols of a block.
    Pull,
    /// The receiver has the whole object: nothing more is needed.
    Done,
    /// Under credits: a source or repair symbol, or the header that is left of it.
    Credited,
    /// Under credits: the sender has an object, and pushes its first symbols. Carries the options.
    Offer,
    /// Under credits: how many symbols the sender has sent. The answer to a probe when there is
    /// nothing else to send; with SYN a question to a receiver that has not been heard.
    Status,
}

/// An SCDP header.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ScdpHeader {
    /// What it is.
    pub kind: ScdpKind,
    /// Symbol: it opens the session if there is none, and carries the options. Status: the sender
    /// waits for a word.
    pub syn: bool,
    /// Pull: no further pull is needed if the symbol that answers this one arrives.
    pub fin: bool,
    /// Symbol: the session is pinned to `Segment::path`, and so are the pulls.
    pub pinned: bool,
    /// The source block, from 0.
    pub block: u32,
    /// Symbol: its encoding symbol identifier; below the block's K it is a source symbol.
    pub esi: u32,
    /// Pull: symbols of `block` that the receiver has asked for so far, pushed ones not counted.
    /// Credited symbol: the number of the credit that it uses, from 0. Status: how many credits
    /// have been used.
    pub pull: u32,
    /// Option with SYN, and of an offer: symbols that the sender pushes. Pull: pulls of all blocks so far. Credited
    /// symbol, status: when it was sent by the sender's clock, in units of 100 ns, modulo 2^32.
    pub count: u32,
    /// Option with SYN, and of an offer: length of the object in bytes.
    pub length: u64,
    /// Option with SYN, and of an offer: number of source blocks. Pull: how many blocks, from the first, the receiver
    /// has whole, or of an object from several senders has enough of.
    pub blocks: u32,
    /// Option with SYN, and of an offer: bytes of a symbol.
    pub symbol: u32,
    /// Option with SYN, and of an offer: the number of hosts that send symbols of the object.
    pub senders: u16,
    /// Option with SYN, and of an offer: which of them this is. Its identifiers are this number modulo `senders`.
    pub share: u16,
}

/// Symbols of one block that a receiver wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Want {
    /// Which block, counted from the first that the receiver has not whole; 65,535: nothing is said.
    pub ahead: u16,
    /// How many symbols of it are to use credits from [`CreditHeader::next`] on.
    pub symbols: u16,
}

impl Want {
    /// Says nothing.
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

/// Wants that one pull tells at most.
pub const WANTS: usize = 5;

/// A pull in credit mode: everything that a sender has to know of its receiver. A later one replaces an
/// earlier one, so that none of them needs to arrive.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct CreditHeader {
    /// The receiver asks for a word: it has not heard anything for too long.
    pub probe: bool,
    /// The receiver needs nothing beside what it has asked for: where others receive the same symbols,
    /// the sender does not wait for its credits.
    pub fin: bool,
    /// Symbols that the sender may have sent by now, all in all, those that it pushed included.
    pub granted: u32,
    /// Every credit before this one is accounted for: its symbol has come or is taken for lost.
    pub next: u32,
    /// How many blocks, from the first, the receiver has whole.
    pub whole: u32,
    /// Symbols that the receiver has taken for lost so far.
    pub lost: u32,
    /// What is wanted of some blocks; what was said of others before still holds.
    pub wants: [Want; WANTS],
}
