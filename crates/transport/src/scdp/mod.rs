//! SCDP: transfer of objects with a rateless code.
//! The paper is "SCDP: Systematic Rateless Coding for Efficient Data Transport in Data Centres" (section IV).
//! An object is divided into blocks.
//! Each block is encoded into symbols with a systematic rateless code (RaptorQ, RFC 6330).
//! Every symbol of a block helps to decode the block, so no symbol is retransmitted.
//!
//! Two modes share objects, blocks, codecs and hosts:
//!
//! - [`Mode::Paper`] is the paper's protocol, for networks that trim (module `paper`).
//! - [`Mode::Credit`] is for networks that do not trim (module `credit`).
//!
//! Rules of both modes:
//! - A receiver opens a session at the first SYN symbol, or at its trimmed header.
//!   A block needs K symbols, or K + 2 if a header without payload has arrived.
//!   If all K source symbols arrive, the block is delivered directly.
//!   If source symbols are missing, the block is decoded while later blocks arrive.
//!   If decoding fails, the receiver requests one more symbol. A symbol that arrives twice counts once.
//! - The codec is an interface ([`Codec`]). Simulations use a model ([`ModelCodec`]).
//!   Over real sockets the driver decodes ([`DriverCodec`], [`Host::decoded`]).
//! - An application that receives single blocks ([`Delivery::Blocks`]) may read slowly.
//!   The receiver does not request blocks beyond the application's window.
//!   Symbols of later blocks may still arrive, because they were pushed or sent to a group.
//!   The receiver drops symbols of later blocks and requests them again later.
//!   Meanwhile, the sender may request an answer.
//!   If the sender requests an answer, the receiver repeats its last pull, to show that the session continues.
//!
//! Deviations of both modes:
//! - The receiver reports the end of the session with one more packet of header size, instead of a pull.
//!   The paper's sender estimates the end: it waits for an unspecified time after the answer to FIN.
//!   In this crate the sender keeps the session until the report, and the addresses for a time-wait after the report.
//! - The block number has 32 bits. The 8 bits of RFC 6330 would limit an object to 256 blocks.
//! - The last source symbol is sent without its padding.
//! - The paper has "a simple timeout" (section IV-B).
//!   In this crate the timeout is [`ScdpConfig::timeout`] at both ends, with exponential backoff.

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
