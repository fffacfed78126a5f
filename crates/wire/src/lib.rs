//! Encoding and decoding of the headers of tailcut's protocols.
//! The crate also decodes frames of other programs, and builds capture files.
//!
//! - [`ndp`], [`scdp`], [`pfabric`] and [`rans`]: one module for each protocol.
//!   Layouts are in `docs/wire/`, golden vectors in `tests/vectors/`.
//! - [`scdp::paper`]: SCDP over switches that trim.
//! - [`scdp::credit`]: SCDP over UDP sockets, where receivers grant credits.
//! - [`repnet`]: the hello of RepNet over real sockets.
//! - [`rans::Unread`]: RANS headers from the bytes of a stream, which may arrive in pieces of any size.
//! - [`encode`] and [`decode`]: headers of whole segments.
//! - [`set_condition`]: the change that trimming makes in a header.
//! - [`foreign`]: frames of other programs.
//!   The module decodes the data that a driver needs, and rewrites the fields that switches change.
//! - [`capture`]: conversion of simulated segments to frames, and pcapng files.
//!
//! This crate reads no clock and no socket, and keeps no state of a protocol. It never panics on input.
//! The error for unknown bytes contains the unknown bytes.
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
//! // A switch with a full queue removes the payload. The header still contains the original length.
//! let kept = set_condition(&mut datagram[..header + 1_460], Condition::Trimmed)?;
//! let (arrived, length) = ndp::decode(&datagram[..kept])?;
//! assert_eq!((arrived.header, length), (sent.header, header));
//! assert_eq!((arrived.prefix.payload, arrived.prefix.condition), (1_460, Condition::Trimmed));
//!
//! // Another version is an error that contains the version found.
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
