//! Options of the TCP sockets of guards and clients.
//! The options control how many bytes wait in the kernel, where a purge cannot remove them.
//! The options also control the class that switches see.

use crate::priority::class_of;
use http::{Request, Version};
use socket2::SockRef;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use tailcut_requests::Class;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Largest number of unsent bytes that wait in the kernel (`TCP_NOTSENT_LOWAT`). A purge can remove all other bytes.
/// With a smaller number, the socket may become idle between two writes.
/// With a larger number, a purge saves fewer bytes.
pub const LOW_WATER: u32 = 16 << 10;

/// Differentiated services code point (RFC 2474): the class that switches see in IP headers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Dscp(u8);

impl Dscp {
    /// Best effort. Packets have this DSCP if no program marks them.
    pub const DEFAULT: Self = Self(0);
    /// Lower effort (RFC 8622). Switches send these packets behind all other traffic.
    pub const LOWER_EFFORT: Self = Self(1);

    /// Returns a code point, 0 to 63.
    pub const fn new(value: u8) -> Option<Self> {
        match value {
            0..=63 => Some(Self(value)),
            _ => None,
        }
    }

    /// Returns the number, 0 to 63.
    pub const fn value(self) -> u8 {
        self.0
    }
}

impl FromStr for Dscp {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let dscp = text.parse().ok().and_then(Self::new);
        dscp.ok_or("allowed: a DSCP, a number from 0 to 63 such as 1 (lower effort)")
    }
}

/// Options of a socket. If the system rejects an option, the connection still works, so the error is ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketOptions {
    /// DSCP of sent packets. `None`: the system's default.
    pub dscp: Option<Dscp>,
    /// Priority in the queues of this host (`SO_PRIORITY`, 0 to 6 without privileges).
    /// `None`: the system's default, which depends on the DSCP.
    pub priority: Option<u32>,
    /// Largest number of unsent bytes that wait in the kernel (`TCP_NOTSENT_LOWAT`). `None`: the system's default.
    pub low_water: Option<u32>,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self {
            dscp: None,
            priority: None,
            low_water: Some(LOW_WATER),
        }
    }
}

impl SocketOptions {
    /// Sets the options on a socket, and switches Nagle's algorithm off.
    /// Call it before the socket connects, so that the SYN also has the DSCP.
    /// A server with `tcp_reflect_tos` copies the DSCP of the SYN.
    pub fn set<'socket>(&self, socket: impl Into<SockRef<'socket>>) {
        let socket = socket.into();
        // With Nagle's algorithm, the end of a small request or answer would wait for an acknowledgment.
        let _ = socket.set_tcp_nodelay(true);
        if let Some(dscp) = self.dscp {
            mark(&socket, dscp);
        }
        #[cfg(target_os = "linux")]
        {
            // Setting the DSCP also changes the priority, so the priority is set after it.
            if let Some(priority) = self.priority {
                let _ = socket.set_priority(priority);
            }
            if let Some(low_water) = self.low_water {
                let _ = socket.set_tcp_notsent_lowat(low_water);
            }
        }
    }
}

/// Sets the DSCP of the packets that a socket sends, over IPv4 and IPv6. TCP keeps control of the ECN bits.
fn mark(socket: &SockRef<'_>, dscp: Dscp) {
    // The DSCP is in the upper six bits of the byte.
    // A socket uses only one of the two IP versions, so one of the two calls fails.
    let field = u32::from(dscp.0) << 2;
    let _ = socket.set_tos_v4(field);
    let _ = socket.set_tclass_v6(field);
}

/// DSCP of each class, in the order: primaries, duplicates, optional work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassMarks(pub [Dscp; 3]);

impl ClassMarks {
    /// Returns the DSCP of a class.
    pub const fn of(&self, class: Class) -> Dscp {
        self.0[class as usize]
    }
}

const ALLOWED: &str = "three DSCPs, numbers from 0 to 63, for primaries, duplicates and optional work, such as \
                       0,1,1";

impl FromStr for ClassMarks {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let marks: Result<Vec<Dscp>, _> = text.split(',').map(str::parse).collect();
        let marks = marks.ok().and_then(|marks| marks.try_into().ok());
        marks.map(Self).ok_or(ALLOWED)
    }
}

/// DSCP of the next packets that an accepted connection sends.
/// With HTTP/1.1 it is the DSCP of the request that is answered. With HTTP/2, answers are interleaved.
/// The DSCP then belongs to the most urgent class that has arrived on the connection.
/// So a client uses a separate connection for each class.
#[derive(Clone, Debug)]
pub struct ConnectionMark {
    marks: ClassMarks,
    requested: Arc<AtomicU8>,
    most_urgent: Arc<AtomicU8>,
}

impl ConnectionMark {
    /// Records the class of a request that arrived on the connection.
    pub fn on_request<B>(&self, request: &Request<B>) {
        let class = class_of(request.headers());
        let class = match request.version() {
            Version::HTTP_2 => {
                // A lower number means a more urgent class.
                let before = self.most_urgent.fetch_min(class as u8, Ordering::Relaxed);
                match before < class as u8 {
                    true => return,
                    false => class,
                }
            }
            _ => class,
        };
        self.requested
            .store(self.marks.of(class).value(), Ordering::Relaxed);
    }
}

/// Accepted TCP stream. Its DSCP follows the class of its requests.
#[derive(Debug)]
pub struct MarkedStream {
    stream: TcpStream,
    requested: Arc<AtomicU8>,
    set: u8,
}

impl MarkedStream {
    /// Creates a stream, and the handle that sets the class of its requests.
    /// Packets before the first request have the system's default DSCP.
    pub fn new(stream: TcpStream, marks: ClassMarks) -> (Self, ConnectionMark) {
        let requested = Arc::new(AtomicU8::new(Dscp::DEFAULT.value()));
        let mark = ConnectionMark {
            marks,
            requested: Arc::clone(&requested),
            most_urgent: Arc::new(AtomicU8::new(u8::MAX)),
        };
        let stream = Self {
            stream,
            requested,
            set: Dscp::DEFAULT.value(),
        };
        (stream, mark)
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        Pin::new(&mut self.get_mut().stream)
    }

    /// Returns the stream after its DSCP was updated. Every write calls this function first.
    fn marked(mut self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        let requested = self.requested.load(Ordering::Relaxed);
        // The class rarely changes, so a system call for each write would be a waste.
        if requested != self.set {
            self.set = requested;
            mark(&SockRef::from(&self.stream), Dscp(requested));
        }
        self.stream()
    }
}

impl AsyncRead for MarkedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.stream().poll_read(cx, buffer)
    }
}

impl AsyncWrite for MarkedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.marked().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.marked().poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }
}

#[cfg(feature = "guard")]
impl<'de> serde::Deserialize<'de> for ClassMarks {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        tailcut_proxy::config::scalar(from, ALLOWED, |found| match found {
            tailcut_proxy::config::Scalar::Text(text) => text.parse().ok(),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::priority::{PRIORITY, field};
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    async fn accepted(marks: ClassMarks) -> (MarkedStream, ConnectionMark, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let near = TcpStream::connect(address).await.expect("a connection");
        let (far, _) = listener.accept().await.expect("a connection");
        SocketOptions::default().set(&far);
        let (far, mark) = MarkedStream::new(far, marks);
        (far, mark, near)
    }

    fn request(class: Class, version: Version) -> Request<()> {
        let request = Request::get("/").version(version);
        let request = request.header(PRIORITY, field(class)).body(());
        request.expect("a request")
    }

    async fn sent_as(stream: &mut MarkedStream) -> u32 {
        stream.write_all(b"x").await.expect("sent");
        SockRef::from(&stream.stream).tos_v4().expect("an option") >> 2
    }

    #[tokio::test]
    async fn an_answer_is_marked_as_its_request_and_a_connection_as_its_most_urgent_one() {
        let marks = ClassMarks([0, 8, 1].map(|value| Dscp::new(value).expect("a DSCP")));
        let (mut stream, mark, _near) = accepted(marks).await;
        for (class, dscp) in [
            (Class::Duplicate, 8),
            (Class::Primary, 0),
            (Class::Optional, 1),
        ] {
            mark.on_request(&request(class, Version::HTTP_11));
            assert_eq!(sent_as(&mut stream).await, dscp);
        }
        let (mut stream, mark, _near) = accepted(marks).await;
        for (class, dscp) in [
            (Class::Optional, 1),
            (Class::Duplicate, 8),
            (Class::Optional, 8),
            (Class::Primary, 0),
            (Class::Duplicate, 0),
        ] {
            mark.on_request(&request(class, Version::HTTP_2));
            assert_eq!(sent_as(&mut stream).await, dscp);
        }
    }

    #[tokio::test]
    async fn little_waits_in_the_kernel() {
        let (stream, ..) = accepted(ClassMarks::default()).await;
        let socket = SockRef::from(&stream.stream);
        assert_eq!(socket.tcp_notsent_lowat().expect("an option"), LOW_WATER);
        assert!(socket.tcp_nodelay().expect("an option"));
    }

    #[test]
    fn a_code_point_has_six_bits() {
        assert_eq!("63".parse(), Ok(Dscp(63)));
        for wrong in ["64", "-1", "", "ef", "1 "] {
            assert!(wrong.parse::<Dscp>().is_err(), "{wrong:?}");
        }
        let marks: ClassMarks = "0,8,1".parse().expect("three");
        assert_eq!(marks.of(Class::Duplicate), Dscp(8));
        for wrong in ["0,8", "0,8,1,1", "0,8,64", ""] {
            assert!(wrong.parse::<ClassMarks>().is_err(), "{wrong:?}");
        }
    }
}
