//! Encryption and decryption of packets of one origin.

use super::key::{Key, Origin};
use super::replay::ReplayWindow;
use core::fmt;
use ring::aead::{Aad, LessSafeKey, Nonce, Tag};

/// Bytes that encryption adds to a packet.
pub const TAG: usize = 16;

/// Number of packets that are encrypted with one key. The next packet has a new key.
/// With packets of up to 9,000 bytes, one key encrypts at most 2^35 blocks of 16 bytes.
/// An attacker distinguishes AES-128-GCM from noise with a probability below 2^-57 (RFC 9001, appendix B.1.1).
pub const GENERATION: u64 = 1 << 25;

/// Number of forged packets after which an opener accepts no more packets.
/// RFC 9001, section 6.6, has this limit for ChaCha20-Poly1305. For AES-128-GCM, 2^52 would be allowed.
const MAX_FORGED: u64 = 1 << 36;

/// Reason why a packet is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The packet's number was accepted before, or is too old for the window of numbers.
    #[error("a packet with this number was received before")]
    Replayed,
    /// The number is more than one [`GENERATION`] ahead of the largest accepted number, or its key is already deleted.
    #[error("the packet's number is too far ahead, or its key is deleted")]
    Ahead,
    /// The packet does not come from this origin, or was changed on the path.
    #[error("the packet was made without the key, or was changed on its way")]
    Forged,
    /// Too many forged packets have arrived for one key. The session must end.
    #[error("too many forged packets: the session's key is not safe any more")]
    Worn,
}

/// State that encrypts the packets of one origin.
pub struct Sealer {
    key: Key,
    own: Origin,
    current: Generation,
    /// Smallest number that the next packet may have. No number may be used twice.
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

    /// Encrypts `payload` in place. Returns the tag, which also protects `header`.
    /// Each call needs a larger number than the calls before.
    ///
    /// # Errors
    /// `number` was used or skipped before. The error is the smallest allowed number.
    /// Two packets with the same number would reveal their contents.
    pub fn seal(
        &mut self,
        number: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<[u8; TAG], u64> {
        // `next` must become `number + 1`, so the largest number cannot be used.
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
        // Encryption fails only for more than 2^36 bytes.
        let sealed = sealed.map_err(|_| self.next)?;
        let mut tag = [0; TAG];
        tag.copy_from_slice(sealed.as_ref());
        Ok(tag)
    }
}

/// Returns whether a packet of `peer` is valid, for a peer without stored state.
/// The function stores nothing and allocates no memory. The content of `payload` is undefined afterwards.
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

/// State that decrypts the packets of one origin.
pub struct Opener {
    key: Key,
    peer: Origin,
    current: Generation,
    /// Key of the previous generation, for late packets.
    previous: Option<Generation>,
    /// Key of the next generation. It is created for the first packet that claims to belong to this generation.
    /// Such a packet may be forged.
    next: Option<Generation>,
    /// Numbers of accepted packets.
    seen: ReplayWindow,
    /// Number of forged packets.
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

    /// Decrypts `payload` in place if `tag` is valid for `payload` and `header`.
    /// If the packet is refused, only the count of forged packets changes, and the content of `payload` is undefined.
    ///
    /// # Errors
    /// The reason why the packet is refused.
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
        // The check of the number is cheap, so it comes before the decryption.
        if !self.seen.is_new(number) {
            return Err(Refusal::Replayed);
        }
        let of = number / GENERATION;
        let current = self.current.number;
        let generation = if of == current {
            &self.current
        } else if of == current + 1 {
            let next = || Generation::new(&self.key, &self.peer, of);
            // The key is stored. Otherwise each forged packet would cause a key derivation.
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
        // The number is recorded only after the tag was checked. Otherwise a forged packet could use up the number.
        self.seen.take(number);
        // The packet is valid, so the sender has really begun the next generation.
        if of > current
            && let Some(next) = self.next.take()
        {
            self.previous = Some(core::mem::replace(&mut self.current, next));
        }
        Ok(())
    }

    /// Returns the full packet number that has these lower 32 bits and is closest to the largest accepted number.
    pub fn expand(&self, truncated: u32) -> u64 {
        expand(self.seen.largest(), truncated)
    }

    /// Returns the number of forged packets.
    pub fn forged(&self) -> u64 {
        self.forged
    }
}

/// Returns the full packet number with these lower 32 bits that is closest to `largest` plus one.
/// Source: RFC 9000, appendix A.3.
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

/// Key of one generation of packets. Generation 0 begins at packet 0. Each generation has [`GENERATION`] packets.
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

/// Returns the nonce: share, direction, a zero byte, and the packet number.
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
