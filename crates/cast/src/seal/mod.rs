//! Encryption and authentication with a pre-shared key.
//! Only hosts with the key can read packets and send valid packets. The module also has address tokens.
//! With a token, a receiver that stores nothing about a sender can verify that the sender's address is not forged.
//! The module does no I/O, except for the key file in [`load`] and [`save`].
//!
//! - [`Key`]: the pre-shared key, 32 bytes and a [`Cipher`], and its text format.
//! - [`Origin`]: a source of packets. It has a session, a share, a direction, and a random salt for the session.
//!   Each origin has its own keys: HKDF (RFC 5869, SHA-256) of the pre-shared key and all fields of the origin.
//! - [`Sealer`] and [`Opener`]: encryption and decryption of packets of one origin.
//!   The nonce (RFC 5116, 96 bits) consists of the share, the direction, and the packet number with 64 bits.
//!   An opener refuses a packet number that it has accepted before, or that is too old for its [`ReplayWindow`].
//! - [`Key::proof`]: proof that an origin has the key at this time, as an answer to a challenge.
//! - [`Tokens`]: address validation.
//!
//! # Security properties
//! Each origin draws a random salt. So no nonce is used twice with one key, even if a session identifier is used again.
//! No other host can cause the repetition of a nonce.
//! One origin can send to a multicast group, because all members have the pre-shared key.
//!
//! An attacker who has recorded a whole session can replay its packets to an opener without state of this session.
//! So a result, such as a file with its final name, must wait for a proof.
//! The receiver draws a random challenge for the session, and the sender must answer it.
//!
//! Each host with the key can impersonate every other host with the key. There is no forward secrecy.
//! So an attacker who learns the key later can decrypt recorded packets.
//!
//! A symbol that a switch has trimmed has lost its tag, so its header is not authenticated.
//! The header is only a hint that the packet with this number was trimmed.
//! A receiver must treat a packet with such a header as a lost packet.

#[cfg(unix)]
mod file;
mod key;
mod packets;
mod random;
mod replay;
mod token;

#[cfg(unix)]
pub use file::{FileError, load, save};
pub use key::{Cipher, Direction, Key, KeyError, Origin, Salt};
pub(crate) use packets::is_of;
pub use packets::{GENERATION, Opener, Refusal, Sealer, TAG, expand};
pub use random::NoRandomness;
pub(crate) use random::random;
pub use replay::ReplayWindow;
pub use token::{TOKEN, Tokens};
