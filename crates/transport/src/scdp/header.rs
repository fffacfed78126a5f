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
}

/// An SCDP header.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ScdpHeader {
    /// What it is.
    pub kind: ScdpKind,
    /// Symbol: it opens the session if there is none, and carries the options.
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
    pub pull: u32,
    /// Option with SYN: symbols that the sender pushes. Pull: pulls of all blocks so far.
    pub count: u32,
    /// Option with SYN: length of the object in bytes.
    pub length: u64,
    /// Option with SYN: number of source blocks. Pull: how many blocks, from the first, the receiver
    /// has whole, or of an object from several senders has enough of.
    pub blocks: u32,
    /// Option with SYN: bytes of a symbol.
    pub symbol: u32,
    /// Option with SYN: the number of hosts that send symbols of the object.
    pub senders: u16,
    /// Option with SYN: which of them this is. Its identifiers are this number modulo `senders`.
    pub share: u16,
}
