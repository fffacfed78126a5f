//! Packets of hosts that the endpoint does not know.

use std::io;
use std::net::SocketAddr;
use tailcut_cast::driver::{Detached, Options};
use tailcut_cast::seal::{Cipher, Key};
use tailcut_cast::udp::{Ancillary, Datagrams, Incoming, Outgoing};
use tailcut_transport::scdp::CreditHeader;
use tailcut_units::Time;
use tailcut_wire::scdp::credit::{
    self, Check, Envelope, LEAST_CHECK, LEAST_OFFER, Message, Offer, Symbol,
};

fn packet(session: u64, message: &Message, more: usize) -> Vec<u8> {
    let mut bytes = vec![0; 1_300];
    let envelope = Envelope { session, share: 0 };
    let length = credit::encode(&envelope, message, &mut bytes).expect("room");
    bytes.resize(length, 0);
    bytes.resize(length + more, 1);
    bytes
}

fn offer(number: u64, token: Option<[u8; 32]>) -> Vec<u8> {
    let offer = Offer {
        length: 16 << 20,
        blocks: 117,
        symbol: 1_440,
        senders: 1,
        pushed: 10,
        padded: LEAST_OFFER,
        token,
        ..Offer::default()
    };
    packet(number, &Message::Offer(offer), 0)
}

/// Function that creates the packet with a given number.
type Make = fn(u64) -> Vec<u8>;

/// Packets of all kinds. Each packet belongs to a different session.
pub const PACKETS: [(&str, Make); 10] = [
    ("bytes of another protocol", |number| {
        [&number.to_be_bytes()[..], &[0xff; 200]].concat()
    }),
    ("symbol", |number| {
        packet(number, &Message::Symbol(Symbol::default()), 1_440)
    }),
    ("trimmed symbol", |number| {
        packet(number, &Message::Symbol(Symbol::default()), 0)
    }),
    ("symbol under a key", |number| {
        let mut bytes = packet(number, &Message::Symbol(Symbol::default()), 1_440);
        bytes[1] |= 0x80;
        bytes
    }),
    ("pull", |number| {
        packet(number, &Message::Pull(CreditHeader::default()), 0)
    }),
    ("status", |number| {
        let status = Message::Status {
            used: 1,
            stamp: 1,
            asks: false,
        };
        packet(number, &status, 0)
    }),
    ("retry", |number| {
        packet(number, &Message::Retry([1; 32]), 0)
    }),
    ("offer with a wrong token", |number| {
        offer(number, Some([7; 32]))
    }),
    ("offer under a wrong key", |number| {
        let mut bytes = offer(number, None);
        bytes[1] |= 0x80;
        bytes
    }),
    ("check under a wrong key", |number| {
        let mut bytes = check(number);
        bytes[1] |= 0x80;
        bytes.resize(bytes.len() + 36, 1);
        bytes
    }),
];

fn check(number: u64) -> Vec<u8> {
    let check = Check {
        size: LEAST_CHECK,
        ..Check::default()
    };
    packet(number, &Message::Check(check), 0)
}

/// Socket that drops the answers and counts their bytes.
struct Sink(usize);

impl Datagrams for Sink {
    fn send(&mut self, messages: &[Outgoing<'_>]) -> io::Result<usize> {
        self.0 += messages.iter().map(Outgoing::bytes).sum::<usize>();
        Ok(messages.len())
    }

    fn receive(&mut self, _: &mut dyn FnMut(&Incoming<'_>)) -> io::Result<usize> {
        Ok(0)
    }

    fn segments(&self) -> usize {
        64
    }
}

/// Endpoint that receives packets only from unknown hosts.
pub struct Stranger {
    driver: Detached,
    answers: Sink,
    now: u64,
}

impl Stranger {
    pub fn new(has_key: bool) -> Self {
        let options = Options {
            key: has_key.then(|| Key::new(Cipher::default(), [1; 32])),
            ..Options::default()
        };
        let local = SocketAddr::from(([192, 0, 2, 1], 7_000));
        Self {
            driver: Detached::new(local, &options).expect("an endpoint"),
            answers: Sink(0),
            now: 0,
        }
    }

    /// Delivers a packet and sends the answers. The time advances by one microsecond per packet.
    pub fn speak(&mut self, bytes: &[u8]) {
        self.now += 1_000;
        let from = SocketAddr::from(([198, 51, 100, 7], 9));
        let incoming = Incoming {
            from,
            ancillary: Ancillary::default(),
            is_cut: false,
            bytes,
        };
        let now = Time::from_ns(self.now);
        self.driver.on_incoming(now, &incoming);
        self.driver.transmit(now, &mut self.answers);
    }

    /// Returns the number of bytes of all answers.
    pub fn answered(&self) -> usize {
        self.answers.0
    }
}
