//! Target for header fields of HTTP answers.

use http::{HeaderMap, HeaderValue};
use tailcut_rans::ranges::{ContentRange, Digest, StrongTag};

/// Reads `Content-Range`, `ETag` and the three digest fields. Each line of the input is the value of all these fields.
///
/// # Panics
/// If a range is impossible, or if a tag differs from its text.
/// If a range or a digest changes when it is written and read again.
pub fn http_part(bytes: &[u8]) {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(value) = HeaderValue::from_bytes(line) else {
            continue;
        };
        if let Some(range) = ContentRange::read(&value) {
            let ContentRange { from, to, total } = range;
            assert!(from < to && to <= total);
            let written = format!("bytes {from}-{}/{total}", to - 1);
            let written = HeaderValue::from_str(&written).expect("a value");
            assert_eq!(ContentRange::read(&written), Some(range));
        }
        if let Some(tag) = StrongTag::read(&value) {
            assert_eq!(tag.value(), &value);
            assert!(line.len() >= 2 && line.starts_with(b"\"") && line.ends_with(b"\""));
        }
        for name in [
            "content-range",
            "etag",
            "repr-digest",
            "content-digest",
            "digest",
        ] {
            headers.append(name, value.clone());
        }
    }
    let is_single = headers.get_all("etag").iter().count() == 1;
    assert!(is_single || StrongTag::of(&headers).is_none());
    assert!(is_single || ContentRange::of(&headers).is_none());
    for digest in [Digest::of_object(&headers), Digest::of_content(&headers)] {
        let Some(digest) = digest else { continue };
        let written = HeaderValue::from_str(&format!("{digest:?}")).expect("a value");
        let mut headers = HeaderMap::new();
        headers.insert("repr-digest", written);
        assert_eq!(Digest::of_object(&headers), Some(digest));
    }
}
