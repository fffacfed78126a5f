//! SCDP ("SCDP: Systematic Rateless Coding for Efficient Data Transport in Data Centres", section IV):
//! an object is blocks of symbols under a systematic rateless code (RaptorQ, RFC 6330), pushed for a
//! window and then pulled by the receiver, over switches that trim and have priorities. Any symbol
//! serves: nothing is ever retransmitted.
//!
//! - Sender: pushes a window of source symbols with SYN, the options and the highest priority; then
//!   sends, for each block, as many symbols as the receiver's count of pulls for that block has grown:
//!   first source, then repair symbols. Symbols go down in class by the bytes that the session has
//!   sent; the answer to a pull with FIN has the highest.
//! - Receiver: opens a session on whichever SYN symbol (or its header) comes first. A window of
//!   requested symbols is always on its way, while symbols are needed; pulls leave through the one
//!   paced queue of the interface. A block needs its K symbols, and once a header has come K + 2. With
//!   all K source symbols it is delivered as it is; otherwise it is decoded, while later blocks
//!   arrive, and a failure pulls one symbol more. A symbol that has come before does not count.
//! - The codec is behind an interface ([`Codec`]): a model in simulation ([`ModelCodec`]), or work
//!   of the driver's that ends when it says so ([`DriverCodec`], [`Host::decoded`]).
//!
//! - An application that is told of blocks may read late ([`Delivery::Blocks`]): blocks beyond its
//!   window are not pulled. Symbols of them that come all the same, pushed or for a group, are
//!   dropped and asked for again. A sender that asks meanwhile is told that the session stands, by
//!   its last pull.
//!
//! - One to many (section IV-D): a symbol is sent to a multicast group when every receiver that is not
//!   done has a pull pending. Receivers finish alone. Those who hold the others up are reported, and
//!   treated as the application wishes.
//! - Many to one (section IV-E): senders have disjoint shares of the symbols and push a window each. The
//!   receiver's pulls go round over them; one that owes symbols for too long is not asked any more
//!   until it is heard.
//!
//! Deviations
//! - The count of pulls is one a block, as the text of section IV-A says and Algorithms 1 and 2 leave
//!   open (they have one block).
//! - The window is an option of SYN symbols too: the receiver must know how many were pushed. Symbols
//!   that are pushed beyond the first block belong to the next one.
//! - Requests are counted, not arrivals: a pull leaves while fewer than a window of requested symbols
//!   are on their way and more are needed. Without loss of headers this gives the paper's K - w pulls,
//!   one a header, and o more after the first header.
//! - The receiver tells the sender when it is done (one more packet of header size, in the place of a
//!   pull); the paper's sender guesses by a linger of unknown length after the answer to FIN. The
//!   sender keeps the session until then, and the addresses for a time-wait after it.
//! - In a group a symbol takes one pull of each receiver, whichever block that was for, and is of the
//!   lowest block that one of them wants; else a receiver that lost a symbol of one block and one that
//!   waits for the next would wait for each other. So a pull has two counts more: of pulls of all
//!   blocks, and of blocks that the receiver has whole. A receiver that got what it did not ask for
//!   pulls once more.
//! - A timeout of the sender sends a symbol to each receiver that is not done, by itself.
//! - A request that only a repair symbol can answer, without any loss, is taken as a loss: the block will
//!   have to be decoded.
//! - The block number has 32 bits: the 8 of RFC 6330 would cap an object at 256 blocks.
//! - The last source symbol is sent without its padding.
//! - "A simple timeout" (section IV-B) is [`ScdpConfig::timeout`] at both ends, backed off. The
//!   receiver's takes everything requested for lost and asks for one symbol, then for a window once
//!   that has come; the sender's sends one symbol more.

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
