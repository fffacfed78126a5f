//! Checks of a request's head before guard or gateway forward it.
//! The parsers of hyper and h2 accept some heads that the RFCs forbid.
//! A service behind a proxy may read such a head in another way than the proxy, so it is refused.

use crate::connection_fields::{self, members};
use crate::request_log::OwnAnswer;
use crate::upload::Fault;
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, Version, header};

/// Refusal of a request: status, and text for the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Refusal(pub StatusCode, pub &'static str);

impl Refusal {
    /// Returns the answer for the client, with a body that contains the refusal's text.
    pub fn answer<B>(self, body: B) -> Response<B> {
        let mut answer = Response::new(body);
        answer.extensions_mut().insert(OwnAnswer(None));
        *answer.status_mut() = self.0;
        let headers = answer.headers_mut();
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        headers.insert(header::CONTENT_TYPE, plain);
        if self.0 == StatusCode::SERVICE_UNAVAILABLE {
            // The client need not wait long, because the limit is free again after the next finished request.
            // The field counts whole seconds, so 1 s is the shortest time above 0 (RFC 9110, section 10.2.3).
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.0 == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, ALLOWED);
        }
        answer
    }
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::TooLong => Self(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long\n"),
            Fault::Stalled => Self(
                StatusCode::REQUEST_TIMEOUT,
                "no further bytes of the body arrived\n",
            ),
            Fault::Cut => Self(StatusCode::BAD_REQUEST, "the body is not complete\n"),
            Fault::Displaced => Self(
                StatusCode::SERVICE_UNAVAILABLE,
                "the body came slowly, and another client needed the worker\n",
            ),
        }
    }
}

const fn bad(text: &'static str) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, text)
}

/// Methods that the field `Allow` contains. Other methods are forwarded, too, but there is no list of all methods.
const ALLOWED: HeaderValue =
    HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE");

/// Checks a head and removes the fields of the client's connection.
/// The target becomes a path, and `Host` becomes the host of the target.
pub(crate) fn prepare(parts: &mut Parts) -> Result<(), Refusal> {
    if parts.method == Method::CONNECT {
        return Err(Refusal(
            StatusCode::METHOD_NOT_ALLOWED,
            "CONNECT is not forwarded\n",
        ));
    }
    check_codings(&parts.headers)?;
    // A client that offers HTTP/2 without TLS (h2c) also accepts HTTP/1.1 (RFC 9110, section 7.8).
    if members(&parts.headers, &header::UPGRADE)
        .any(|protocol| !protocol.is_empty() && !protocol.eq_ignore_ascii_case("h2c"))
    {
        return Err(Refusal(
            StatusCode::NOT_IMPLEMENTED,
            "upgrades (such as WebSocket) are not forwarded\n",
        ));
    }
    let path = path(parts)?;
    if let Some(host) = host(parts)? {
        parts.headers.insert(header::HOST, host);
    }
    parts.uri = Uri::from(path);
    connection_fields::remove(&mut parts.headers);
    // The server of this listener answers the expectation when it begins to read the body.
    if members(&parts.headers, &header::EXPECT)
        .all(|expected| expected.eq_ignore_ascii_case("100-continue"))
    {
        parts.headers.remove(header::EXPECT);
    }
    Ok(())
}

/// Checks `Transfer-Encoding`. hyper decodes `chunked` and ignores other codings before it.
/// The bytes of such a coding would be forwarded as if they were the content.
fn check_codings(headers: &HeaderMap) -> Result<(), Refusal> {
    let fields = headers.get_all(header::TRANSFER_ENCODING);
    if fields.iter().any(|field| field.to_str().is_err()) {
        return Err(bad("the field Transfer-Encoding is not valid\n"));
    }
    let codings =
        || members(headers, &header::TRANSFER_ENCODING).filter(|coding| !coding.is_empty());
    if codings().any(|coding| !coding.eq_ignore_ascii_case("chunked")) {
        // RFC 9112, section 6.1.
        return Err(Refusal(
            StatusCode::NOT_IMPLEMENTED,
            "only the transfer coding chunked is known\n",
        ));
    }
    match codings().count() {
        0 | 1 => Ok(()),
        // RFC 9112, section 6.1: the coding is applied once.
        _ => Err(bad("the body is chunked more than once\n")),
    }
}

/// Returns the path of the target, which has origin form, absolute form, or asterisk form (RFC 9112, section 3.2).
fn path(parts: &Parts) -> Result<PathAndQuery, Refusal> {
    let uri = &parts.uri;
    let is_http1 = parts.version < Version::HTTP_2;
    if is_http1 && uri.authority().is_some() && uri.scheme().is_none() {
        return Err(bad("the target of the request is not valid\n"));
    }
    let is_web = |scheme: &Scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS;
    if uri.scheme().is_some_and(|scheme| !is_web(scheme)) {
        return Err(bad("the scheme of the target is neither http nor https\n"));
    }
    let path = uri.path_and_query().cloned();
    let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
    match path.as_str() {
        "*" if parts.method == Method::OPTIONS => Ok(path),
        text if text.starts_with('/') => Ok(path),
        // `http://a?b` has an empty path, which equals `/` (RFC 9110, section 4.2.3).
        text if text.starts_with('?') => PathAndQuery::try_from(format!("/{text}"))
            .map_err(|_| bad("the target of the request is not valid\n")),
        _ => Err(bad("the target of the request is not valid\n")),
    }
}

/// Returns the host of the request.
/// The target of absolute form replaces the field (RFC 9112, section 3.2.2; RFC 9113, section 8.3.1).
/// Only HTTP/1.0 has requests without a host.
fn host(parts: &Parts) -> Result<Option<HeaderValue>, Refusal> {
    let mut fields = parts.headers.get_all(header::HOST).iter();
    let field = fields.next();
    if fields.next().is_some() {
        return Err(bad("the request has more than one field Host\n"));
    }
    let field = match field {
        // An IP address, a name, or an IPv6 address in brackets, with or without a port.
        Some(field) => match Authority::try_from(field.as_bytes()) {
            Ok(authority) if is_host(&authority) => Some((field, authority)),
            _ => return Err(bad("the field Host is not valid\n")),
        },
        None => None,
    };
    // The target does not replace the field (RFC 9112, section 3.2).
    if parts.version == Version::HTTP_11 && field.is_none() {
        return Err(bad("the request has no field Host\n"));
    }
    match (parts.uri.authority(), field) {
        (Some(authority), _) if !is_host(authority) => {
            Err(bad("the host of the target is not valid\n"))
        }
        // RFC 9113, section 8.3.1.
        // With HTTP/1.1 the target counts, because a client may send the host of its proxy in the field.
        (Some(authority), Some((_, field)))
            if parts.version >= Version::HTTP_2 && !is_same(authority, &field, &parts.uri) =>
        {
            Err(bad("the field Host differs from :authority\n"))
        }
        (Some(authority), _) => HeaderValue::from_str(authority.as_str())
            .map(Some)
            .map_err(|_| bad("the host of the target is not valid\n")),
        (None, Some((field, _))) => Ok(Some(field.clone())),
        (None, None) if parts.version <= Version::HTTP_10 => Ok(None),
        (None, None) => Err(bad("the request has no host\n")),
    }
}

/// Whether this is a host with an optional port. No request may contain user information (RFC 9110, section 4.2.4).
fn is_host(authority: &Authority) -> bool {
    let (text, host) = (authority.as_str(), authority.host());
    let port = text.strip_prefix(host);
    !host.is_empty()
        && port.is_some_and(|port| {
            port.is_empty()
                || port
                    .strip_prefix(':')
                    .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        })
}

/// Whether two authorities name the same host and port.
fn is_same(one: &Authority, other: &Authority, uri: &Uri) -> bool {
    let default = match uri.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    let port = |authority: &Authority| authority.port_u16().unwrap_or(default);
    one.host().eq_ignore_ascii_case(other.host()) && port(one) == port(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Request;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_forwarded_request_has_a_path_and_at_most_one_valid_host(
            method in prop::sample::select(vec!["GET", "OPTIONS", "CONNECT", "X"]),
            target in "(\\*|http://[a@:0-9]{0,4}[/?a]{0,3}|[/a:?*]{1,6})",
            hosts in prop::collection::vec("[a:@0-9\\[\\]]{0,5}", 0..3),
            is_http2 in any::<bool>(),
        ) {
            let version = if is_http2 { Version::HTTP_2 } else { Version::HTTP_11 };
            let mut request = Request::builder().method(method).uri(target).version(version);
            for host in hosts {
                request = request.header(header::HOST, host);
            }
            let Ok(request) = request.body(()) else { return Ok(()) };
            let (mut parts, ()) = request.into_parts();
            if prepare(&mut parts).is_ok() {
                prop_assert!(parts.uri.authority().is_none());
                prop_assert!(parts.uri.path().starts_with('/') || parts.uri.path() == "*");
                let hosts: Vec<_> = parts.headers.get_all(header::HOST).iter().collect();
                prop_assert_eq!(hosts.len(), 1);
                let host = Authority::try_from(hosts[0].as_bytes());
                prop_assert!(host.is_ok_and(|host| is_host(&host)));
            }
        }
    }
}
