//! Digests that an origin sends together with its bytes.
//! The fields are `Repr-Digest` and `Content-Digest` (RFC 9530), and the older `Digest` (RFC 3230).
//! The algorithms are SHA-256 and SHA-512.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName};
use sha2::{Digest as _, Sha256, Sha512};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Field with the digest of the whole object, even if the answer contains only a part (RFC 9530, section 3).
const REPR_DIGEST: HeaderName = HeaderName::from_static("repr-digest");
/// Field with the digest of the bytes in the answer (RFC 9530, section 2).
const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");
/// Older field with the same meaning as `Repr-Digest`, in another notation (RFC 3230, section 4.3.2).
const DIGEST: HeaderName = HeaderName::from_static("digest");

/// Expected digest of bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Digest {
    /// SHA-256.
    Sha256([u8; 32]),
    /// SHA-512.
    Sha512([u8; 64]),
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, bytes) = match self {
            Self::Sha256(bytes) => ("sha-256", bytes.as_slice()),
            Self::Sha512(bytes) => ("sha-512", bytes.as_slice()),
        };
        write!(f, "{name}=:{}:", STANDARD.encode(bytes))
    }
}

impl Digest {
    /// Returns the digest of the whole object, if an answer contains it.
    pub fn of_object(headers: &HeaderMap) -> Option<Self> {
        strongest(headers, &REPR_DIGEST, bare)
            .or_else(|| strongest(headers, &DIGEST, |value| Some(value)))
    }

    /// Returns the digest of an answer's bytes, if the answer contains it.
    pub fn of_content(headers: &HeaderMap) -> Option<Self> {
        strongest(headers, &CONTENT_DIGEST, bare)
    }

    fn new(algorithm: &str, bytes: &[u8]) -> Option<Self> {
        match algorithm {
            _ if algorithm.eq_ignore_ascii_case("sha-256") => {
                bytes.try_into().ok().map(Self::Sha256)
            }
            _ if algorithm.eq_ignore_ascii_case("sha-512") => {
                bytes.try_into().ok().map(Self::Sha512)
            }
            _ => None,
        }
    }
}

/// Returns a byte sequence (RFC 9651, section 3.3.5) without its colons.
fn bare(value: &str) -> Option<&str> {
    let value = value.split(';').next()?.trim();
    value.strip_prefix(':')?.strip_suffix(':')
}

/// Returns the strongest digest that can be parsed. Other digests are ignored.
fn strongest(
    headers: &HeaderMap,
    name: &HeaderName,
    unwrap: fn(&str) -> Option<&str>,
) -> Option<Digest> {
    let fields = headers.get_all(name).iter();
    let texts = fields.filter_map(|field| field.to_str().ok());
    // Several fields with the same name form one list. Base64 contains no comma, so commas separate the members.
    let members = texts.flat_map(|text| text.split(','));
    let read = members.filter_map(|member| {
        let (algorithm, value) = member.split_once('=')?;
        let bytes = STANDARD.decode(unwrap(value.trim())?).ok()?;
        Digest::new(algorithm.trim(), &bytes)
    });
    read.max_by_key(|digest| matches!(digest, Digest::Sha512(_)))
}

/// Digest of an object that one of several replicas sends, perhaps after the first bytes of the object.
#[derive(Clone, Debug, Default)]
pub(super) struct OfferedDigest(Arc<Mutex<Option<Digest>>>);

impl OfferedDigest {
    /// Adds the digest of a replica. Returns `false` if it differs from the digest of another replica.
    /// Digests of different algorithms cannot be compared. Then the first one is used.
    pub fn add(&self, digest: Option<Digest>) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (*known, digest) {
            (Some(known), Some(digest)) => {
                std::mem::discriminant(&known) != std::mem::discriminant(&digest) || known == digest
            }
            (None, digest) => {
                *known = digest;
                true
            }
            (Some(_), None) => true,
        }
    }

    pub fn get(&self) -> Option<Digest> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Comparison of received bytes with an expected digest.
#[derive(Clone, Debug)]
pub(super) struct Check {
    expected: OfferedDigest,
    sha256: Option<Sha256>,
    sha512: Option<Sha512>,
}

impl Check {
    pub fn new(expected: Digest) -> Self {
        let offered = OfferedDigest::default();
        offered.add(Some(expected));
        Self::of_object(offered)
    }

    /// Creates the check of an object whose digest may arrive later than its first bytes.
    /// The algorithm is unknown until then, so both digests are computed.
    pub fn of_object(expected: OfferedDigest) -> Self {
        let known = expected.get();
        let is_256 = known.is_none_or(|digest| matches!(digest, Digest::Sha256(_)));
        let is_512 = known.is_none_or(|digest| matches!(digest, Digest::Sha512(_)));
        Self {
            expected,
            sha256: is_256.then(Sha256::new),
            sha512: is_512.then(Sha512::new),
        }
    }

    /// Returns whether a digest is known.
    pub fn is_known(&self) -> bool {
        self.expected.get().is_some()
    }

    pub fn add(&mut self, bytes: &[u8]) {
        if let Some(hash) = &mut self.sha256 {
            hash.update(bytes);
        }
        if let Some(hash) = &mut self.sha512 {
            hash.update(bytes);
        }
    }

    /// Returns whether the bytes match the digest. Without a digest, any bytes match.
    pub fn holds(self) -> bool {
        match self.expected.get() {
            None => true,
            Some(Digest::Sha256(expected)) => self
                .sha256
                .is_some_and(|hash| hash.finalize()[..] == expected),
            Some(Digest::Sha512(expected)) => self
                .sha512
                .is_some_and(|hash| hash.finalize()[..] == expected),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    /// Digest of "hello", computed with `openssl dgst`.
    const SHA_256: &str = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=";

    fn headers(name: HeaderName, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_str(value).expect("a value"));
        headers
    }

    fn holds(digest: Option<Digest>, bytes: &[u8]) -> bool {
        let mut check = Check::new(digest.expect("a digest"));
        check.add(bytes);
        check.holds()
    }

    #[test]
    fn each_field_is_read_in_its_own_spelling() {
        let new = format!("unixsum=30637, sha-256=:{SHA_256}:;a=1");
        let of_object = Digest::of_object(&headers(REPR_DIGEST, &new));
        assert!(holds(of_object, b"hello") && !holds(of_object, b"hellO"));
        let content = headers(CONTENT_DIGEST, &new);
        assert!(holds(Digest::of_content(&content), b"hello"));
        assert_eq!(Digest::of_object(&content), None);
        let old = headers(
            DIGEST,
            &format!("SHA-256={SHA_256},md5=XUFAKrxLKna5cZ2REBfFkg=="),
        );
        assert!(holds(Digest::of_object(&old), b"hello"));
    }

    #[test]
    fn the_longer_digest_is_taken_and_what_cannot_be_read_is_none() {
        let zeros = STANDARD.encode([0; 64]);
        let both = format!("sha-512=:{zeros}:, sha-256=:{SHA_256}:");
        let read = Digest::of_object(&headers(REPR_DIGEST, &both));
        assert_eq!(read, Some(Digest::Sha512([0; 64])));
        for wrong in [
            "",
            "sha-256",
            "sha-256=::",
            "sha-256=:AAAA:",
            &format!("sha-256={SHA_256}"),
            &format!("sha-256=:{zeros}:"),
            &format!("md5=:{SHA_256}:"),
        ] {
            let read = Digest::of_object(&headers(REPR_DIGEST, wrong));
            assert_eq!(read, None, "{wrong:?}");
        }
    }
}
