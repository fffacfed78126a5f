//! Headers of tailcut's protocols as bytes and back, a plain view of the frames of others, and
//! capture files.
//!
//! - [`ndp`], [`scdp`], [`pfabric`] and [`rans`]: one module for each protocol. Layouts are in
//!   `docs/wire/`, golden vectors in `tests/vectors/`.
//! - [`scdp::paper`] is SCDP over switches that trim, [`scdp::credit`] SCDP over UDP sockets, where receivers give credits.
//! - [`repnet`]: the hello of RepNet over real sockets.
//! - [`rans::Unread`]: headers of RANS out of the bytes of a stream, in whatever pieces they come.
//! - [`encode`], [`decode`] and [`set_condition`]: whole segments, and what trimming changes.
//! - [`foreign`]: what a driver has to know of a frame, and what switches rewrite in it.
//! - [`capture`]: a simulated segment as a frame, and pcapng files.
//!
//! What this crate does *not* do: it reads no clock and no socket, keeps no state of a protocol,
//! and never panics on input. Bytes that it does not know are an error that says what was found.
//!
//! ```
//! use tailcut_transport::ndp::{NdpHeader, NdpKind};
//! use tailcut_transport::{Condition, PathPin};
//! use tailcut_units::FlowId;
//! use tailcut_wire::{DecodeError, Packet, Prefix, ndp, set_condition};
//!
//! let sent = Packet {
//!     prefix: Prefix {
//!         flow: FlowId(7),
//!         payload: 1_460,
//!         path: PathPin::to(3),
//!         trimmable: true,
//!         ..Prefix::default()
//!     },
//!     header: NdpHeader { kind: NdpKind::Data, index: 41, ..NdpHeader::default() },
//! };
//! let mut datagram = [0; 1_600];
//! let header = ndp::encode(&sent, &mut datagram)?;
//!
//! // A switch without room cuts the payload off; what is left still says what it was.
//! let kept = set_condition(&mut datagram[..header + 1_460], Condition::Trimmed)?;
//! let (arrived, length) = ndp::decode(&datagram[..kept])?;
//! assert_eq!((arrived.header, length), (sent.header, header));
//! assert_eq!((arrived.prefix.payload, arrived.prefix.condition), (1_460, Condition::Trimmed));
//!
//! // Another version is refused, with what was found.
//! datagram[1] = 2;
//! let refused = ndp::decode(&datagram[..kept]);
//! assert_eq!(refused, Err(DecodeError::Version { expected: 1, found: 2 }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]

extern crate alloc;

pub mod capture;
mod checksum;
mod codec;
pub mod foreign;
pub mod ndp;
pub mod pfabric;
mod prefix;
pub mod rans;
pub mod repnet;
pub mod scdp;
mod segment;

pub use codec::{DecodeError, EncodeError};
pub use prefix::{Magic, PREFIX_BYTES, Packet, Prefix, VERSION};
pub use segment::{MAX_HEADER_BYTES, decode, encode, set_condition};
