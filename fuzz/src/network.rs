//! Targets for whole transfers between two drivers of `tailcut cast`, over a network that the input controls.

use crate::choice::Choices;
use crate::driver::renew_checksum;
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::SocketAddr;
use tailcut_cast::driver::{Detached, Options};
use tailcut_cast::seal::{Cipher, Direction, Key, Opener, Origin, Salt, Sealer, TAG};
use tailcut_cast::udp::{Ancillary, Datagrams, Incoming, Outgoing};
use tailcut_units::{Duration, Time};
use tailcut_wire::scdp::credit::{PREFIX_BYTES, SEALED, SYMBOL_BYTES, VERSION};

/// Number of rounds, at most. In each round both drivers send, and datagrams arrive.
const ROUNDS: usize = 2_000;
/// Number of datagrams in flight to a driver, at most. The network drops others, as a queue does.
const QUEUE: usize = 512;
/// Number of losses in a row after which a transfer must still succeed.
const TOLERATED: u32 = 3;
/// Size of the packet number at the end of an encrypted packet.
const NUMBER: usize = 4;

/// Number of a driver. Driver 0 sends the object.
type End = usize;

fn address(end: End) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, end as u8 + 1], 7_000))
}

/// Datagrams that a driver sends.
#[derive(Default)]
struct Sent(Vec<Vec<u8>>);

impl Datagrams for Sent {
    fn send(&mut self, messages: &[Outgoing<'_>]) -> io::Result<usize> {
        for message in messages {
            let bytes: Vec<u8> = message
                .parts
                .iter()
                .flat_map(|part| part.to_vec())
                .collect();
            let length = message.segment.map_or(bytes.len(), usize::from).max(1);
            self.0.extend(bytes.chunks(length).map(<[u8]>::to_vec));
        }
        Ok(messages.len())
    }

    fn receive(&mut self, _: &mut dyn FnMut(&Incoming<'_>)) -> io::Result<usize> {
        Ok(0)
    }

    fn segments(&self) -> usize {
        16
    }
}

/// Two drivers and their network.
struct World {
    ends: [Detached; 2],
    /// Datagrams on their way to each driver.
    queues: [VecDeque<Vec<u8>>; 2],
    now: Time,
    arrived: Vec<Vec<u8>>,
}

impl World {
    fn new(key: Option<Key>) -> Self {
        let options = Options {
            key,
            object: 1 << 20,
            memory: 4 << 20,
            ..Options::default()
        };
        let end = |end| Detached::new(address(end), &options).expect("parameters within ranges");
        Self {
            ends: [end(0), end(1)],
            queues: [VecDeque::new(), VecDeque::new()],
            now: Time::from_ns(1),
            arrived: Vec::new(),
        }
    }

    /// Runs the transfer until both drivers are idle. `pass` gets each datagram with its sender, and returns the
    /// datagrams that arrive instead.
    fn run(&mut self, mut pass: impl FnMut(End, Vec<u8>) -> Vec<Vec<u8>>) {
        for _ in 0..ROUNDS {
            for end in [0, 1] {
                let mut sent = Sent::default();
                while self.ends[end].transmit(self.now, &mut sent) && sent.0.len() < QUEUE {}
                for datagram in sent.0 {
                    for datagram in pass(end, datagram) {
                        if self.queues[1 - end].len() < QUEUE {
                            self.queues[1 - end].push_back(datagram);
                        }
                    }
                }
            }
            let is_idle = self.queues.iter().all(VecDeque::is_empty);
            let due = self.ends.iter().filter_map(Detached::next_timeout).min();
            match (is_idle, due) {
                (true, None) => return,
                (true, Some(due)) => self.now = self.now.max(due),
                (false, _) => self.now += Duration::from_us(30),
            }
            for end in [0, 1] {
                for datagram in std::mem::take(&mut self.queues[end]) {
                    self.deliver(end, &datagram);
                }
                // The limit prevents an endless loop if a new timeout always expires immediately.
                for _ in 0..100 {
                    if self.ends[end].next_timeout().is_none_or(|at| at > self.now) {
                        break;
                    }
                    self.ends[end].on_timeout(self.now);
                }
                while let Some((_, object)) = self.ends[end].received() {
                    assert_eq!(end, 1, "the sender has received an object");
                    self.arrived.push(object);
                }
            }
        }
    }

    fn deliver(&mut self, end: End, bytes: &[u8]) {
        let ancillary = Ancillary {
            to: Some(address(end).ip()),
            ..Ancillary::default()
        };
        let incoming = Incoming {
            from: address(1 - end),
            ancillary,
            is_cut: false,
            bytes,
        };
        self.ends[end].on_incoming(self.now, &incoming);
    }
}

fn key() -> Key {
    Key::new(Cipher::default(), [1; 32])
}

fn object(choices: &mut Choices<'_>) -> Vec<u8> {
    let length = *choices.one_of(&[50_000, 0, 1, 1_400, 5_000, 20_000]);
    (0..length).map(|at: u32| (at % 251) as u8).collect()
}

/// Sends an object through a network that drops, repeats, delays and damages datagrams.
///
/// # Panics
/// If another object arrives, or the object arrives more than once in a session.
/// If the object does not arrive although few datagrams were lost.
pub fn cast_network(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let key = choices.bool().then(key);
    let has_key = key.is_some();
    let object = object(&mut choices);
    let mut world = World::new(key);
    assert!(world.ends[0].send(world.now, address(1), object.clone()));
    let (mut lost, mut late) = (0, [Vec::new(), Vec::new()]);
    // A sender that suspects a small MTU starts again, with another session.
    let mut sessions: BTreeSet<Vec<u8>> = BTreeSet::new();
    world.run(|end, mut datagram| {
        sessions.extend(datagram.get(4..PREFIX_BYTES).map(<[u8]>::to_vec));
        let late = &mut late[end];
        if choices.is_empty() {
            let mut all = std::mem::take(late);
            all.push(datagram);
            return all;
        }
        match choices.byte() {
            0..8 => {
                lost += 1;
                Vec::new()
            }
            8..16 => vec![datagram.clone(), datagram],
            16..24 => {
                lost += 1;
                late.push(datagram);
                Vec::new()
            }
            24..32 => {
                let mut all = vec![datagram];
                all.append(late);
                all
            }
            // Without a key, only the checksum of UDP protects the data.
            32..40 if has_key => {
                lost += 1;
                let at = choices.number() as usize % datagram.len().max(1);
                if let Some(byte) = datagram.get_mut(at) {
                    *byte ^= choices.byte().max(1);
                }
                vec![datagram]
            }
            40..48 if has_key => {
                lost += 1;
                datagram.truncate(choices.number() as usize % (datagram.len() + 1));
                vec![datagram]
            }
            _ => vec![datagram],
        }
    });
    for arrived in &world.arrived {
        assert!(
            *arrived == object,
            "{} bytes of {}",
            arrived.len(),
            object.len()
        );
    }
    assert!(
        world.arrived.len() <= sessions.len(),
        "{} arrivals in {} sessions",
        world.arrived.len(),
        sessions.len()
    );
    assert!(
        lost > TOLERATED || !world.arrived.is_empty(),
        "{lost} losses: {:?}",
        world.ends[0].counts()
    );
}

/// Peer with the key that sits between two ends: it decrypts packets, changes them, and encrypts them again.
struct Middle {
    key: Key,
    /// Origin of each end's packets, after its first packet.
    origins: [Option<(Origin, Opener, Sealer)>; 2],
    /// Number of the next packet of each end.
    next: [u64; 2],
}

impl Middle {
    /// Returns the parts of an encrypted packet: the part that stays readable, and the decrypted rest.
    fn open(&mut self, end: End, datagram: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
        let &[first, flags, high, low, ref rest @ ..] = datagram else {
            return None;
        };
        if flags & SEALED == 0 {
            return None;
        }
        let session = u64::from_be_bytes(*rest.first_chunk()?);
        let (rest, tag) = datagram.split_last_chunk::<TAG>()?;
        let (rest, number) = rest.split_last_chunk::<NUMBER>()?;
        let head = match first & 0x0f {
            0 => SYMBOL_BYTES,
            _ => PREFIX_BYTES + size_of::<Salt>(),
        };
        let (head, body) = rest.split_at_checked(head)?;
        if self.origins[end].is_none() && first & 0x0f != 0 {
            let direction = match end {
                0 => Direction::Forward,
                _ => Direction::Backward,
            };
            let origin = Origin {
                session,
                share: u16::from_be_bytes([high, low]),
                direction,
                salt: *head.last_chunk()?,
            };
            let state = (origin, self.key.opener(&origin), self.key.sealer(&origin));
            self.origins[end] = Some(state);
        }
        let (_, opener, _) = self.origins[end].as_mut()?;
        let mut body = body.to_vec();
        let number = opener.expand(u32::from_be_bytes(*number));
        opener.open(number, head, &mut body, tag).ok()?;
        Some((head.to_vec(), body))
    }

    fn seal(&mut self, end: End, mut head: Vec<u8>, mut body: Vec<u8>) -> Option<Vec<u8>> {
        let (_, _, sealer) = self.origins[end].as_mut()?;
        let number = self.next[end];
        let tag = sealer.seal(number, &head, &mut body).ok()?;
        self.next[end] += 1;
        head.extend_from_slice(&body);
        head.extend_from_slice(&(number as u32).to_be_bytes());
        head.extend_from_slice(&tag);
        Some(head)
    }
}

/// Changes a few bytes of a part, or its length.
fn change(part: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let at = choices.byte() as usize % part.len().max(1);
    match choices.below(6) {
        0 => part.truncate(at),
        1 => part.extend_from_slice(choices.bytes()),
        2 => part
            .splice(at.min(part.len()).., choices.bytes().iter().copied())
            .for_each(drop),
        3 => {
            // Numbers of blocks, symbols and bytes have four bytes.
            let value = *choices.one_of(&[0, 1, 0xff, 0x7fff_ffff, u32::MAX, 1 << 24, 1 << 16]);
            if let Some(place) = part.get_mut(at..at + 4) {
                place.copy_from_slice(&value.to_be_bytes());
            }
        }
        _ => {
            if let Some(byte) = part.get_mut(at) {
                *byte = choices.byte();
            }
        }
    }
}

/// Sends an object between two drivers with a key. A peer with the key changes the packets of both.
/// So both drivers get messages that no driver sends, under a correct encryption.
///
/// # Panics
/// If an object arrives that is larger than the receiver allows.
pub fn cast_sealed(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let object = object(&mut choices);
    let mut world = World::new(Some(key()));
    assert!(world.ends[0].send(world.now, address(1), object));
    let mut middle = Middle {
        key: key(),
        origins: [None, None],
        next: [0; 2],
    };
    world.run(|end, mut datagram| {
        let Some((mut head, mut body)) = middle.open(end, &datagram) else {
            if choices.below(8) == 1 {
                change(&mut datagram, &mut choices);
            }
            return vec![datagram];
        };
        let mut all = Vec::new();
        match choices.below(8) {
            1 => change(&mut body, &mut choices),
            2 if head.len() == SYMBOL_BYTES => {
                change(&mut head, &mut choices);
                renew_checksum(&mut head);
            }
            3 => {
                // A message that the end has not sent: a changed copy goes before the packet.
                let (mut head, mut body) = (head.clone(), body.clone());
                // Symbols have another layout than all other messages.
                if head.len() < SYMBOL_BYTES
                    && let Some(kind) = head.first_mut()
                {
                    *kind = VERSION << 4 | (1 + choices.below(15)) as u8;
                }
                change(&mut body, &mut choices);
                all.extend(middle.seal(end, head, body));
            }
            4 => return Vec::new(),
            _ => {}
        }
        all.extend(middle.seal(end, head, body));
        all
    });
    for arrived in &world.arrived {
        assert!(arrived.len() <= 1 << 20, "{} bytes", arrived.len());
    }
}
