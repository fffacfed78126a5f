//! Translation of a client's request into a request to a replica.
//! The field `Host` stays unchanged, so that signatures over it stay valid.
//! Fields that concern only the client's connection are removed.

use super::config::{Forwarded, RouteConfig};
use crate::request_head::{self, Refusal};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Version, header};
use std::net::{IpAddr, SocketAddr};
use tailcut_proxy::UNIX_CLIENT;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Client that sent a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientInfo {
    pub address: SocketAddr,
    pub is_secure: bool,
}

/// Turns a client's request into a request to a replica.
pub(super) fn request(
    parts: &mut Parts,
    client_info: ClientInfo,
    route: &RouteConfig,
) -> Result<(), Refusal> {
    let version = parts.version;
    request_head::prepare(parts)?;
    forward(&mut parts.headers, client_info, route.forwarded);
    if route.via {
        let via = match version {
            Version::HTTP_2 => "2 tailcut-gateway",
            Version::HTTP_10 => "1.0 tailcut-gateway",
            _ => "1.1 tailcut-gateway",
        };
        parts
            .headers
            .append(header::VIA, HeaderValue::from_static(via));
    }
    Ok(())
}

fn forward(headers: &mut HeaderMap, client_info: ClientInfo, forwarded: Forwarded) {
    let proto = if client_info.is_secure {
        "https"
    } else {
        "http"
    };
    // A listener for both IP families reports an IPv4 client with a mapped IPv6 address.
    let address = client_info.address.ip().to_canonical();
    let is_known = client_info.address != UNIX_CLIENT;
    match forwarded {
        Forwarded::Off => {}
        Forwarded::XForwarded => {
            if is_known && let Ok(address) = HeaderValue::try_from(address.to_string()) {
                // Earlier proxies may have added their clients to the field, so it is a list.
                headers.append(X_FORWARDED_FOR, address);
            }
            // This field has a single value. A value that the client has sent could be forged, so it is replaced.
            headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(proto));
        }
        Forwarded::Standard => {
            let node = match address {
                // RFC 7239, section 6.2.
                _ if !is_known => "unknown".to_owned(),
                IpAddr::V4(address) => address.to_string(),
                IpAddr::V6(address) => format!("\"[{address}]\""),
            };
            if let Ok(element) = HeaderValue::try_from(format!("for={node};proto={proto}")) {
                headers.append(header::FORWARDED, element);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::GatewayConfig;
    use super::*;
    use http::{Request, StatusCode};
    use std::path::Path;
    use tailcut_proxy::config::Draft;

    const CLIENT: ClientInfo = ClientInfo {
        address: SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1)), 5),
        is_secure: true,
    };

    fn translated(forwarded: &str, request: Request<()>) -> Result<Parts, Refusal> {
        let text = format!("[[routes]]\nlisten = 0\nreplicas = [1]\nforwarded = \"{forwarded}\"");
        let draft = Draft::of_text("a test", Path::new("."), &text).expect("TOML");
        let config = GatewayConfig::read(&draft).expect("a configuration");
        let (mut parts, ()) = request.into_parts();
        super::request(&mut parts, CLIENT, &config.routes[0]).map(|()| parts)
    }

    fn fields<'p>(parts: &'p Parts, name: &str) -> Vec<&'p str> {
        let all = parts.headers.get_all(name).iter();
        all.map(|value| value.to_str().expect("text")).collect()
    }

    #[test]
    fn the_host_stays_what_the_client_said() {
        let h1 = Request::get("/a?b=c").header("host", "shop.example");
        let absolute = Request::get("http://shop.example/a?b=c").header("host", "other");
        let h2 = Request::get("https://shop.example/a?b=c").version(Version::HTTP_2);
        for request in [h1, absolute, h2] {
            let parts =
                translated("off", request.body(()).expect("a request")).expect("translated");
            assert_eq!(fields(&parts, "host"), ["shop.example"]);
            assert_eq!(parts.uri, "/a?b=c");
            assert_eq!(fields(&parts, "x-forwarded-for").len(), 0);
        }
    }

    #[test]
    fn replicas_are_told_of_the_client_where_they_should_be() {
        let get = || {
            let request = Request::get("/")
                .header("host", "a")
                .header("x-forwarded-for", "198.51.100.7");
            request
                .header("x-forwarded-proto", "ftp")
                .body(())
                .expect("a request")
        };
        let parts = translated("x-forwarded", get()).expect("translated");
        assert_eq!(
            fields(&parts, "x-forwarded-for"),
            ["198.51.100.7", "192.0.2.1"]
        );
        assert_eq!(fields(&parts, "x-forwarded-proto"), ["https"]);
        let parts = translated("forwarded", get()).expect("translated");
        assert_eq!(fields(&parts, "forwarded"), ["for=192.0.2.1;proto=https"]);
        assert_eq!(fields(&parts, "via"), ["1.1 tailcut-gateway"]);
    }

    #[test]
    fn upgrades_are_refused_but_for_the_offer_of_http2_in_the_clear() {
        let socket = Request::get("/").header("upgrade", "websocket").body(());
        let refused = translated("off", socket.expect("a request")).map(|_| ());
        assert_eq!(
            refused.map_err(|refusal| refusal.0),
            Err(StatusCode::NOT_IMPLEMENTED)
        );
        let connect = Request::connect("a:1").body(()).expect("a request");
        assert!(translated("off", connect).is_err());
        let h2c = Request::get("/")
            .header("host", "a")
            .header("upgrade", "h2c")
            .header("http2-settings", "x");
        let parts = translated("off", h2c.body(()).expect("a request")).expect("translated");
        assert!(!parts.headers.contains_key("upgrade"));
        assert!(!parts.headers.contains_key("http2-settings"));
    }
}
