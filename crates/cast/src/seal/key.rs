//! Pre-shared key with its text format, and the keys that are derived from it.

use super::packets::{Opener, Sealer};
use super::random::{NoRandomness, random};
use core::fmt;
use core::str::FromStr;
use ring::{aead, digest, hkdf, hmac};

/// First word in the text format of a key.
const NAME: &str = "tailcut-cast-key-1";

/// Random bytes of an origin. They make the keys of the origin unique.
pub type Salt = [u8; 16];

/// Cipher of packets. Both ciphers have tags of 16 bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Cipher {
    /// AES with 128 bits in Galois/Counter Mode (NIST SP 800-38D).
    /// This cipher is faster on processors with AES instructions, which nearly all servers have.
    #[default]
    Aes128Gcm,
    /// ChaCha20 and Poly1305 (RFC 8439). This cipher is faster on processors without AES instructions.
    ChaCha20Poly1305,
}

impl Cipher {
    /// All ciphers.
    pub const ALL: [Cipher; 2] = [Self::Aes128Gcm, Self::ChaCha20Poly1305];

    /// Returns the cipher's name: `aes-128-gcm` or `chacha20-poly1305`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Aes128Gcm => "aes-128-gcm",
            Self::ChaCha20Poly1305 => "chacha20-poly1305",
        }
    }

    pub(super) fn algorithm(self) -> &'static aead::Algorithm {
        match self {
            Self::Aes128Gcm => &aead::AES_128_GCM,
            Self::ChaCha20Poly1305 => &aead::CHACHA20_POLY1305,
        }
    }
}

/// Direction of the packets of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From a sender of the object to a receiver.
    Forward,
    /// From a receiver of the object to a sender.
    Backward,
}

/// Source of packets. Each origin has its own keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Identifier of the origin's session.
    pub session: u64,
    /// Index of a sender in the session (its share of the symbols).
    /// For a receiver, the index of the sender that it answers.
    pub share: u16,
    /// Direction of the packets: an origin sends either symbols or requests.
    pub direction: Direction,
    /// Random bytes that [`Origin::new`] has drawn for this session.
    pub salt: Salt,
}

impl Origin {
    /// Creates the origin of this end with a new random salt.
    /// Create a new origin for each session and after each restart.
    ///
    /// # Errors
    /// The operating system returned no random bytes.
    pub fn new(session: u64, share: u16, direction: Direction) -> Result<Self, NoRandomness> {
        Ok(Self {
            session,
            share,
            direction,
            salt: random()?,
        })
    }

    /// Returns all fields in the encoding of the key derivation.
    fn bytes(&self) -> [u8; 27] {
        let mut bytes = [0; 27];
        bytes[..8].copy_from_slice(&self.session.to_be_bytes());
        bytes[8..11].copy_from_slice(&self.place());
        bytes[11..].copy_from_slice(&self.salt);
        bytes
    }

    /// Returns the encoded share and direction.
    pub(super) fn place(&self) -> [u8; 3] {
        let [high, low] = self.share.to_be_bytes();
        let direction = match self.direction {
            Direction::Forward => 0,
            Direction::Backward => 1,
        };
        [high, low, direction]
    }
}

/// Pre-shared key of both ends of a session.
#[derive(Clone)]
pub struct Key {
    cipher: Cipher,
    secret: [u8; 32],
    /// Result of HKDF-Extract for the secret.
    extracted: hkdf::Prk,
}

impl Key {
    /// Draws a new key.
    ///
    /// # Errors
    /// The operating system returned no random bytes.
    pub fn generate(cipher: Cipher) -> Result<Self, NoRandomness> {
        Ok(Self::new(cipher, random()?))
    }

    /// Creates a key from the bytes of a secret.
    pub fn new(cipher: Cipher, secret: [u8; 32]) -> Self {
        Self {
            cipher,
            extracted: hkdf::Salt::new(hkdf::HKDF_SHA256, NAME.as_bytes()).extract(&secret),
            secret,
        }
    }

    /// Returns the cipher of the key.
    pub fn cipher(&self) -> Cipher {
        self.cipher
    }

    /// Returns the key as a line of text without an end of line, in the format that [`Key::from_str`] reads.
    /// The line has four words: a name with a version, the cipher, the 32 bytes, and a check value.
    /// The check value is the first 4 bytes of a SHA-256 hash. Bytes are in hexadecimal.
    /// The line is as secret as the key.
    pub fn to_line(&self) -> String {
        let mut line = format!("{NAME} {} ", self.cipher.name());
        push_hex(&mut line, &self.secret);
        line.push(' ');
        push_hex(&mut line, &self.check());
        line
    }

    /// Returns 8 bytes in hexadecimal that identify the key without revealing it.
    pub fn fingerprint(&self) -> String {
        let mut text = String::new();
        push_hex(&mut text, &self.derive::<8>(&[b"fingerprint"]));
        text
    }

    /// Returns the state that encrypts the packets of this end.
    pub fn sealer(&self, own: &Origin) -> Sealer {
        Sealer::new(self.clone(), *own)
    }

    /// Returns the state that decrypts the packets of a peer.
    pub fn opener(&self, peer: &Origin) -> Opener {
        Opener::new(self.clone(), *peer)
    }

    /// Returns the answer to a random `challenge` of the other end.
    /// The answer proves that this end has the key now, and that this end is the origin `own`.
    pub fn proof(&self, own: &Origin, challenge: &Salt) -> [u8; 32] {
        let tag = hmac::sign(&self.prover(own), challenge);
        let mut proof = [0; 32];
        proof.copy_from_slice(tag.as_ref());
        proof
    }

    /// Returns whether `proof` is the right answer of `peer` to `challenge`.
    /// The time of this call does not depend on `proof`, so that the time reveals nothing about the right answer.
    pub fn proves(&self, peer: &Origin, challenge: &Salt, proof: &[u8]) -> bool {
        hmac::verify(&self.prover(peer), challenge, proof).is_ok()
    }

    fn prover(&self, origin: &Origin) -> hmac::Key {
        let key = self.derive::<32>(&[b"proof", &origin.bytes()]);
        hmac::Key::new(hmac::HMAC_SHA256, &key)
    }

    /// Returns the key of an origin's packets. A generation covers [`GENERATION`](super::GENERATION) packet numbers.
    pub(super) fn packet_key(&self, origin: &Origin, generation: u64) -> aead::LessSafeKey {
        let algorithm = self.cipher.algorithm();
        let mut bytes = [0; 32];
        let bytes = &mut bytes[..algorithm.key_len()];
        self.fill(
            &[b"packets", &origin.bytes(), &generation.to_be_bytes()],
            bytes,
        );
        let key = aead::UnboundKey::new(algorithm, bytes);
        aead::LessSafeKey::new(key.expect("as long as the algorithm's keys"))
    }

    fn derive<const N: usize>(&self, info: &[&[u8]]) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(info, &mut bytes);
        bytes
    }

    /// Fills `bytes` with HKDF-Expand of the cipher's name followed by `info`. Two uses must never have the same input.
    /// So the first part of `info` is different for each use (length or content). The other parts have fixed lengths.
    fn fill(&self, info: &[&[u8]], bytes: &mut [u8]) {
        let mut all: [&[u8]; 5] = [self.cipher.name().as_bytes(), b" ", b"", b"", b""];
        all[2..2 + info.len()].copy_from_slice(info);
        let expanded = self
            .extracted
            .expand(&all[..2 + info.len()], Length(bytes.len()));
        let filled = expanded.and_then(|okm| okm.fill(bytes));
        filled.expect("32 bytes at most, of the 8,160 that HKDF can produce");
    }

    fn check(&self) -> [u8; 4] {
        let mut context = digest::Context::new(&digest::SHA256);
        context.update(NAME.as_bytes());
        context.update(self.cipher.name().as_bytes());
        context.update(&self.secret);
        let digest = context.finish();
        core::array::from_fn(|i| digest.as_ref()[i])
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.fingerprint())
    }
}

struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

/// Error in the text of a key. The error reveals nothing about the secret.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KeyError {
    /// The line does not have four words.
    #[error("a key is one line of 4 words (\"{NAME} CIPHER SECRET CHECK\"): this has {found}")]
    Words {
        /// Number of words in the line.
        found: usize,
    },
    /// The line begins with another name or version.
    #[error("a key begins with \"{NAME}\": this does not")]
    Name,
    /// The second word is not the name of a cipher.
    #[error(
        "the second word of a key is {} or {}: this one's is not",
        Cipher::ALL[0].name(),
        Cipher::ALL[1].name()
    )]
    Cipher,
    /// The third word does not have 64 hexadecimal digits.
    #[error(
        "the third word of a key has 64 hexadecimal digits (0 to 9, a to f): this one's has \
         {found} characters, or others"
    )]
    Secret {
        /// Number of characters of the third word.
        found: usize,
    },
    /// The fourth word does not match the other words. A digit is wrong or missing.
    #[error("the last word of a key does not fit the others: it was cut off or mistyped")]
    Check,
}

impl FromStr for Key {
    type Err = KeyError;

    /// Parses the line of [`Key::to_line`], with or without an end of line.
    fn from_str(line: &str) -> Result<Self, KeyError> {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let words: Vec<_> = line.split(' ').collect();
        let &[name, cipher, secret, check] = &words[..] else {
            return Err(KeyError::Words { found: words.len() });
        };
        if name != NAME {
            return Err(KeyError::Name);
        }
        let cipher = Cipher::ALL.into_iter().find(|c| c.name() == cipher);
        let cipher = cipher.ok_or(KeyError::Cipher)?;
        let found = secret.chars().count();
        let secret = read_hex(secret).ok_or(KeyError::Secret { found })?;
        let key = Self::new(cipher, secret);
        if read_hex(check) == Some(key.check()) {
            Ok(key)
        } else {
            Err(KeyError::Check)
        }
    }
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    text.extend(digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)));
}

/// Parses `N` bytes from lower-case hexadecimal digits. Returns `None` for any other text.
fn read_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut bytes = [0; N];
    for (byte, &[high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(high)? << 4 | digit(low)?;
    }
    Some(bytes)
}
