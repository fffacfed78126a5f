//! Field `Via` (RFC 9110, section 7.6.3). A guard adds its name to the field, and a client detects guards by this name.

use http::{HeaderMap, HeaderValue, header};

/// Name of the guard in the field.
const NAME: &str = "tailcut-guard";

/// Adds the guard's name. The name means that this proxy purges requests that are dropped.
pub fn add_guard(headers: &mut HeaderMap) {
    headers.append(header::VIA, HeaderValue::from_static("1.1 tailcut-guard"));
}

/// Returns whether a guard was on the path.
pub fn names_guard(headers: &HeaderMap) -> bool {
    let fields = headers.get_all(header::VIA).iter();
    let texts = fields.filter_map(|field| field.to_str().ok());
    // Each member of the list consists of a protocol and a name, and may have a comment.
    let mut members = texts.flat_map(|text| text.split(','));
    members.any(|member| member.split_whitespace().nth(1) == Some(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_found_among_other_proxies() {
        let mut headers = HeaderMap::new();
        assert!(!names_guard(&headers));
        headers.append(
            header::VIA,
            HeaderValue::from_static("1.0 fred, 1.1 p.example (x)"),
        );
        headers.append(
            header::VIA,
            HeaderValue::from_static("1.1 not-tailcut-guard"),
        );
        assert!(!names_guard(&headers));
        add_guard(&mut headers);
        assert!(names_guard(&headers));
    }
}
