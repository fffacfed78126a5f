//! Targets for header fields of HTTP requests and answers.

use http::{HeaderMap, HeaderName, HeaderValue};
use tailcut_rans::priority::{PRIORITY, class_of, field};
use tailcut_rans::via;
use tailcut_requests::Class;

/// Returns header fields with this name: one for each of the first 64 lines that is a valid value.
fn fields(name: &HeaderName, bytes: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n').take(64) {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(name, value);
        }
    }
    headers
}

/// Reads the class of a request from `Priority` fields. Fields without a valid urgency also have a class.
///
/// # Panics
/// If several fields give another class than one field with all their values.
/// If a field that is added at the end does not decide the class.
pub fn http_priority(bytes: &[u8]) {
    let mut headers = fields(&PRIORITY, bytes);
    let class = class_of(&headers);
    let texts = headers.get_all(PRIORITY).iter();
    let texts: Vec<&str> = texts.filter_map(|value| value.to_str().ok()).collect();
    // A field that ends within a string is an exception.
    // In the joined list, this string also contains the next field, so the class may differ.
    if !texts.iter().any(|text| text.contains('"')) {
        let mut joined = HeaderMap::new();
        let list = HeaderValue::from_str(&texts.join(", ")).expect("a list of fields");
        joined.insert(PRIORITY, list);
        assert_eq!(class_of(&joined), class);
    }
    for last in Class::ALL {
        headers.append(PRIORITY, field(last));
        assert_eq!(class_of(&headers), last);
    }
}

/// Reads from `Via` fields whether a guard was on the path.
///
/// # Panics
/// If a guard in a list with other proxies is not found.
pub fn http_via(bytes: &[u8]) {
    let mut headers = fields(&http::header::VIA, bytes);
    let _ = via::names_guard(&headers);
    via::add_guard(&mut headers);
    assert!(via::names_guard(&headers));
}
