//! Validators show whether two answers are parts of the same bytes.
//! The first validator is a strong entity tag (RFC 9110, section 8.8.3).
//! The second one is the position of a part in the whole object (`Content-Range`, section 14.4).

use http::{HeaderMap, HeaderName, HeaderValue, header};

/// Strong entity tag. Two answers with equal tags have the same bytes, if the origin is correct.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StrongTag(HeaderValue);

impl StrongTag {
    /// Reads the value of `ETag`, such as `"5f3c-1a"`.
    /// Returns `None` if the value is weak (`W/"..."`) or not an entity tag.
    pub fn read(value: &HeaderValue) -> Option<Self> {
        let inner = value.as_bytes().strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let allowed = |byte: &u8| matches!(byte, 0x21 | 0x23..=0x7e | 0x80..);
        inner.iter().all(allowed).then(|| Self(value.clone()))
    }

    /// Returns the tag as the value of a field, with quotes.
    pub const fn value(&self) -> &HeaderValue {
        &self.0
    }

    /// Returns the tag of an answer. Returns `None` if the answer has no tag, a weak tag, or several tags.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        Self::read(only(headers, &header::ETAG)?)
    }
}

/// Range of the whole object that an answer contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContentRange {
    /// Offset of the first byte.
    pub from: u64,
    /// Offset after the last byte, above `from`.
    pub to: u64,
    /// Size of the whole object in bytes, at least `to`.
    pub total: u64,
}

impl ContentRange {
    /// Reads the value of `Content-Range`, such as `bytes 0-99/1000`.
    /// Returns `None` if the value has another unit, no total size (`*`), no range, or an impossible range.
    pub fn read(value: &HeaderValue) -> Option<Self> {
        let (unit, rest) = value.to_str().ok()?.split_once(' ')?;
        let (range, total) = rest.trim_matches([' ', '\t']).split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let [from, last, total] = [first, last, total].map(number);
        let (from, to, total) = (from?, last?.checked_add(1)?, total?);
        let makes_sense = unit.eq_ignore_ascii_case("bytes") && from < to && to <= total;
        makes_sense.then_some(Self { from, to, total })
    }

    /// Returns the range of an answer. Returns `None` if the answer has no valid range, or several ranges.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        Self::read(only(headers, &header::CONTENT_RANGE)?)
    }
}

/// Parses a number that has only digits. The parser of `u64` would also accept a sign.
fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Returns the value of a field that occurs exactly once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut values = headers.get_all(name).iter();
    values.next().filter(|_| values.next().is_none())
}

/// Returns whether an answer contains the bytes of the object without compression.
pub(super) fn is_identity(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> Option<(u64, u64, u64)> {
        let value = HeaderValue::from_str(text).expect("a value");
        ContentRange::read(&value).map(|read| (read.from, read.to, read.total))
    }

    #[test]
    fn a_content_range_is_read_where_it_makes_sense() {
        assert_eq!(range("bytes 0-99/1000"), Some((0, 100, 1_000)));
        assert_eq!(range("Bytes 999-999/1000"), Some((999, 1_000, 1_000)));
        let max = u64::MAX;
        assert_eq!(range(&format!("bytes 0-0/{max}")), Some((0, 1, max)));
        for wrong in [
            "",
            "bytes",
            "bytes 0-99",
            "bytes 0-99/*",
            "bytes */1000",
            "bytes 100-99/1000",
            "bytes 0-1000/1000",
            "bytes -5/1000",
            "bytes 0-/1000",
            "bytes +0-99/1000",
            "bytes 0-99/1000/2000",
            "bytes=0-99/1000",
            "items 0-99/1000",
            "bytes 0-18446744073709551615/18446744073709551615",
            "bytes 0-99/18446744073709551616",
        ] {
            assert_eq!(range(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn only_a_single_strong_tag_counts() {
        let of = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                let value = HeaderValue::from_bytes(value.as_bytes()).expect("a value");
                headers.append(header::ETAG, value);
            }
            StrongTag::of(&headers).map(|tag| tag.value().as_bytes().to_vec())
        };
        for strong in ["\"\"", "\"5f3c-1a\"", "\"W/\"", "\"\u{e4}\""] {
            assert_eq!(of(&[strong]), Some(strong.as_bytes().to_vec()));
        }
        for other in [
            "W/\"a\"", "a", "\"a", "a\"", "\"", "", "\"a\"b\"", "\"a b\"",
        ] {
            assert_eq!(of(&[other]), None, "{other:?}");
        }
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["\"a\"", "\"b\""]), None);
    }

    #[test]
    fn compressed_bytes_are_not_those_of_the_object() {
        let of = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(value));
            is_identity(&headers)
        };
        assert!(is_identity(&HeaderMap::new()) && of("Identity"));
        assert!(!of("gzip") && !of("identity, br"));
    }
}
