//! Tests of the driver. The network is in memory, and the time is simulated.

mod checks;
mod faults;
mod group;
mod hostile;
mod keys;
mod mtu;
mod open;
mod transcript;

use super::buffer_budget::BufferBudget;
use super::engine::{Engine, News, Setup};
use crate::codec::Codes;
use crate::seal::{Key, Tokens};
use crate::udp::{Ancillary, Datagrams, Incoming, Outgoing, TrafficClass};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tailcut_transport::Demotion;
use tailcut_transport::scdp::{
    BlockOrder, CreditConfig, Delivery, DriverCodec, Host, Limits, Mode, ScdpConfig,
};
use tailcut_units::{HostId, mix64};

/// Datagram in flight.
#[derive(Clone, Debug)]
struct Datagram {
    from: SocketAddr,
    /// Source address that the sender has chosen for the datagram.
    leaves: Option<IpAddr>,
    to: SocketAddr,
    class: TrafficClass,
    bytes: Vec<u8>,
}

/// Socket whose datagrams stay in memory.
#[derive(Debug)]
struct Memory {
    local: SocketAddr,
    segments: usize,
    /// Number of messages that the socket accepts before its buffer is full. `None`: no limit.
    room: Option<usize>,
    arrived: VecDeque<Datagram>,
    sent: VecDeque<Datagram>,
}

impl Memory {
    fn new(local: SocketAddr) -> Self {
        Self {
            local,
            segments: 64,
            room: None,
            arrived: VecDeque::new(),
            sent: VecDeque::new(),
        }
    }
}

impl Datagrams for Memory {
    fn send(&mut self, messages: &[Outgoing<'_>]) -> io::Result<usize> {
        let count = self.room.unwrap_or(messages.len()).min(messages.len());
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        if let Some(room) = &mut self.room {
            *room -= count;
        }
        for message in &messages[..count] {
            let bytes: Vec<u8> = message
                .parts
                .iter()
                .flat_map(|part| part.to_vec())
                .collect();
            let segment = message.segment.map_or(bytes.len(), usize::from).max(1);
            assert!(bytes.chunks(segment).len() <= self.segments);
            for datagram in bytes.chunks(segment) {
                self.sent.push_back(Datagram {
                    from: self.local,
                    leaves: message.from,
                    to: message.to,
                    class: message.class,
                    bytes: datagram.to_vec(),
                });
            }
        }
        Ok(count)
    }

    fn receive(&mut self, take: &mut dyn FnMut(&Incoming<'_>)) -> io::Result<usize> {
        let count = self.arrived.len();
        for datagram in self.arrived.drain(..) {
            take(&Incoming {
                from: datagram.from,
                ancillary: Ancillary {
                    class: datagram.class,
                    to: Some(datagram.to.ip()),
                    ..Ancillary::default()
                },
                is_cut: false,
                bytes: &datagram.bytes,
            });
        }
        Ok(count)
    }

    fn segments(&self) -> usize {
        self.segments
    }
}

fn address(host: u32) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host as u8], 7_000))
}

/// Returns parameters of paper mode. The transport sets the pace of the pulls.
fn config() -> ScdpConfig {
    ScdpConfig {
        symbol: 1_000,
        demotion: Demotion::NONE,
        delivery: Delivery::Blocks {
            order: BlockOrder::AsWhole,
            window: u64::MAX,
        },
        ..ScdpConfig::default()
    }
}

fn engine(me: u32, config: ScdpConfig) -> Engine {
    keyed(me, config, None)
}

fn keyed(me: u32, config: ScdpConfig, key: Option<Key>) -> Engine {
    let host = Host::new(HostId(me), config, DriverCodec::default()).expect("parameters");
    let budget = BufferBudget::new(20 << 20, 64 << 20);
    Engine::new(Setup {
        host,
        config,
        me: HostId(me),
        budget,
        codes: Arc::new(Codes::new(16)),
        tokens: Tokens::new([me as u8; 32]),
        key,
    })
}

/// Returns parameters of credit mode. The hosts do not trust each other.
fn credits() -> ScdpConfig {
    let pushed = Limits::SOCKETS.pushed;
    ScdpConfig {
        mode: Mode::Credit(CreditConfig::default()),
        initial_window: pushed,
        limits: Limits::SOCKETS,
        ..config()
    }
}

/// Returns pseudo-random bytes for an object.
fn object(length: usize, seed: u64) -> Vec<u8> {
    let words = (0..length.div_ceil(8) as u64).map(|at| mix64(at ^ (seed << 40)));
    let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    bytes.truncate(length);
    bytes
}

/// Returns all waiting events of an engine.
fn news(engine: &mut Engine) -> Vec<News> {
    std::iter::from_fn(|| engine.poll_news()).collect()
}
