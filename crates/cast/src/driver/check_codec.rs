//! Encoding and decoding of checks and echoes, which are the answers to checks (docs/wire/scdp.md, checks).

use super::sealing::{OVERHEAD, Seal, open_first};
use crate::seal::{Direction, Key, random};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tailcut_wire::scdp::credit::{self, Check, Echo, Envelope, LEAST_CHECK, Message};

/// Largest number of addresses in the list of a group's listeners. Forged answers must not fill the memory.
const MOST_LISTENERS: usize = 1_024;

/// Encodes the checks of one session and decodes the answers. Works with or without a key.
pub(crate) struct CheckCodec {
    key: Option<Key>,
    session: u64,
    seal: Option<Seal>,
}

impl std::fmt::Debug for CheckCodec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("CheckCodec");
        debug
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl CheckCodec {
    /// Creates a codec for a new session with a random identifier.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub(crate) fn new(key: Option<&Key>) -> io::Result<Self> {
        let session = u64::from_be_bytes(random().map_err(io::Error::other)?);
        let seal = key.map(|key| Seal::new(key, session, 0, None)).transpose();
        Ok(Self {
            key: key.cloned(),
            session,
            seal: seal.map_err(io::Error::other)?,
        })
    }

    /// Returns the size of the shortest check in bytes.
    pub(crate) fn least(&self) -> u16 {
        LEAST_CHECK + self.overhead()
    }

    /// Returns whether `session` is the session of these checks.
    pub(super) fn is_of(&self, session: u64) -> bool {
        self.session == session
    }

    fn overhead(&self) -> u16 {
        self.seal.as_ref().map_or(0, |_| OVERHEAD as u16)
    }

    /// Encodes a check as a datagram of `check.size` bytes, at least [`Self::least`]. Returns `None` if this fails.
    pub(crate) fn write(&mut self, check: &Check) -> Option<Vec<u8>> {
        // The encryption adds bytes later. So the unencrypted check is shorter.
        let size = check.size.max(self.least()) - self.overhead();
        let message = Message::Check(Check { size, ..*check });
        let envelope = Envelope {
            session: self.session,
            // A check belongs to no object, so it has no share of an object.
            share: 0,
        };
        let mut plain = vec![0; usize::from(size)];
        credit::encode(&envelope, &message, &mut plain).ok()?;
        let Some(seal) = &mut self.seal else {
            return Some(plain);
        };
        let mut sealed = Vec::with_capacity(plain.len() + OVERHEAD);
        let range = seal.seal(&plain, &[], &mut sealed)?;
        // The buffer was empty before, so it must contain exactly the packet.
        (range == (0..sealed.len())).then_some(sealed)
    }

    /// Decodes an answer. Returns `None` if the datagram does not answer a check of this session.
    pub(crate) fn read(&self, bytes: &[u8]) -> Option<Echo> {
        let mut plain = Vec::new();
        let bytes = match self.key {
            None => bytes,
            Some(_) => {
                self.open(self.session, bytes, &mut plain)?;
                &plain
            }
        };
        match credit::decode(bytes).ok()? {
            (envelope, Message::Echo(echo), _) if envelope.session == self.session => Some(echo),
            _ => None,
        }
    }

    /// Decrypts an answer into `plain`. The result has the format of an answer without a key.
    pub(super) fn open(&self, session: u64, bytes: &[u8], plain: &mut Vec<u8>) -> Option<()> {
        let key = self.key.as_ref().filter(|_| session == self.session)?;
        // Each answer has a new salt. So each answer is decrypted as the first packet of an origin.
        open_first(key, session, 0, Direction::Backward, bytes, plain)?;
        Some(())
    }
}

/// Endpoints that have answered a check to a multicast group, so they receive from the group. Clones share the list.
#[derive(Clone, Default, Debug)]
pub struct GroupListeners(Arc<Mutex<Vec<SocketAddr>>>);

impl GroupListeners {
    fn lock(&self) -> MutexGuard<'_, Vec<SocketAddr>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether an endpoint with this address has answered a check to the group.
    pub fn has(&self, address: SocketAddr) -> bool {
        self.lock().contains(&address)
    }

    /// Removes an address from the list, so that the endpoint must answer again.
    pub fn forget(&self, address: SocketAddr) {
        self.lock().retain(|other| *other != address);
    }

    pub(super) fn add(&self, address: SocketAddr) {
        // Without a key, one host can answer a check from many forged addresses. So the list has a limit.
        let mut all = self.lock();
        if all.len() < MOST_LISTENERS && !all.contains(&address) {
            all.push(address);
        }
    }
}

/// Sender of checks to multicast groups. All checks belong to one session.
/// The list contains the endpoints that have answered.
#[derive(Debug)]
pub(super) struct GroupChecker {
    pub(super) codec: CheckCodec,
    pub(super) listeners: GroupListeners,
    /// Number of the next check.
    next: u16,
}

impl GroupChecker {
    pub(super) fn new(codec: CheckCodec, listeners: GroupListeners) -> Self {
        Self {
            codec,
            listeners,
            next: 0,
        }
    }

    /// Returns the next check as a datagram.
    pub(super) fn next(&mut self) -> Option<Vec<u8>> {
        let check = Check {
            number: self.next,
            ..Check::default()
        };
        // An answer is identified by its session only. So numbers may repeat.
        self.next = self.next.wrapping_add(1);
        self.codec.write(&check)
    }
}
