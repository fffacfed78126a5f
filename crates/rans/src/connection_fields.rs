//! Header fields that concern one connection only (RFC 9110, section 7.6.1).

use http::{HeaderMap, HeaderName, HeaderValue, header};
use http_body::Frame;

const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("http2-settings"),
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Fields that `Connection` may not name: they say where a request goes and how long a message is.
const END_TO_END: [HeaderName; 2] = [header::HOST, header::CONTENT_LENGTH];

/// Removes the header fields that concern one connection only.
/// The field `te: trailers` stays, because a proxy forwards trailers.
pub(crate) fn remove(headers: &mut HeaderMap) {
    // The lists of `TE` and `Connection` are read before these fields are removed.
    let takes_trailers = has_member(headers, &header::TE, "trailers");
    // `Connection` names further fields that concern the connection.
    let names: Vec<HeaderName> = members(headers, &header::CONNECTION)
        .filter_map(|name| name.parse().ok())
        .filter(|name| !END_TO_END.contains(name))
        .collect();
    for name in HOP_BY_HOP.iter().chain(&names) {
        headers.remove(name);
    }
    if takes_trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
}

/// Fields that a trailer section may not contain (RFC 9110, section 6.5.1), apart from fields of the connection.
/// hyper removes the same fields from the trailers that it sends over HTTP/1.1.
const NO_TRAILERS: [HeaderName; 11] = [
    header::AUTHORIZATION,
    header::CACHE_CONTROL,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::HOST,
    header::MAX_FORWARDS,
    header::SET_COOKIE,
    header::TE,
    header::TRAILER,
];

/// Removes the fields from the trailers of a message that a trailer section may not contain.
/// Over HTTP/2, fields of the connection would make the whole message invalid (RFC 9113, section 8.2.2).
pub(crate) fn remove_from_trailers<D>(frame: &mut Frame<D>) {
    if let Some(trailers) = frame.trailers_mut() {
        remove(trailers);
        for name in &NO_TRAILERS {
            trailers.remove(name);
        }
    }
}

/// Returns the members of a field whose value is a list.
pub(crate) fn members<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'h str> {
    let fields = headers.get_all(name).iter();
    let texts = fields.filter_map(|field| field.to_str().ok());
    texts.flat_map(|text| text.split(',')).map(str::trim)
}

/// Returns whether a list field has this member. Upper and lower case are equal.
pub(crate) fn has_member(headers: &HeaderMap, name: &HeaderName, member: &str) -> bool {
    members(headers, name).any(|found| {
        let found = found.split(';').next().unwrap_or_default();
        found.trim().eq_ignore_ascii_case(member)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(fields: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            let value = HeaderValue::from_str(value).expect("a value");
            headers.append(HeaderName::from_static(name), value);
        }
        headers
    }

    #[test]
    fn what_connection_names_goes_too_and_trailers_are_still_taken() {
        let mut headers = of(&[
            ("connection", "close, X-Mine"),
            ("connection", "te"),
            ("x-mine", "1"),
            ("te", "gzip;q=0.5, Trailers"),
            ("upgrade", "h2c"),
            ("host", "a"),
            ("trailer", "x-sum"),
        ]);
        remove(&mut headers);
        let left = of(&[("te", "trailers"), ("host", "a"), ("trailer", "x-sum")]);
        assert_eq!(headers, left);
    }

    #[test]
    fn trailers_keep_no_field_that_frames_or_routes_a_message() {
        let mut frame = Frame::<()>::trailers(of(&[
            ("x-sum", "42"),
            ("connection", "x-mine"),
            ("x-mine", "1"),
            ("te", "trailers"),
            ("host", "b"),
            ("content-length", "9"),
            ("transfer-encoding", "chunked"),
            ("grpc-status", "0"),
        ]));
        remove_from_trailers(&mut frame);
        let left = of(&[("x-sum", "42"), ("grpc-status", "0")]);
        assert_eq!(frame.into_trailers().ok(), Some(left));
    }

    proptest! {
        #[test]
        fn any_fields_lose_what_concerns_the_connection(
            values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..32), 0..4)
        ) {
            let mut headers = HeaderMap::new();
            for value in &values {
                if let Ok(value) = HeaderValue::from_bytes(value) {
                    headers.append(header::CONNECTION, value.clone());
                    headers.append(header::TE, value);
                }
            }
            remove(&mut headers);
            prop_assert!(!headers.contains_key(header::CONNECTION));
            let te: Vec<_> = headers.get_all(header::TE).iter().collect();
            prop_assert!(te.is_empty() || te == ["trailers"]);
        }
    }
}
