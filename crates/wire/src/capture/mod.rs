//! Capture files. [`frame()`] converts a simulated segment to a frame.
//! [`PcapNg`] builds pcapng files whose time stamps are in nanoseconds.
//!
//! ```
//! use tailcut_transport::tcp::{TcpFlags, TcpHeader};
//! use tailcut_transport::{Header, Segment};
//! use tailcut_units::{FiveTuple, HostId, Protocol, Time};
//! use tailcut_wire::capture::{Connection, Note, PcapNg, frame};
//!
//! # let syn = Segment {
//! #     tuple: FiveTuple {
//! #         src: HostId(0),
//! #         dst: HostId(1),
//! #         src_port: 40_000,
//! #         dst_port: 80,
//! #         protocol: Protocol::Tcp,
//! #     },
//! #     flow: Default::default(),
//! #     payload: 0,
//! #     ecn: Default::default(),
//! #     priority: 0,
//! #     path: Default::default(),
//! #     rank: 0,
//! #     trimmable: false,
//! #     condition: Default::default(),
//! #     header: Header::Tcp(TcpHeader { flags: TcpFlags::SYN, ..TcpHeader::default() }),
//! # };
//! let mut file = PcapNg::new("tailcut");
//! let port = file.interface("leaf0:3", 96, None);
//! let connection = Connection::drawn(&syn.tuple, 1, 1460, true);
//! let frame = frame(&syn, &connection, 96).expect("a segment that fits a frame");
//! file.packet(port, Time::from_ns(1_204), &frame, &Note::default());
//! let bytes = file.take();
//! assert_eq!(bytes[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
//! ```

mod frame;
mod pcapng;

pub use frame::{Connection, Frame, FrameError, address, frame};
pub use pcapng::{Direction, Interface, Note, PcapNg};
