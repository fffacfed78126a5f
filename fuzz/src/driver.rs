//! Target for a driver of SCDP over UDP that receives arbitrary datagrams.

use std::io;
use std::net::{IpAddr, SocketAddr};
use tailcut_cast::driver::{Detached, Mode, Options};
use tailcut_cast::seal::{Cipher, Key};
use tailcut_cast::udp::{Ancillary, Datagrams, Incoming, Outgoing, parse};
use tailcut_units::{Duration, Time};
use tailcut_wire::scdp::credit::{self, Envelope, Message, SYMBOL_BYTES, Symbol};

/// Number of addresses from which datagrams arrive.
const ADDRESSES: usize = 4;
/// Number of datagrams of an input that are delivered, at most.
/// More of them reach no other state, and a fuzzer would put thousands of empty datagrams after each other.
const DATAGRAMS: usize = 64;
/// Placeholder in an input. The target replaces it with the session number that the driver has chosen.
const OWN_SESSION: [u8; 8] = [0xee; 8];

fn address(number: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, number as u8 + 1], 7_000))
}

/// Network of the driver. It counts the bytes that the driver sends.
#[derive(Default)]
struct Sent {
    /// Number of bytes that the driver sent to each address.
    bytes: [usize; ADDRESSES],
    /// Session number in the first packet of protocol version 2.
    session: Option<[u8; 8]>,
}

impl Datagrams for Sent {
    fn send(&mut self, messages: &[Outgoing<'_>]) -> io::Result<usize> {
        for message in messages {
            let to = (0..ADDRESSES).find(|number| address(*number) == message.to);
            self.bytes[to.expect("an address from which a datagram came")] += message.bytes();
            let first = message.parts.first().map(|part| &part[..]);
            // The version is in the upper half of the first byte. The session number begins at byte 4.
            if let Some([0x20..=0x2f, _, _, _, session @ ..]) = first {
                let session = session.first_chunk().copied();
                self.session = self.session.or(session);
            }
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

/// Inserts values that a fuzzer cannot guess: the checksum of a symbol, and the driver's session number.
fn complete(datagram: &mut [u8], session: Option<[u8; 8]>) {
    if let (Some(own), Some(place)) = (session, datagram.get_mut(4..12))
        && place == OWN_SESSION
    {
        place.copy_from_slice(&own);
    }
    // Only symbols have this first byte. Only symbols contain a checksum of the header.
    if datagram.first() == Some(&0x20) {
        renew_checksum(datagram);
    }
}

/// Writes the checksum of a symbol's header, so that it matches the other fields.
pub fn renew_checksum(datagram: &mut [u8]) {
    let Some(header) = datagram.first_chunk_mut::<SYMBOL_BYTES>() else {
        return;
    };
    let word = |at: usize| {
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    };
    let envelope = Envelope {
        session: u64::from(word(4)) << 32 | u64::from(word(8)),
        share: (word(0) & 0xffff) as u16,
    };
    let symbol = Symbol {
        number: word(12),
        block: word(16),
        esi: word(20) >> 8,
        class: header[23],
        stamp: word(24),
        trimmed: header[1] & 1 != 0,
    };
    // `credit::encode` writes the header with its checksum, but not the bit of an encrypted packet.
    // So the bit is restored.
    let sealed = header[1] & 0x80;
    if credit::encode(&envelope, &Message::Symbol(symbol), header).is_ok() {
        header[1] |= sealed;
    }
}

/// Delivers datagrams from several senders to a driver.
///
/// The first byte of the input selects the options of the driver.
/// The rest of the input contains datagrams: each has a length (2 bytes), a sender (1 byte), and the payload.
/// If bit 128 of the sender is set, the time first advances by 50 ms, and the driver processes its timeouts.
///
/// # Panics
/// If the driver sends more bytes to an address than it received from there, or if a received object is too long.
/// The first condition does not apply to the receiver of the sent object. It does not apply in paper mode either.
pub fn cast_driver(bytes: &[u8]) {
    let Some((&mode, mut rest)) = bytes.split_first() else {
        return;
    };
    let (has_key, is_paper, sends) = (mode & 1 != 0, mode & 2 != 0, mode & 4 != 0);
    let options = Options {
        key: (has_key && !is_paper).then(|| Key::new(Cipher::default(), [1; 32])),
        mode: match is_paper {
            true => Mode::Paper,
            false => Options::default().mode,
        },
        object: 1 << 20,
        memory: 4 << 20,
        ..Options::default()
    };
    let mut driver = Detached::new(address(9), &options).expect("parameters within their ranges");
    let (mut sent, mut came) = (Sent::default(), [0; ADDRESSES]);
    let mut now = Time::from_ns(1);
    if sends {
        driver.send(now, address(0), vec![7; 50_000]);
    }
    for _ in 0..DATAGRAMS {
        let Some((&[high, low, who], after)) = rest.split_first_chunk() else {
            break;
        };
        let length = usize::from(u16::from_be_bytes([high, low])).min(after.len());
        let (datagram, after) = after.split_at(length);
        rest = after;
        now += Duration::from_us(30);
        if who & 0x80 != 0 {
            now += Duration::from_ms(50);
            // The limit prevents an endless loop if a new timeout always expires immediately.
            for _ in 0..100 {
                if driver.next_timeout().is_none_or(|at| at > now) {
                    break;
                }
                driver.on_timeout(now);
            }
        }
        while driver.transmit(now, &mut sent) {}
        let mut datagram = datagram.to_vec();
        complete(&mut datagram, sent.session.filter(|_| sends));
        let number = usize::from(who) % ADDRESSES;
        came[number] += datagram.len();
        let ancillary = Ancillary {
            to: Some(IpAddr::from([192, 0, 2, 10])),
            ..Ancillary::default()
        };
        let incoming = Incoming {
            from: address(number),
            ancillary,
            is_cut: false,
            bytes: &datagram,
        };
        driver.on_incoming(now, &incoming);
        while driver.transmit(now, &mut sent) {}
        while let Some((_, object)) = driver.received() {
            assert!(object.len() <= 1 << 20);
        }
        // If the driver sends an object, address 0 is the receiver of the object.
        let strangers = usize::from(sends)..ADDRESSES;
        let more = strangers.clone().find(|at| sent.bytes[*at] > came[*at]);
        assert!(is_paper || more.is_none(), "{:?}, {came:?}", sent.bytes);
    }
}

/// Reads control messages of a socket, in the format of the Linux kernel.
///
/// # Panics
/// If a message returns a segment length of zero.
pub fn cast_control(bytes: &[u8]) {
    let ancillary = parse(bytes);
    assert!(ancillary.segment != Some(0));
}
