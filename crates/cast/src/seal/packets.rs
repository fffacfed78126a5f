//! Packets of one origin, sealed and opened.

use super::key::{Key, Origin};
use super::replay::ReplayWindow;
use core::fmt;
use ring::aead::{Aad, LessSafeKey, Nonce, Tag};

/// Bytes that a sealed packet is longer.
pub const TAG: usize = 16;

/// Packet numbers under one key; then the next one is derived. With packets of up to 9,000 bytes
/// somebody's chance to tell AES-128-GCM from noise stays below 2^-57 for each key (RFC 9001, appendix
/// B.1.1: 2^35 blocks of 16 bytes in all).
pub const GENERATION: u64 = 1 << 25;

/// Packets that are not authentic after which an opener takes no more: RFC 9001, section 6.6, for
/// ChaCha20-Poly1305; AES-128-GCM would allow 2^52.
const MAX_FORGED: u64 = 1 << 36;

/// Why a packet is not opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Its number has come before, or is too old to know.
    Replayed,
    /// It is more than a [`GENERATION`] ahead of the largest that was opened, or so old that the key has
    /// gone.
    Ahead,
    /// It is not of this origin, or was changed on its way.
    Forged,
    /// So many were forged that the key is not safe any more: the session has to end.
    Worn,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Replayed => "a packet of this number has come before",
            Self::Ahead => "the packet's number is too far ahead",
            Self::Forged => "the packet was made without the key, or changed on its way",
            Self::Worn => "so many packets were forged that the session's key is not safe any more",
        })
    }
}

impl std::error::Error for Refusal {}

/// Protects what one origin sends.
pub struct Sealer {
    key: Key,
    own: Origin,
    current: Generation,
    /// The least number that may be sealed: each is used once.
    next: u64,
}

impl Sealer {
    pub(super) fn new(key: Key, own: Origin) -> Self {
        Self {
            current: Generation::new(&key, &own, 0),
            key,
            own,
            next: 0,
        }
    }

    /// Encrypts `payload` in place and gives its tag, which also covers `header`. Numbers ascend from
    /// call to call.
    ///
    /// # Errors
    /// Gives the least number that is allowed if `number` is below it: two packets with the same number
    /// would give away what they hold.
    pub fn seal(
        &mut self,
        number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<[u8; TAG], u64> {
        if number < self.next || number == u64::MAX {
            return Err(self.next);
        }
        self.next = number + 1;
        if self.current.number != number / GENERATION {
            self.current = Generation::new(&self.key, &self.own, number / GENERATION);
        }
        let sealed = self.current.key.seal_in_place_separate_tag(
            nonce(&self.own, number),
            Aad::from(header),
            payload,
        );
        // It fails beyond 2^36 bytes only.
        let sealed = sealed.map_err(|_| self.next)?;
        let mut tag = [0; TAG];
        tag.copy_from_slice(sealed.as_ref());
        Ok(tag)
    }
}

/// Whether a packet is one of `peer`, of whom nothing else is known. It keeps nothing, and allocates
/// nothing. What lies in `payload` is of no use any more.
pub(crate) fn is_of(
    key: &Key,
    peer: &Origin,
    number: u64,
    header: &[u8],
    payload: &mut [u8],
    tag: &[u8; TAG],
) -> bool {
    let generation = Generation::new(key, peer, number / GENERATION);
    let opened = generation.key.open_in_place_separate_tag(
        nonce(peer, number),
        Aad::from(header),
        Tag::from(*tag),
        payload,
        0..,
    );
    opened.is_ok()
}

/// Opens what one origin has sent.
pub struct Opener {
    key: Key,
    peer: Origin,
    current: Generation,
    /// The one before: packets of it may still come.
    previous: Option<Generation>,
    /// The one after, once a packet that says so has come: it may be forged.
    next: Option<Generation>,
    seen: ReplayWindow,
    forged: u64,
}

impl Opener {
    pub(super) fn new(key: Key, peer: Origin) -> Self {
        Self {
            current: Generation::new(&key, &peer, 0),
            key,
            peer,
            previous: None,
            next: None,
            seen: ReplayWindow::default(),
            forged: 0,
        }
    }

    /// Decrypts `payload` in place if `tag` is its and `header`'s. What is refused changes nothing but
    /// the count of forged packets, and what lies in `payload`, which is of no use then.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn open(
        &mut self,
        number: u64,
        header: &[u8],
        payload: &mut [u8],
        tag: &[u8; TAG],
    ) -> Result<(), Refusal> {
        if self.forged >= MAX_FORGED {
            return Err(Refusal::Worn);
        }
        if !self.seen.is_new(number) {
            return Err(Refusal::Replayed);
        }
        let of = number / GENERATION;
        let current = self.current.number;
        let generation = if of == current {
            &self.current
        } else if of == current + 1 {
            let next = || Generation::new(&self.key, &self.peer, of);
            self.next.get_or_insert_with(next)
        } else {
            match &self.previous {
                Some(previous) if previous.number == of => previous,
                _ => return Err(Refusal::Ahead),
            }
        };
        let opened = generation.key.open_in_place_separate_tag(
            nonce(&self.peer, number),
            Aad::from(header),
            Tag::from(*tag),
            payload,
            0..,
        );
        if opened.is_err() {
            self.forged += 1;
            return Err(Refusal::Forged);
        }
        self.seen.take(number);
        if of > current
            && let Some(next) = self.next.take()
        {
            self.previous = Some(core::mem::replace(&mut self.current, next));
        }
        Ok(())
    }

    /// The packet number of which these are the lower 32 bits, by the largest that has been opened.
    pub fn expand(&self, truncated: u32) -> u64 {
        expand(self.seen.largest(), truncated)
    }

    /// How many packets were forged.
    pub fn forged(&self) -> u64 {
        self.forged
    }
}

/// The packet number with these lower 32 bits that is closest to the one after `largest` (RFC 9000,
/// appendix A.3).
pub fn expand(largest: Option<u64>, truncated: u32) -> u64 {
    const WINDOW: u64 = 1 << 32;
    let expected = largest.map_or(0, |largest| largest.saturating_add(1));
    let candidate = expected & !(WINDOW - 1) | u64::from(truncated);
    if candidate.saturating_add(WINDOW / 2) <= expected && candidate <= u64::MAX - WINDOW {
        candidate + WINDOW
    } else if candidate > expected.saturating_add(WINDOW / 2) && candidate >= WINDOW {
        candidate - WINDOW
    } else {
        candidate
    }
}

/// A key and the numbers that it is for: [`GENERATION`] from `number` times that on.
struct Generation {
    number: u64,
    key: LessSafeKey,
}

impl Generation {
    fn new(key: &Key, origin: &Origin, number: u64) -> Self {
        Self {
            number,
            key: key.packet_key(origin, number),
        }
    }
}

/// Share, direction, a byte of 0, and the packet number.
fn nonce(origin: &Origin, number: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[..3].copy_from_slice(&origin.place());
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let next = self.next;
        f.debug_struct("Sealer")
            .field("next", &next)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Opener");
        debug.field("largest", &self.seen.largest());
        debug.field("forged", &self.forged).finish_non_exhaustive()
    }
}
