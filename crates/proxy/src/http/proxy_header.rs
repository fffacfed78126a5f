//! Header of the PROXY protocol, version 1 or 2. A load balancer sends it first on a connection, and names the client.
//! The specification is `doc/proxy-protocol.txt` of HAProxy.

use ppp::{v1, v2};
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Longest header of version 1 (specification, section 2.1).
const LONGEST_TEXT: usize = 107;
/// Longest content of a header of version 2, with the addresses and all other values.
/// Load balancers send a few hundred bytes. A larger limit would need more memory for each connection.
const LONGEST_BINARY: usize = 4 << 10;

/// Reads the header of a connection from `peer`, and no further byte. Returns the address of the client.
/// The address is `peer` if the header names no client, as for health checks of the load balancer.
///
/// # Errors
/// The stream begins with other bytes, or it ends.
pub(super) async fn read<S>(stream: &mut S, peer: SocketAddr) -> io::Result<SocketAddr>
where
    S: AsyncRead + Unpin,
{
    let mut header = vec![0; v2::PROTOCOL_PREFIX.len()];
    stream.read_exact(&mut header).await?;
    let client = match header == v2::PROTOCOL_PREFIX {
        true => {
            let mut fixed = [0; 4];
            stream.read_exact(&mut fixed).await?;
            let [.., high, low] = fixed;
            let length = usize::from(u16::from_be_bytes([high, low]));
            if length > LONGEST_BINARY {
                return Err(invalid());
            }
            let mut content = vec![0; length];
            stream.read_exact(&mut content).await?;
            header.extend(fixed);
            header.extend(content);
            of_binary(&header)?
        }
        false => {
            // Single bytes are read, because the length of the header is not known.
            while !header.ends_with(b"\r\n") {
                if header.len() >= LONGEST_TEXT || !header.starts_with(b"PROXY ") {
                    return Err(invalid());
                }
                header.push(stream.read_u8().await?);
            }
            of_text(&header)?
        }
    };
    Ok(client.unwrap_or(peer))
}

fn of_binary(header: &[u8]) -> io::Result<Option<SocketAddr>> {
    let header = v2::Header::try_from(header).map_err(|_| invalid())?;
    Ok(match (header.command, header.addresses) {
        (v2::Command::Local, _) => None,
        (v2::Command::Proxy, v2::Addresses::IPv4(ip)) => {
            Some((ip.source_address, ip.source_port).into())
        }
        (v2::Command::Proxy, v2::Addresses::IPv6(ip)) => {
            Some((ip.source_address, ip.source_port).into())
        }
        (v2::Command::Proxy, v2::Addresses::Unspecified | v2::Addresses::Unix(_)) => None,
    })
}

fn of_text(header: &[u8]) -> io::Result<Option<SocketAddr>> {
    let header = v1::Header::try_from(header).map_err(|_| invalid())?;
    Ok(match header.addresses {
        v1::Addresses::Tcp4(ip) => Some((ip.source_address, ip.source_port).into()),
        v1::Addresses::Tcp6(ip) => Some((ip.source_address, ip.source_port).into()),
        v1::Addresses::Unknown => None,
    })
}

fn invalid() -> io::Error {
    let text = "the connection does not begin with a header of the PROXY protocol";
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads a header. Returns the address, and the bytes after the header.
    fn read_all(mut bytes: &[u8]) -> Option<(String, Vec<u8>)> {
        let peer = SocketAddr::from(([127, 0, 0, 1], 9));
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let reading = read(&mut bytes, peer);
        let client = runtime.expect("a runtime").block_on(reading).ok()?;
        Some((client.to_string(), bytes.to_vec()))
    }

    fn binary(command: u8, family: u8, content: &[u8]) -> Vec<u8> {
        let length = (content.len() as u16).to_be_bytes();
        let fixed = [0x20 | command, family, length[0], length[1]];
        [v2::PROTOCOL_PREFIX, &fixed, content, b"GET"].concat()
    }

    #[test]
    fn both_versions_name_the_client_and_leave_the_bytes_after_the_header() {
        let found = |client: &str| Some((client.to_owned(), b"GET".to_vec()));
        let text = b"PROXY TCP4 192.0.2.7 192.0.2.1 5 80\r\nGET";
        assert_eq!(read_all(text), found("192.0.2.7:5"));
        let text = b"PROXY TCP6 2001:db8::7 2001:db8::1 5 80\r\nGET";
        assert_eq!(read_all(text), found("[2001:db8::7]:5"));
        assert_eq!(read_all(b"PROXY UNKNOWN\r\nGET"), found("127.0.0.1:9"));
        let four = [192, 0, 2, 7, 192, 0, 2, 1, 0, 5, 0, 80];
        assert_eq!(read_all(&binary(1, 0x11, &four)), found("192.0.2.7:5"));
        // A health check of the load balancer.
        assert_eq!(read_all(&binary(0, 0x11, &four)), found("127.0.0.1:9"));
        // The addresses may be followed by other values.
        let more = [&four[..], &[4, 0, 1, 42]].concat();
        assert_eq!(read_all(&binary(1, 0x11, &more)), found("192.0.2.7:5"));
    }

    #[test]
    fn other_bytes_and_long_headers_are_refused() {
        let long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(200));
        for wrong in [
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".as_slice(),
            b"PROXY TCP4 192.0.2.7 192.0.2.1 5\r\n",
            b"PROXY TCP4 192.0.2.7 192.0.2.1 5 80",
            long.as_bytes(),
            &binary(1, 0x11, &[0; 11]),
            &binary(1, 0x11, &[0; LONGEST_BINARY + 1]),
            &binary(2, 0x11, &[0; 12]),
        ] {
            assert_eq!(read_all(wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            is_binary in any::<bool>(),
            bytes in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let prefix = if is_binary { v2::PROTOCOL_PREFIX } else { b"PROXY " };
            if let Some((_, rest)) = read_all(&[prefix, &bytes].concat()) {
                prop_assert!(bytes.ends_with(&rest));
            }
        }
    }
}
