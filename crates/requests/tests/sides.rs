//! Tests of a client that requests ranges of an object from two simulated servers.

use proptest::prelude::*;
use tailcut_requests::{
    ByteRange, Client, CopyId, Demand, HIGH, Order, Policy, Purpose, RequestHeader, RequestId,
    Server, ServerConfig, Split,
};
use tailcut_units::{Duration, HostId, Rate, Time};

const PIECE: u64 = 1_000;

fn policy(copies: u8) -> Policy {
    Policy {
        copies,
        split: Split::Ranges,
        piece: PIECE,
        ..Policy::RANS
    }
}

/// Client and its servers. Messages take no time.
struct Stage {
    client: Client,
    servers: Vec<Server>,
    now: Time,
    /// Messages that each server has received.
    asked: Vec<Vec<(Purpose, u64, u64)>>,
}

impl Stage {
    /// Creates a server for each of these rates, in bytes per millisecond.
    fn new(rates: &[u64]) -> Self {
        let server = |rate: &u64| {
            Server::new(ServerConfig {
                discipline: Default::default(),
                preemption: Default::default(),
                disk: None,
                link: Rate::from_bps(rate * 8_000),
                chunk: PIECE,
            })
        };
        Self {
            client: Client::new(policy(rates.len() as u8)).expect("a policy"),
            servers: rates.iter().map(server).collect(),
            now: Time::ZERO,
            asked: vec![Vec::new(); rates.len()],
        }
    }

    fn submit(&mut self, bytes: u64) {
        let hosts: Vec<HostId> = (0..self.servers.len() as u32).map(HostId).collect();
        self.client.submit(self.now, RequestId(0), bytes, &hosts);
        self.carry();
    }

    /// Occupies a server with another client's object, as urgent as a primary.
    fn occupy(&mut self, server: usize, bytes: u64) {
        let header = RequestHeader {
            copy: CopyId {
                request: RequestId(9),
                copy: 0,
            },
            purpose: Purpose::Ask,
            priority: HIGH,
            range: ByteRange { from: 0, to: bytes },
            object: bytes,
            order: Order::Forwards,
            body: 0,
        };
        self.servers[server].on_message(self.now, HostId(99), header, Demand::default());
    }

    /// Delivers messages to servers and answers to the client, until no message is left at this time.
    fn carry(&mut self) {
        loop {
            let mut has_moved = false;
            while let Some((server, header)) = self.client.poll_transmit() {
                has_moved = true;
                assert_eq!(header.order, Order::Forwards);
                let at = server.0 as usize;
                self.asked[at].push((header.purpose, header.range.from, header.range.to));
                self.servers[at].on_message(self.now, HostId(50), header, Demand::default());
            }
            for server in &mut self.servers {
                while let Some(part) = server.poll_transmit() {
                    has_moved = true;
                    if part.copy.request == RequestId(0) {
                        self.client.on_bytes(self.now, part.copy, part.bytes);
                    }
                }
            }
            if !has_moved {
                return;
            }
        }
    }

    /// Runs until the request is complete. Returns the time, and the bytes that each server has sent.
    fn run(&mut self) -> (Time, Vec<u64>) {
        while self.client.poll_completion().is_none() {
            let servers = self.servers.iter().filter_map(Server::next_timeout);
            let next = servers.chain(self.client.next_timeout()).min();
            self.now = next.expect("a request that ends");
            self.client.on_timeout(self.now);
            for server in &mut self.servers {
                server.on_timeout(self.now);
            }
            self.carry();
        }
        let end = self.now;
        let sent = self.servers.iter_mut().map(|server| {
            let departures = std::iter::from_fn(|| server.poll_departure());
            let own = departures.filter(|left| left.copy.request == RequestId(0));
            own.map(|left| left.sent).sum()
        });
        (end, sent.collect())
    }
}

#[test]
fn two_servers_send_forwards_from_both_ends_and_no_byte_comes_twice() {
    let mut stage = Stage::new(&[1_000, 1_000]);
    stage.submit(10 * PIECE);
    let (end, sent) = stage.run();
    assert_eq!(end, Time::ZERO + Duration::from_ms(5));
    assert_eq!(sent, [5 * PIECE, 5 * PIECE]);
    assert_eq!(
        stage.asked[0][..2],
        [(Purpose::Ask, 0, 1_000), (Purpose::More, 1_000, 2_000)]
    );
    assert_eq!(
        stage.asked[1][..2],
        [(Purpose::Ask, 9_000, 10_000), (Purpose::More, 8_000, 9_000)]
    );
}

#[test]
fn what_waits_in_a_queue_is_taken_back_and_costs_the_other_server_nothing() {
    let mut busy = Stage::new(&[1_000, 1_000]);
    busy.occupy(1, 100 * PIECE);
    busy.submit(10 * PIECE);
    // The idle server sends nine pieces, and also the tenth piece, which the busy server has not begun.
    let (end, sent) = busy.run();
    assert_eq!(end, Time::ZERO + Duration::from_ms(10));
    assert_eq!(sent, [10 * PIECE, 0]);
    // A server does not report that it has begun an answer.
    // A piece that a slow server is sending may therefore be sent by the other server, too.
    let mut slow = Stage::new(&[1_000, 100]);
    slow.submit(10 * PIECE);
    let (end, sent) = slow.run();
    assert_eq!(end, Time::ZERO + Duration::from_ms(10));
    assert_eq!(sent, [10 * PIECE, 900]);
}

#[test]
fn a_server_that_fails_leaves_its_bytes_to_the_other() {
    for failing in [0, 1] {
        let mut stage = Stage::new(&[1_000, 1_000]);
        stage.submit(4 * PIECE);
        let copy = CopyId {
            request: RequestId(0),
            copy: failing,
        };
        assert!(stage.client.on_failure(stage.now, copy));
        stage.servers[usize::from(failing)] = Stage::new(&[1_000; 2]).servers.remove(0);
        stage.carry();
        let (end, sent) = stage.run();
        assert_eq!(end, Time::ZERO + Duration::from_ms(4));
        assert_eq!(sent[1 - usize::from(failing)], 4 * PIECE);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_object_comes_whole_from_any_servers_with_next_to_no_extra_bytes(
        bytes in 1..40_000u64,
        rates in prop::collection::vec(50..2_000u64, 2..5),
        busy in prop::collection::vec(0..30u64, 5),
    ) {
        let mut stage = Stage::new(&rates);
        for (server, pieces) in busy.iter().enumerate().take(rates.len()) {
            if *pieces > 0 {
                stage.occupy(server, pieces * PIECE);
            }
        }
        stage.submit(bytes);
        let (end, sent) = stage.run();
        prop_assert!(end < Time::ZERO + Duration::from_ms(3_000));
        // The extra bytes belong to pieces whose transmission had begun when they were taken back.
        let extra = sent.iter().sum::<u64>().saturating_sub(bytes);
        prop_assert!(extra <= PIECE * rates.len() as u64, "{} {:?}", bytes, sent);
    }
}
