//! Protection by a key that both ends have: what a packet says is read by those who have the key
//! only, and comes from one of them; and tokens by which a receiver of packets knows, without keeping
//! anything, that a sender's address is its own. Nothing here does I/O, except for [`load`] and
//! [`save`] of the key's file.
//!
//! - [`Key`]: the pre-shared key, 32 bytes and a [`Cipher`], and its line of text.
//! - [`Origin`]: who sends: a share of a session, in a direction, with a salt that it has drawn for
//!   the session. Each origin has keys of its own: HKDF (RFC 5869, SHA-256) of the pre-shared key and
//!   all that an origin is.
//! - [`Sealer`] and [`Opener`]: packets of one origin. The nonce (RFC 5116, 96 bits) is the share, the
//!   direction, and the packet number with 64 bits. Packets whose number an opener has taken before,
//!   or cannot know any more, are refused ([`ReplayWindow`]).
//! - [`Key::proof`]: an origin shows that it has the key now, by answering a challenge.
//! - [`Tokens`]: address validation.
//!
//! # What it is good for
//! The salt is the origin's own, so that a nonce never comes twice under a key, whatever the peer does
//! and however often a session's identifier is chosen: nobody else can bring that about. One origin
//! can send to a group, which all have the pre-shared key.
//!
//! Somebody who has recorded a whole session can send its packets again later, to an opener that does
//! not remember them. So what a session leads to (a file in its place) has to wait for a proof of the
//! sender: it answers a challenge that the receiver has drawn for this session.
//!
//! All who have the key can pretend to be each other. Somebody who learns the key later can read what
//! was recorded before: there is no key agreement (forward secrecy).
//!
//! A symbol that a switch has trimmed has lost its tag. What is left is not authentic: it is a hint
//! that the packet of this number was trimmed, and nothing more must follow from it than from its
//! loss.

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
