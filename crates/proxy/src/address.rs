//! Addresses of TCP and of Unix sockets, and listening sockets at them.

use crate::endpoint::Endpoint;
use socket2::{Domain, SockAddr, Socket, Type};
use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Prefix of the text of a Unix socket.
const UNIX: &str = "unix:";
/// Longest path of a Unix socket in bytes, without the zero at its end (`sun_path`).
const LONGEST_PATH: usize = 107;
/// Connections that wait until the program accepts them. The limit of the kernel may be lower.
const BACKLOG: i32 = 1_024;
/// Address that stands for all clients of a Unix socket. Such clients have no address.
pub const UNIX_CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
/// Mode of a Unix socket: only the user of the program may connect.
pub const DEFAULT_MODE: u32 = 0o600;

/// Address of a TCP socket or a Unix socket.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Address {
    /// Host and port.
    Tcp(Endpoint),
    /// Absolute path of a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(endpoint) => endpoint.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl From<Endpoint> for Address {
    fn from(endpoint: Endpoint) -> Self {
        Self::Tcp(endpoint)
    }
}

impl Address {
    /// Parses `unix:/path`, or the address of a TCP socket as [`Endpoint::parse`] does.
    pub fn parse(text: &str, ports: &RangeInclusive<u16>) -> Option<Self> {
        let Some(path) = text.strip_prefix(UNIX) else {
            return Endpoint::parse(text, ports).map(Self::Tcp);
        };
        let is_path = path.starts_with('/')
            && !path.ends_with('/')
            && path.len() <= LONGEST_PATH
            && !path.contains(char::is_control);
        is_path.then(|| Self::Unix(path.into()))
    }

    /// Returns a description of the texts that [`parse`](Self::parse) accepts.
    pub fn allowed(ports: &RangeInclusive<u16>) -> String {
        format!("{}; or \"unix:/path\"", Endpoint::allowed(ports))
    }

    /// Returns the address of a TCP socket.
    pub const fn tcp(&self) -> Option<&Endpoint> {
        match self {
            Self::Tcp(endpoint) => Some(endpoint),
            Self::Unix(_) => None,
        }
    }

    /// Whether the kernel chooses the port of the listener.
    pub fn has_any_port(&self) -> bool {
        self.tcp().is_some_and(|endpoint| endpoint.port == 0)
    }
}

/// Turns the stream of a Unix socket into the type that TCP streams have, so that all code works with one type.
/// The type uses no function of TCP to read and write. Options of TCP fail on a Unix socket, as on any other socket.
fn as_stream(stream: UnixStream) -> io::Result<TcpStream> {
    let descriptor = OwnedFd::from(stream.into_std()?);
    TcpStream::from_std(std::net::TcpStream::from(descriptor))
}

/// Connects to a Unix socket.
///
/// # Errors
/// No process listens at the path, or the user may not connect.
pub async fn connect(path: &Path) -> io::Result<TcpStream> {
    as_stream(UnixStream::connect(path).await?)
}

/// Unix socket that listens. Dropping it removes its file.
#[derive(Debug)]
pub struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    /// Device and number of the file.
    file: (u64, u64),
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

impl UnixSocket {
    fn open(path: &Path, mode: u32) -> io::Result<Self> {
        let listener = match bind(path, mode) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                remove_stale(path)?;
                bind(path, mode)?
            }
            bound => bound?,
        };
        Ok(Self {
            listener,
            path: path.to_owned(),
            file: identity(path)?,
        })
    }
}

/// Listens at a path.
fn bind(path: &Path, mode: u32) -> io::Result<UnixListener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    let mode = fs::Permissions::from_mode(mode);
    let file = fs::File::from(OwnedFd::from(socket.try_clone()?));
    // On Linux the file gets the mode of the socket, less the bits of the umask.
    // So there is no moment at which other users may connect. Elsewhere the mode is set only below.
    let _ = file.set_permissions(mode.clone());
    socket.bind(&SockAddr::unix(path)?)?;
    fs::set_permissions(path, mode)?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    UnixListener::from_std(OwnedFd::from(socket).into())
}

/// Removes the file of a socket on which no process listens.
fn remove_stale(path: &Path) -> io::Result<()> {
    let in_use = || Err(io::ErrorKind::AddrInUse.into());
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return in_use();
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // A process that listens may have a full queue. Without this option the call would then wait.
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => in_use(),
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        // Another process may have replaced the file.
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listening socket.
#[derive(Debug)]
pub enum ListeningSocket {
    /// TCP socket.
    Tcp(TcpListener),
    /// Unix socket.
    Unix(UnixSocket),
}

impl ListeningSocket {
    /// Opens a listening socket. `mode` is the mode of a Unix socket.
    /// The file of a Unix socket is replaced if no process listens on it.
    ///
    /// # Errors
    /// The address cannot be opened for listening.
    pub async fn open(address: &Address, mode: u32) -> io::Result<Self> {
        Ok(match address {
            Address::Tcp(endpoint) => Self::Tcp(endpoint.listen().await?),
            Address::Unix(path) => Self::Unix(UnixSocket::open(path, mode)?),
        })
    }

    /// Returns the address of a TCP socket.
    ///
    /// # Errors
    /// The operating system reports an error.
    pub fn address(&self) -> io::Result<Option<SocketAddr>> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Some),
            Self::Unix(_) => Ok(None),
        }
    }

    /// Accepts a connection. Clients of a Unix socket have the address [`UNIX_CLIENT`].
    ///
    /// # Errors
    /// The operating system reports an error.
    pub async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        match self {
            Self::Tcp(listener) => listener.accept().await,
            Self::Unix(socket) => {
                let (stream, _) = socket.listener.accept().await?;
                Ok((as_stream(stream)?, UNIX_CLIENT))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::PORTS;

    #[test]
    fn an_address_is_one_of_tcp_or_an_absolute_path() {
        let parsed = |text: &str| Address::parse(text, &PORTS);
        let unix = parsed("unix:/run/a.sock").expect("an address");
        assert_eq!(unix, Address::Unix("/run/a.sock".into()));
        assert_eq!(unix.to_string(), "unix:/run/a.sock");
        let tcp = parsed("80").expect("an address");
        assert_eq!(tcp.to_string(), "127.0.0.1:80");
        let long = format!("unix:/{}", "x".repeat(LONGEST_PATH));
        for wrong in [
            "unix:",
            "unix:a.sock",
            "unix:/",
            "unix:/a/",
            "unix:/\0",
            &long,
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[tokio::test]
    async fn only_the_file_of_a_socket_without_a_listener_is_replaced() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("s");
        let address = Address::Unix(path.clone());
        // A process that was killed leaves its file.
        drop(std::os::unix::net::UnixListener::bind(&path).expect("a socket"));
        let open = ListeningSocket::open(&address, 0o660).await;
        let open = open.expect("a listener");
        let mode = fs::metadata(&path).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o660);
        let second = ListeningSocket::open(&address, DEFAULT_MODE).await;
        let refused = second.expect_err("in use");
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        // The attempt above has left a connection that has ended.
        open.accept().await.expect("a connection");
        let (client, accepted) = tokio::join!(connect(&path), open.accept());
        client.expect("a connection");
        assert_eq!(accepted.expect("a connection").1, UNIX_CLIENT);
        drop(open);
        assert!(!path.exists());
        fs::write(&path, "text").expect("written");
        assert!(ListeningSocket::open(&address, DEFAULT_MODE).await.is_err());
        assert!(fs::read_to_string(&path).is_ok_and(|text| text == "text"));
    }
}
