//! The field `Via` (RFC 9110, section 7.6.3): a guard names itself there, and a client detects guards by it.

use http::{HeaderMap, HeaderValue, header};

/// The guard's name.
const NAME: &str = "tailcut-guard";

/// Says that a guard was here: what is dropped at it is purged.
pub fn say(headers: &mut HeaderMap) {
    headers.append(header::VIA, HeaderValue::from_static("1.1 tailcut-guard"));
}

/// Whether a guard was on the way.
pub fn tells_guard(headers: &HeaderMap) -> bool {
    let fields = headers.get_all(header::VIA).iter();
    let texts = fields.filter_map(|field| field.to_str().ok());
    // Each member is a protocol and a name, and may have a comment.
    let mut members = texts.flat_map(|text| text.split(','));
    members.any(|member| member.split_whitespace().nth(1) == Some(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_found_among_other_proxies() {
        let mut headers = HeaderMap::new();
        assert!(!tells_guard(&headers));
        headers.append(
            header::VIA,
            HeaderValue::from_static("1.0 fred, 1.1 p.example (x)"),
        );
        headers.append(
            header::VIA,
            HeaderValue::from_static("1.1 not-tailcut-guard"),
        );
        assert!(!tells_guard(&headers));
        say(&mut headers);
        assert!(tells_guard(&headers));
    }
}
