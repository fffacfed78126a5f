//! RepNet over tokio's TCP: a short flow is sent on two paths, and the application gets the bytes of the faster path.
//! The source is the paper "RepNet: Cutting Tail Latency in Data Center Networks with Flow Replication".
//!
//! In a network with several equal-cost paths, a hash of addresses and ports binds a connection to one path.
//! A [`Connector`] opens **two** connections for a flow, from different ports.
//! The application receives the bytes of the faster connection, once and in order, through one [`TcpStream`].
//! RepFlow sends all bytes on both connections. RepSYN races only the handshake and the hello.
//! A [`TcpListener`] joins the two connections again. Either host may use the npm package `repnet`.
//! `docs/repnet-wire.md` describes the bytes.
//!
//! ```
//! use tailcut_repnet::{Connector, Settings, TcpListener};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let listener = TcpListener::bind("127.0.0.1:0".parse()?).await?;
//! let port = listener.local_addr()?.port();
//! let server = tokio::spawn(async move {
//!     let (mut stream, _) = listener.accept().await?;
//!     let mut request = [0; 4];
//!     stream.read_exact(&mut request).await?;
//!     stream.write_all(&request).await?;
//!     Ok::<_, std::io::Error>(stream.is_replicated())
//! });
//!
//! let mut settings = Settings::default();
//! // Without this line, the first flow is plain while a probe checks whether the target supports RepNet.
//! settings.flow.assume_capable = true;
//! let connector = Connector::new(settings)?;
//! let mut stream = connector.connect("127.0.0.1", port).await?;
//! stream.write_all(b"ping").await?;
//! let mut answer = [0; 4];
//! stream.read_exact(&mut answer).await?;
//! assert_eq!(&answer, b"ping");
//! assert!(server.await??);
//! # Ok(())
//! # }
//! ```
//!
//! Limits: a server accepts eager flows, but the client does not send them.
//! There is no encryption, so use TLS inside the flow.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod budget;
mod capability;
mod clock;
mod connection;
mod connector;
mod counters;
mod driver;
mod error;
mod ids;
mod lingering;
mod listener;
mod liveness;
mod log;
mod pending_hellos;
mod prefix_check;
#[cfg(feature = "proxy")]
pub mod proxy;
mod settings;
mod stream;
#[cfg(feature = "proxy")]
mod values;

pub use connector::Connector;
pub use counters::{Counters, Stats};
pub use error::RepNetError;
pub use listener::TcpListener;
pub use liveness::Liveness;
pub use settings::{FlowSettings, Pairing, SecondLegFrom, SettingError, Settings};
pub use stream::TcpStream;
pub use tailcut_transport::repnet::Mode;
