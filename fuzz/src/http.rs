//! Fields of HTTP requests and answers.

use http::{HeaderMap, HeaderName, HeaderValue};
use tailcut_rans::priority::{PRIORITY, class_of, field};
use tailcut_rans::via;
use tailcut_requests::Class;

/// Fields of one name: a line each, as far as they may be fields at all.
fn fields(name: &HeaderName, bytes: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n').take(64) {
        if let Ok(value) = HeaderValue::from_bytes(line) {
            headers.append(name, value);
        }
    }
    headers
}

/// `Priority` fields: they have a class, whatever they are.
///
/// # Panics
/// Where fields together are another class than as one list, or what comes last does not decide.
pub fn http_priority(bytes: &[u8]) {
    let mut headers = fields(&PRIORITY, bytes);
    let class = class_of(&headers);
    let texts = headers.get_all(PRIORITY).iter();
    let texts: Vec<&str> = texts.filter_map(|value| value.to_str().ok()).collect();
    // A field that leaves a string open would swallow the next one.
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

/// `Via` fields: whether a guard was on the way.
///
/// # Panics
/// Where a guard that says so is not found among others.
pub fn http_via(bytes: &[u8]) {
    let mut headers = fields(&http::header::VIA, bytes);
    let _ = via::tells_guard(&headers);
    via::say(&mut headers);
    assert!(via::tells_guard(&headers));
}
