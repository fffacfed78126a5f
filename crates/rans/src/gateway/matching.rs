//! Choice of a route by host, path, method and field of a request.

use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, header};
use serde::{Deserialize, Deserializer};
use tailcut_proxy::config::{Scalar, scalar};

/// Requests that a route takes: the key `match`. A request has to fulfil all conditions.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug, Default)]
#[serde(default)]
pub struct Match {
    /// Host, without its port. `*.example.com` stands for all hosts below `example.com`.
    #[serde(deserialize_with = "host")]
    pub host: Option<String>,
    /// Beginning of the path, up to the end of a segment.
    #[serde(deserialize_with = "path")]
    pub path: Option<String>,
    /// Methods. An empty list allows all methods.
    #[serde(deserialize_with = "methods")]
    pub method: Vec<Method>,
    /// Field of the head, and the value that it must have. Without a value, the field has to be present.
    #[serde(deserialize_with = "field")]
    pub header: Option<(HeaderName, Option<HeaderValue>)>,
}

fn text<'de, D: Deserializer<'de>, T>(
    from: D,
    allowed: &str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, D::Error> {
    scalar(from, allowed, |found| match found {
        Scalar::Text(text) => read(text),
        _ => None,
    })
}

fn host<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let allowed = "a host without a port, such as \"shop.example\" or \"*.shop.example\"";
    text(from, allowed, |host| {
        let name = host.strip_prefix("*.").unwrap_or(host);
        let authority = name.parse::<Authority>().ok()?;
        let is_host = authority.host() == name && !name.contains('*');
        is_host.then(|| Some(host.to_ascii_lowercase()))
    })
}

fn path<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    text(
        from,
        "the beginning of a path, such as \"/images\"",
        |path| {
            let is_path = path.starts_with('/') && !path.contains(['?', '#', ' ']);
            is_path.then(|| Some(path.to_owned()))
        },
    )
}

fn methods<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Method>, D::Error> {
    text(from, "methods with commas, such as \"GET, HEAD\"", |list| {
        let methods = list.split(',').map(|method| method.trim().parse().ok());
        methods.collect()
    })
}

fn field<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<(HeaderName, Option<HeaderValue>)>, D::Error> {
    let allowed = "a field, such as \"x-tenant\" or \"x-tenant: blue\"";
    text(from, allowed, |field| {
        let (name, value) = match field.split_once(':') {
            Some((name, value)) => (name, Some(value.trim().parse().ok()?)),
            None => (field, None),
        };
        Some(Some((name.trim().parse().ok()?, value)))
    })
}

impl Match {
    /// Whether the route takes all requests.
    pub fn is_of_all(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the route takes a request.
    /// The path is compared as the client wrote it, so this choice is no protection of a path.
    pub(super) fn accepts<B>(&self, request: &Request<B>) -> bool {
        let is_method = self.method.is_empty() || self.method.contains(request.method());
        let is_field = self.header.as_ref().is_none_or(|(name, value)| {
            let mut found = request.headers().get_all(name).iter();
            match value {
                Some(value) => found.any(|found| found == value),
                None => found.next().is_some(),
            }
        });
        is_method && is_field && self.is_path(request.uri().path()) && self.is_host(request)
    }

    fn is_path(&self, path: &str) -> bool {
        let Some(beginning) = &self.path else {
            return true;
        };
        path.strip_prefix(beginning.as_str()).is_some_and(|rest| {
            beginning.ends_with('/') || rest.is_empty() || rest.starts_with('/')
        })
    }

    fn is_host<B>(&self, request: &Request<B>) -> bool {
        let Some(wanted) = &self.host else {
            return true;
        };
        // The host of the target replaces the field (RFC 9112, section 3.2.2).
        let found = match request.uri().host() {
            Some(host) => Some(host.to_ascii_lowercase()),
            None => of_field(request.headers()),
        };
        let Some(found) = found else {
            return false;
        };
        match wanted.strip_prefix('*') {
            Some(end) => found.len() > end.len() && found.ends_with(end),
            None => found == *wanted,
        }
    }
}

fn of_field(headers: &HeaderMap) -> Option<String> {
    let field = headers.get(header::HOST)?;
    let authority = Authority::try_from(field.as_bytes()).ok()?;
    Some(authority.host().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use tailcut_proxy::config::Draft;

    fn read(keys: &str) -> Result<Match, String> {
        let draft = Draft::of_text("f", Path::new(""), keys).expect("TOML");
        draft.top().read().map_err(|error| error.to_string())
    }

    fn takes(keys: &str, request: http::request::Builder) -> bool {
        let matching = read(keys).expect("conditions");
        matching.accepts(&request.body(()).expect("a request"))
    }

    #[test]
    fn a_path_matches_up_to_the_end_of_a_segment() {
        for (path, is_taken) in [
            ("/v1", true),
            ("/v1/", true),
            ("/v1/a?b", true),
            ("/v10", false),
            ("/V1", false),
            ("/", false),
            ("*", false),
        ] {
            assert_eq!(
                takes("path = \"/v1\"", Request::get(path)),
                is_taken,
                "{path}"
            );
        }
        assert!(takes("path = \"/v1/\"", Request::get("/v1/a")));
        assert!(!takes("path = \"/v1/\"", Request::get("/v1")));
    }

    #[test]
    fn a_host_matches_without_its_port_and_in_any_case() {
        let field = |host| Request::get("/").header("host", host);
        for (wanted, host, is_taken) in [
            ("shop.example", "Shop.Example:8080", true),
            ("shop.example", "a.shop.example", false),
            ("*.shop.example", "a.shop.example", true),
            ("*.shop.example", "shop.example", false),
            ("[::1]", "[::1]:80", true),
        ] {
            assert_eq!(
                takes(&format!("host = \"{wanted}\""), field(host)),
                is_taken,
                "{host}"
            );
        }
        // The target counts, and not the field.
        let target = Request::get("http://shop.example/").header("host", "other");
        assert!(takes("host = \"shop.example\"", target));
    }

    #[test]
    fn methods_and_fields_match_exactly() {
        let post = || Request::post("/").header("x-tenant", "blue");
        assert!(takes("method = \"GET, POST\"", post()));
        assert!(!takes("method = \"GET\"", post()));
        assert!(takes("header = \"x-tenant\"", post()));
        assert!(takes("header = \"X-Tenant: blue\"", post()));
        assert!(!takes("header = \"x-tenant: red\"", post()));
        assert!(!takes("header = \"x-other\"", post()));
    }

    #[test]
    fn what_can_match_nothing_is_refused() {
        for keys in [
            "host = \"shop.example:80\"",
            "host = \"a*b\"",
            "path = \"v1\"",
            "path = \"/v1?x\"",
            "method = \"GET,\"",
            "header = \"a b\"",
        ] {
            assert!(
                read(keys).is_err_and(|error| error.contains("allowed:")),
                "{keys}"
            );
        }
    }
}
