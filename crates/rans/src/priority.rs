//! Class of a request, which is the urgency in its `Priority` field (RFC 9218, section 4.1).

use http::{HeaderMap, HeaderName, HeaderValue};
use tailcut_requests::Class;

/// Name of the field with the urgency.
pub const PRIORITY: HeaderName = HeaderName::from_static("priority");
/// Urgency of a request without a `Priority` field, 0 to 7 (RFC 9218, section 4.1).
const DEFAULT_URGENCY: u8 = 3;

/// Urgency of a class, 0 to 7.
pub const fn urgency(class: Class) -> u8 {
    match class {
        Class::Primary => DEFAULT_URGENCY,
        Class::Duplicate => 6,
        Class::Optional => 7,
    }
}

/// Returns the class for an urgency. Urgencies from 0 to 5 mean primaries.
pub const fn class(urgency: u8) -> Class {
    match urgency {
        0..=5 => Class::Primary,
        6 => Class::Duplicate,
        _ => Class::Optional,
    }
}

/// Returns the class of a request from its `Priority` field.
/// A field that cannot be parsed is ignored, as RFC 9218 requires.
pub fn class_of(headers: &HeaderMap) -> Class {
    // Several fields with this name form one list.
    let fields = headers.get_all(PRIORITY).iter();
    let texts = fields.filter_map(|field| field.to_str().ok());
    let urgencies = texts.flat_map(members).filter_map(urgency_in);
    // If the list contains several urgencies, the last one counts (RFC 8941, section 3.2).
    class(urgencies.last().unwrap_or(DEFAULT_URGENCY))
}

/// Returns the members of a field. A comma inside a string (RFC 8941, section 3.3.3) does not separate members.
fn members(field: &str) -> impl Iterator<Item = &str> {
    let (mut in_string, mut is_escaped) = (false, false);
    field.split(move |character| {
        if std::mem::take(&mut is_escaped) {
            return false;
        }
        match character {
            '\\' => is_escaped = in_string,
            '"' => in_string = !in_string,
            ',' => return !in_string,
            _ => {}
        }
        false
    })
}

/// Returns the urgency of one member of the field, such as ` u=5;x`.
fn urgency_in(member: &str) -> Option<u8> {
    let item = member.split(';').next()?;
    let value = item.trim().strip_prefix("u=")?;
    value.parse().ok().filter(|urgency| *urgency <= 7)
}

/// Returns the field for a copy with this class.
pub fn field(class: Class) -> HeaderValue {
    match class {
        Class::Primary => HeaderValue::from_static("u=3"),
        Class::Duplicate => HeaderValue::from_static("u=6"),
        Class::Optional => HeaderValue::from_static("u=7"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(fields: &[&str]) -> Class {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(
                PRIORITY,
                HeaderValue::from_bytes(field.as_bytes()).expect("a field"),
            );
        }
        class_of(&headers)
    }

    #[test]
    fn the_last_urgency_that_can_be_read_says_the_class() {
        assert_eq!(of(&[]), Class::Primary);
        assert_eq!(of(&["u=6"]), Class::Duplicate);
        assert_eq!(of(&["i, u=7;a=b"]), Class::Optional);
        assert_eq!(of(&["u=0", "i"]), Class::Primary);
        assert_eq!(of(&["u=1, u=6"]), Class::Duplicate);
        assert_eq!(of(&[r#"a="x, u=6""#]), Class::Primary);
        assert_eq!(of(&[r#"a="x\", u=6", u=7"#]), Class::Optional);
        assert_eq!(of(&[r#"a="x", u=6"#]), Class::Duplicate);
        for wrong in [
            "u", "u=8", "u=-1", "u=six", "U=6", "xu=6", "u=6 5", "", ",,;;",
        ] {
            assert_eq!(of(&[wrong]), Class::Primary, "{wrong:?}");
        }
        for each in Class::ALL {
            let mut headers = HeaderMap::new();
            headers.insert(PRIORITY, field(each));
            assert_eq!(class_of(&headers), each);
            assert_eq!(class(urgency(each)), each);
        }
    }

    proptest! {
        #[test]
        fn any_field_has_a_class(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(field) = HeaderValue::from_bytes(&bytes) {
                let mut headers = HeaderMap::new();
                headers.insert(PRIORITY, field);
                let _ = class_of(&headers);
            }
        }
    }
}
