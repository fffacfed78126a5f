//! Encryption of packets under a pre-shared key (version 2 of the header).
//!
//! The header of a symbol is not encrypted, so that a switch can trim the symbol.
//! The symbol's encrypted bytes follow the header. Other packets begin with a prefix that is not encrypted.
//! The sender's salt and the other bytes in encrypted form follow the prefix.
//! All packets end with the lower 32 bits of the packet number, and the tag.
//! The tag protects the whole packet, except the flag of trimmed symbols.

use crate::seal::{
    Direction, Key, NoRandomness, Opener, Origin, Refusal, Salt, Sealer, TAG, expand, is_of,
};
use std::ops::Range;
use tailcut_units::HostId;
use tailcut_wire::scdp::credit::{PREFIX_BYTES, SEALED, SYMBOL_BYTES};

/// Flag in packets of a receiver: the receiver has verified the sender's proof of the key.
const PROVED: u8 = 0x40;
/// Flag of a symbol that a switch has trimmed.
const TRIMMED: u8 = 0x01;
const SALT: usize = size_of::<Salt>();
/// Size of the packet number in a packet, in bytes.
const NUMBER: usize = 4;
/// Number of bytes that encryption adds to a symbol.
pub(super) const TRAILER: usize = NUMBER + TAG;
/// Number of bytes that encryption adds to other packets.
pub(super) const OVERHEAD: usize = SALT + TRAILER;

/// Returns whether a packet has the flag of encrypted packets.
pub(super) fn is_sealed(bytes: &[u8]) -> bool {
    bytes.get(1).is_some_and(|flags| flags & SEALED != 0)
}

/// Returns whether a packet is a symbol.
fn is_symbol(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|first| first & 0x0f == 0)
}

/// Returns the header of an encrypted symbol that a switch has trimmed. Returns `None` for other packets.
/// The header has no valid tag, so any host may have forged it.
pub(super) fn trimmed(bytes: &[u8]) -> Option<[u8; SYMBOL_BYTES]> {
    let mut header: [u8; SYMBOL_BYTES] = *bytes.first_chunk()?;
    let is_cut = header[1] & TRIMMED != 0 || bytes.len() < SYMBOL_BYTES + TRAILER;
    // The result has the format of a packet without a key.
    // A switch that does not know the format cuts a packet without setting the flag. So the flag is set here.
    header[1] &= !SEALED;
    header[1] |= TRIMMED;
    (is_symbol(bytes) && is_cut).then_some(header)
}

/// Encrypted packet, split into its parts.
struct Parts<'a> {
    head: &'a [u8],
    salt: Option<Salt>,
    body: &'a [u8],
    number: u32,
    tag: [u8; TAG],
}

impl<'a> Parts<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let clear = match is_symbol(bytes) {
            true => SYMBOL_BYTES,
            false => PREFIX_BYTES + SALT,
        };
        let (rest, tag) = bytes.split_last_chunk::<TAG>()?;
        let (rest, number) = rest.split_last_chunk::<NUMBER>()?;
        let (head, body) = rest.split_at_checked(clear)?;
        let salt = match is_symbol(bytes) {
            true => None,
            false => Some(*head.last_chunk::<SALT>()?),
        };
        Some(Self {
            head,
            salt,
            body,
            number: u32::from_be_bytes(*number),
            tag: *tag,
        })
    }

    /// Decrypts the packet into `plain`. The result has the format of a packet without a key.
    fn open(&self, opener: &mut Opener, plain: &mut Vec<u8>) -> Result<(), Refusal> {
        let number = opener.expand(self.number);
        plain.clear();
        let clear = self.head.len() - self.salt.map_or(0, |salt| salt.len());
        plain.extend_from_slice(&self.head[..clear]);
        plain.extend_from_slice(self.body);
        let body = &mut plain[clear..];
        opener.open(number, self.head, body, &self.tag)?;
        if let Some(flags) = plain.get_mut(1) {
            // A packet without a key has neither of the two flags.
            *flags &= !(SEALED | PROVED);
        }
        Ok(())
    }
}

/// Encryption state of a connection.
pub(super) struct Seal {
    key: Key,
    /// Origin of this end. All packets that this end sends have this origin.
    own: Origin,
    sealer: Sealer,
    /// Number of the next packet.
    next: u64,
    /// Origin of the remote end, and the state that decrypts its packets. `None` until its first packet arrives.
    peer: Option<(Origin, Opener)>,
    /// Whether the sender has proved, in this session, that it has the key.
    /// At a sender, this value is `true` after the receiver has confirmed the proof.
    proved: bool,
    /// Number of credits that this end has granted. Only used at a receiver.
    pub(super) granted: u32,
    /// Connection of a multicast group that assigns the packet numbers of this connection.
    /// `None`: this connection assigns its own packet numbers.
    pub(super) group: Option<HostId>,
}

impl std::fmt::Debug for Seal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("Seal");
        debug.field("proved", &self.proved).finish_non_exhaustive()
    }
}

impl Seal {
    /// Creates the state of one end of a session. At a receiver, `peer` comes from the first packet of the sender.
    /// At a sender, `peer` is `None`.
    pub(super) fn new(
        key: &Key,
        session: u64,
        share: u16,
        peer: Option<(Origin, Opener)>,
    ) -> Result<Self, NoRandomness> {
        let direction = match peer {
            None => Direction::Forward,
            Some(_) => Direction::Backward,
        };
        let own = Origin::new(session, share, direction)?;
        Ok(Self {
            sealer: key.sealer(&own),
            key: key.clone(),
            own,
            next: 0,
            peer,
            proved: false,
            granted: 0,
            group: None,
        })
    }

    /// Creates the state for one receiver of a multicast group.
    /// Packets to the group and packets to this receiver have the same key and salt.
    /// So all these packets need different numbers. The connection `group` assigns them.
    pub(super) fn twin(&self, group: HostId) -> Self {
        Self {
            key: self.key.clone(),
            own: self.own,
            sealer: self.key.sealer(&self.own),
            next: 0,
            peer: None,
            proved: false,
            granted: 0,
            group: Some(group),
        }
    }

    /// Returns whether the sender of the session has proved that it has the key.
    pub(super) fn is_proved(&self) -> bool {
        self.proved
    }

    /// Appends an encrypted packet to `arena`. The packet has the header `plain` and the bytes `payload`.
    /// Returns the packet's range in the arena.
    pub(super) fn seal(
        &mut self,
        plain: &[u8],
        payload: &[u8],
        arena: &mut Vec<u8>,
    ) -> Option<Range<usize>> {
        let from = arena.len();
        let is_symbol = is_symbol(plain);
        let clear = if is_symbol {
            SYMBOL_BYTES
        } else {
            PREFIX_BYTES
        };
        let (head, rest) = plain.split_at_checked(clear)?;
        arena.extend_from_slice(head);
        let says = self.own.direction == Direction::Backward && self.proved;
        if let Some(flags) = arena.get_mut(from + 1) {
            *flags |= SEALED | if says { PROVED } else { 0 };
        }
        if !is_symbol {
            arena.extend_from_slice(&self.own.salt);
        }
        let body = arena.len();
        arena.extend_from_slice(rest);
        arena.extend_from_slice(payload);
        let number = self.next;
        let (before, text) = arena.split_at_mut(body);
        let tag = self.sealer.seal(number, &before[from..], text).ok()?;
        self.next += 1;
        // A packet contains only the lower 32 bits of its number. The other end computes the upper bits.
        arena.extend_from_slice(&(number as u32).to_be_bytes());
        arena.extend_from_slice(&tag);
        Some(from..arena.len())
    }

    /// Decrypts a packet of the other end. Returns `None` if the packet is not valid.
    /// Returns `Some(true)` if this end is a sender that must still prove that it has the key.
    pub(super) fn open(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> Option<bool> {
        let parts = Parts::of(bytes)?;
        match &mut self.peer {
            Some((origin, opener)) => {
                // A remote end has only one salt in a session.
                if parts.salt.is_some_and(|salt| salt != origin.salt) {
                    return None;
                }
                parts.open(opener, plain).ok()?;
            }
            peer => {
                let direction = match self.own.direction {
                    Direction::Forward => Direction::Backward,
                    Direction::Backward => Direction::Forward,
                };
                let (session, share) = (self.own.session, self.own.share);
                let known = open_first(&self.key, session, share, direction, bytes, plain)?;
                *peer = Some(known);
            }
        }
        let says = bytes.get(1).is_some_and(|flags| flags & PROVED != 0);
        let sends = self.own.direction == Direction::Forward;
        // Only a receiver's packet can confirm the proof. At a receiver, `check` sets `proved`.
        self.proved |= sends && says;
        Some(sends && !self.proved)
    }

    /// Returns the proof that this sender has the key. The proof answers the random salt of the receiver.
    pub(super) fn proof(&self) -> Option<[u8; 32]> {
        let (peer, _) = self.peer.as_ref()?;
        Some(self.key.proof(&self.own, &peer.salt))
    }

    /// Checks the proof of a sender. Returns whether the proof is right.
    pub(super) fn check(&mut self, proof: &[u8; 32]) -> bool {
        let proves = |(peer, _): &(Origin, Opener)| self.key.proves(peer, &self.own.salt, proof);
        let is_right = self.peer.as_ref().is_some_and(proves);
        self.proved |= is_right;
        is_right
    }
}

/// Origin of the first packet of a session, and the state that decrypts further packets of this origin.
pub(super) type Greeting = (Origin, Opener);

/// Decrypts the first packet of a remote end. The packet contains the salt of the remote end.
pub(super) fn open_first(
    key: &Key,
    session: u64,
    share: u16,
    direction: Direction,
    bytes: &[u8],
    plain: &mut Vec<u8>,
) -> Option<Greeting> {
    let parts = Parts::of(bytes)?;
    let origin = Origin {
        session,
        share,
        direction,
        salt: parts.salt?,
    };
    plain.clear();
    plain.extend_from_slice(parts.body);
    let number = expand(None, parts.number);
    // `is_of` allocates no memory, so a forged packet costs little.
    // `is_of` overwrites `plain`, so a valid packet is decrypted again below.
    if !is_of(key, &origin, number, parts.head, plain, &parts.tag) {
        return None;
    }
    let mut opener = key.opener(&origin);
    parts.open(&mut opener, plain).ok()?;
    Some((origin, opener))
}
