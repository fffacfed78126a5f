//! SCDP: objects as symbols of a rateless code ("SCDP: Systematic Rateless Coding for Efficient Data Transport in Data
//! Centres", section IV). An object is a row of blocks, and a block is a row of symbols under a systematic rateless code
//! (RaptorQ, RFC 6330). Any symbol of a block helps to decode it, so no symbol is retransmitted.
//!
//! Two modes share objects, blocks, codecs and hosts:
//!
//! - [`Mode::Paper`] is the paper's protocol, for networks that trim: `paper`.
//! - [`Mode::Credit`] is for networks that do not trim: `credit`.
//!
//! Both modes:
//! - A receiver opens a session on the first symbol of a SYN, or on its header. A block needs its K symbols, and K + 2 once
//!   a header has arrived without its payload. With all K source symbols the block is delivered as it is; otherwise it is
//!   decoded while later blocks arrive, and a failure needs one symbol more. A symbol that arrives twice counts once.
//! - The codec is behind an interface ([`Codec`]): a model in simulation ([`ModelCodec`]), or work of the driver
//!   ([`DriverCodec`], [`Host::decoded`]).
//! - An application that receives blocks one by one ([`Delivery::Blocks`]) may read late: blocks beyond its window are not
//!   requested. Symbols of such blocks that arrive, pushed or for a group, are dropped and requested again. A sender that
//!   asks meanwhile gets the last pull again, so it knows that the session goes on.
//!
//! Deviations of both modes:
//! - The receiver reports the end of the session with one more packet of header size, in the place of a pull. The paper's
//!   sender guesses it by a linger of unknown length after the answer to FIN. The sender keeps the session until the report,
//!   and the addresses for a time-wait after it.
//! - The block number has 32 bits. The 8 bits of RFC 6330 would limit an object to 256 blocks.
//! - The last source symbol is sent without its padding.
//! - "A simple timeout" (section IV-B) is [`ScdpConfig::timeout`] at both ends, backed off.

mod common;
mod config;
mod credit;
mod demand;
mod host;
mod paper;
mod receiver;
mod sender;

pub use common::codec::{Attempt, Codec, DecodeSpeed, Decoding, DriverCodec, Job, ModelCodec};
pub use common::header::{CreditHeader, MAX_ESI, ScdpHeader, ScdpKind, WANTS, Want};
pub use common::limits::Limits;
pub use common::object::Object;
pub use config::{BlockOrder, Delivery, Mode, ScdpConfig};
pub use credit::config::CreditConfig;
pub use credit::credits::Balance;
pub use host::Host;
