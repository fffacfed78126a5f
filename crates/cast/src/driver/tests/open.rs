//! Tests on an open network, where any host may send packets.

use super::faults::{FOR_LONG, Faults, World};
use super::{Memory, address, credits, engine, object};
use crate::driver::engine::Engine;
use crate::udp::{Ancillary, Incoming};
use proptest::prelude::*;
use std::net::SocketAddr;
use tailcut_transport::scdp::ScdpConfig;
use tailcut_units::{Duration, Time};
use tailcut_wire::scdp::credit::{self, Envelope, LEAST_OFFER, Message, Offer, Symbol};

/// Returns an offer of an object of `length` bytes.
fn offer(session: u64, length: u64) -> Vec<u8> {
    let symbols = length.div_ceil(1_000);
    let offer = Offer {
        length,
        blocks: symbols.div_ceil(100) as u32,
        symbol: 1_000,
        senders: 1,
        pushed: 10.min(symbols as u16),
        padded: LEAST_OFFER,
        ..Offer::default()
    };
    packet(session, &Message::Offer(offer))
}

fn packet(session: u64, message: &Message) -> Vec<u8> {
    let mut bytes = vec![0; 1_300];
    let envelope = Envelope { session, share: 0 };
    let length = credit::encode(&envelope, message, &mut bytes).expect("room");
    bytes.truncate(length);
    bytes
}

fn symbol(session: u64, number: u32) -> Vec<u8> {
    let symbol = Symbol {
        number,
        esi: number,
        ..Symbol::default()
    };
    let mut bytes = packet(session, &Message::Symbol(symbol));
    bytes.resize(bytes.len() + 1_000, 1);
    bytes
}

fn arrive(engine: &mut Engine, now: Time, from: SocketAddr, bytes: &[u8]) {
    let ancillary = Ancillary::default();
    let incoming = Incoming {
        from,
        ancillary,
        is_cut: false,
        bytes,
    };
    engine.on_incoming(now, &incoming);
}

/// Returns two numbers for the answers of an engine: bytes and datagrams.
fn answers(engine: &mut Engine, now: Time) -> (usize, usize) {
    let mut net = Memory::new(address(1));
    while engine.transmit(now, &mut net, 64) {}
    let bytes = net.sent.iter().map(|datagram| datagram.bytes.len());
    (bytes.sum(), net.sent.len())
}

/// Returns a forged address that depends on `number`.
fn forged(number: u64) -> SocketAddr {
    SocketAddr::from(([198, 51, (number >> 8) as u8, number as u8], 9))
}

#[test]
fn openings_whose_sender_never_answers_fill_no_memory_and_get_less_than_they_sent() {
    let mut world = World::new(credits(), Faults::NONE);
    let engine = &mut world.drivers[1].engine;
    let now = Time::from_ns(1);
    let (mut sent, mut got) = (0, 0);
    for number in 0..200 {
        // After the offer come symbols, as if the attacker had received pulls.
        let mut all = vec![offer(number, 16 << 20)];
        all.extend((0..40).map(|at| symbol(number, at)));
        for bytes in all {
            sent += bytes.len();
            arrive(engine, now, forged(number), &bytes);
            got += answers(engine, now).0;
            assert!(got <= sent);
        }
    }
    assert_eq!(engine.counts().no_room, 0);
    // A sender with a true address answers a token. So its large object still arrives.
    world.now = now;
    let sent = object(19 << 20, 1);
    world.send(0, sent.clone());
    world.run(FOR_LONG);
    assert!(world.received[1] == [sent]);
    assert!(world.drivers[1].engine.counts().tokens >= 64);
    assert!(
        world.drivers[1].engine.incoming.is_empty(),
        "the others were given up"
    );
}

#[test]
fn a_forged_address_gets_less_than_was_sent_from_it_however_long_it_takes() {
    let mut engine = engine(1, credits());
    let mut now = Time::from_ns(1);
    let bytes = offer(1, 1 << 20);
    arrive(&mut engine, now, forged(1), &bytes);
    let mut got = answers(&mut engine, now);
    while let Some(at) = engine.next_timeout() {
        now = at;
        engine.on_timeout(now);
        let more = answers(&mut engine, now);
        got = (got.0 + more.0, got.1 + more.1);
    }
    assert!(engine.incoming.is_empty());
    assert!(got.1 > 2, "pulls, and tokens");
    assert!(got.0 <= bytes.len(), "{got:?}");
}

#[test]
fn what_the_first_pull_asks_for_is_kept_when_it_comes_before_the_answer_to_the_token() {
    let mut engine = engine(1, credits());
    let now = Time::from_ns(1);
    let said = |engine: &mut Engine, now: Time| {
        engine.on_timeout(now);
        let mut net = Memory::new(address(1));
        while engine.transmit(now, &mut net, 64) {}
        let all = net
            .sent
            .into_iter()
            .map(|datagram| credit::decode(&datagram.bytes));
        let all = all.map(|decoded| decoded.expect("a packet").1);
        all.collect::<Vec<Message>>()
    };
    engine.host.hold_pulls(true);
    arrive(&mut engine, now, forged(1), &offer(1, 1 << 20));
    (0..10).for_each(|number| arrive(&mut engine, now, forged(1), &symbol(1, number)));
    engine.host.hold_pulls(false);
    let words = said(&mut engine, now);
    let [Message::Retry(_), Message::Pull(pull)] = words[..] else {
        panic!("expected a token, and then a pull: {words:?}");
    };
    let granted = pull.granted;
    assert!((20..=40).contains(&granted), "{granted}");
    (10..granted).for_each(|number| arrive(&mut engine, now, forged(1), &symbol(1, number)));
    let later = now + Duration::from_us(100);
    let Some(Message::Pull(pull)) = said(&mut engine, later).pop() else {
        panic!("a pull");
    };
    assert_eq!((pull.next, pull.lost), (granted, 0), "all are here");
}

#[test]
fn many_more_short_objects_come_in_a_second_than_may_be_open_at_once() {
    let config = ScdpConfig {
        time_wait: Duration::from_ms(1_000),
        ..credits()
    };
    let mut world = World::new(config, Faults::NONE);
    for number in 0..1_500 {
        world.send(0, object(3_000, number));
        world.run(world.now + Duration::from_us(300));
        assert_eq!(world.received[1].len(), number as usize + 1);
    }
    assert!(
        world.now < Time::from_ns(1_000_000_000),
        "within one time-wait"
    );
    let engine = &world.drivers[1].engine;
    assert_eq!(
        (engine.counts().no_room, engine.incoming_sessions.active()),
        (0, 0)
    );
    assert_eq!(engine.incoming_sessions.sessions.len(), 1_500);
}

#[test]
fn above_the_half_open_limit_tokens_are_given_and_no_more_than_ten_thousand_a_second() {
    let mut engine = engine(1, credits());
    let mut given = 0;
    for number in 0..30_000u64 {
        // An offer arrives every 20 us. Each offer has a different forged address.
        let now = Time::from_ns(number * 20_000);
        let bytes = offer(number, 1 << 20);
        arrive(&mut engine, now, forged(number), &bytes);
        let (got, count) = answers(&mut engine, now);
        assert!(got <= bytes.len());
        given += if number >= 64 { count } else { 0 };
    }
    // The test lasts 0.6 s. The expected number is the limit of 10,000 answers per second.
    assert!((5_900..=6_100).contains(&given), "{given}");
    assert!(engine.incoming.len() <= 64);
}

#[test]
fn short_offers_get_no_answer() {
    let mut engine = engine(1, credits());
    let now = Time::from_ns(1);
    let mut bytes = offer(1, 1 << 20);
    // The shortest valid offer without a token has 1,200 bytes.
    bytes.truncate(1_199);
    arrive(&mut engine, now, forged(1), &bytes);
    assert_eq!(answers(&mut engine, now), (0, 0));
    assert_eq!(engine.counts().malformed, 1);
}

/// Handles an offer of an object of `length` bytes. Its token validates the address of its sender.
fn vouched(engine: &mut Engine, now: Time, from: SocketAddr, (session, length): (u64, u64)) {
    let token = engine.incoming_sessions.tokens.issue(now, from, session);
    let (_, Message::Offer(plain), _) = credit::decode(&offer(session, length)).expect("an offer")
    else {
        panic!("an offer");
    };
    let offer = Offer {
        token: Some(token),
        padded: 0,
        ..plain
    };
    arrive(engine, now, from, &packet(session, &Message::Offer(offer)));
}

#[test]
fn one_address_has_as_many_sessions_as_it_may() {
    let mut engine = engine(1, credits());
    let now = Time::from_ns(1);
    for session in 0..70 {
        vouched(&mut engine, now, forged(1), (session, 100_000));
    }
    assert_eq!(engine.incoming.len(), 64);
    assert_eq!(engine.counts().no_room, 6);
    vouched(&mut engine, now, forged(2), (80, 100_000));
    assert_eq!(engine.incoming.len(), 65);
}

#[test]
fn sessions_that_are_validated_later_are_limited_too() {
    let mut engine = engine(1, credits());
    let now = Time::from_ns(1);
    for session in 0..60 {
        arrive(&mut engine, now, forged(1), &offer(session, 100_000));
    }
    for session in 100..160 {
        vouched(&mut engine, now, forged(1), (session, 100_000));
    }
    assert_eq!(engine.incoming.len(), 120);
    for session in 0..60 {
        vouched(&mut engine, now, forged(1), (session, 100_000));
    }
    assert_eq!(engine.incoming_sessions.of(forged(1).ip()), 64);
    assert_eq!(engine.incoming.len(), 64);
}

#[test]
fn offers_in_the_name_of_a_host_do_not_count_against_it() {
    let mut engine = engine(1, credits());
    let now = Time::from_ns(1);
    for session in 0..64 {
        arrive(&mut engine, now, forged(1), &offer(session, 100_000));
    }
    assert_eq!(engine.incoming.len(), 64);
    vouched(&mut engine, now, forged(1), (80, 100_000));
    assert_eq!((engine.incoming.len(), engine.counts().no_room), (65, 0));
}

#[test]
fn an_object_holds_memory_for_what_has_arrived_of_it() {
    let mut engine = engine(1, credits());
    let now = Time::from_ns(1);
    for session in 0..4 {
        vouched(&mut engine, now, forged(session), (session, 16 << 20));
        (0..10).for_each(|number| {
            arrive(&mut engine, now, forged(session), &symbol(session, number));
        });
    }
    // The objects have 64 MiB in all, which is the whole memory. Only 40 symbols of them have arrived.
    let budget = engine.incoming_sessions.budget.clone();
    let held = [(); 3].map(|()| budget.take(20 << 20, 20 << 20));
    assert!(held.iter().all(Option::is_some));
}

#[test]
fn senders_that_hold_all_memory_and_send_nothing_make_room_for_one_that_sends() {
    let mut world = World::new(credits(), Faults::NONE);
    let engine = &mut world.drivers[1].engine;
    let budget = engine.incoming_sessions.budget.clone();
    // Only 1 of 64 MiB is left.
    let held = [20, 20, 20, 3].map(|mib| budget.take(mib << 20, mib << 20));
    let begun = Time::from_ns(1);
    for session in 0..20 {
        vouched(engine, begun, forged(session), (session, 16 << 20));
    }
    assert_eq!(engine.incoming.len(), 16, "64 KiB each");
    world.now = begun + Duration::from_ms(3_000);
    let sent = object(900_000, 1);
    world.send(0, sent.clone());
    world.run(FOR_LONG);
    assert!(world.received[1] == [sent]);
    drop(held);
}

#[test]
fn a_sender_whose_address_changes_goes_on() {
    let mut world = World::new(credits(), Faults::NONE);
    let sent = object(3_000_000, 1);
    world.send(0, sent.clone());
    world.run(Time::from_ns(400_000));
    assert!(world.received[1].is_empty(), "it is on its way");
    world.drivers[0].net.local = address(7);
    world.run(FOR_LONG);
    assert!(world.received[1] == [sent]);
    assert_eq!(world.sent[0].len(), 1);
    assert_eq!(world.drivers[1].engine.counts().moved, 1);
}

#[test]
fn a_sender_whose_address_changes_before_the_first_answer_goes_on() {
    let mut world = World::new(credits(), Faults::NONE);
    let sent = object(500, 1);
    world.lost_dones = u32::MAX;
    world.send(0, sent.clone());
    world.run(Time::from_ns(400_000));
    assert!(world.received[1] == [sent], "but its sender does not know");
    assert!(world.sent[0].is_empty());
    world.drivers[0].net.local = address(7);
    world.lost_dones = 0;
    world.run(FOR_LONG);
    assert_eq!((world.sent[0].len(), world.received[1].len()), (1, 1));
    assert!(world.failed.is_empty());
}

#[test]
fn somebody_who_knows_a_session_cannot_send_its_answers_elsewhere_for_long() {
    let mut world = World::new(credits(), Faults::NONE);
    world.send(0, object(3_000_000, 1));
    world.run(Time::from_ns(400_000));
    let engine = &mut world.drivers[1].engine;
    let session = *engine
        .incoming_sessions
        .sessions
        .keys()
        .next()
        .expect("one");
    let forgery = symbol(session, 3_000);
    arrive(engine, world.now, forged(1), &forgery);
    let (got, _) = answers(engine, world.now);
    assert!(got <= forgery.len());
    // The next symbol comes from the old address and moves the connection back.
    world.run(FOR_LONG);
    assert!(world.received[1].len() == 1);
}

#[test]
fn replies_leave_from_the_address_that_was_spoken_to() {
    let mut world = World::new(credits(), Faults::NONE);
    world.send(0, object(100_000, 1));
    world.run(FOR_LONG);
    let mut replies = world
        .log
        .iter()
        .filter(|datagram| datagram.from == address(1));
    assert!(replies.all(|datagram| datagram.leaves == Some(address(1).ip())));
}

#[test]
fn a_receiver_that_has_no_room_gets_the_object_later() {
    let mut world = World::new(credits(), Faults::NONE);
    // These reservations leave only 2 of the receiver's 64 MiB.
    let held = world.drivers[1]
        .engine
        .incoming_sessions
        .budget
        .take(20 << 20, 20 << 20);
    let more = [(); 3].map(|()| {
        world.drivers[1]
            .engine
            .incoming_sessions
            .budget
            .take(14 << 20, 14 << 20)
    });
    let sent = object(10 << 20, 1);
    world.send(0, sent.clone());
    world.run(Time::from_ns(200_000_000));
    assert!(world.received[1].is_empty() && world.failed.is_empty());
    assert!(world.drivers[1].engine.counts().no_room > 0);
    drop((held, more));
    world.run(FOR_LONG);
    assert!(world.received[1] == [sent]);
}

#[test]
fn a_receiver_that_starts_anew_gets_the_object_from_its_beginning() {
    let mut world = World::new(credits(), Faults::NONE);
    let sent = object(3_000_000, 1);
    world.send(0, sent.clone());
    world.run(Time::from_ns(400_000));
    assert!(world.received[1].is_empty());
    world.drivers[1].engine = engine(1, credits());
    world.run(FOR_LONG);
    assert!(world.received[1] == [sent]);
    assert_eq!(world.failed, []);
}

#[test]
fn at_thirty_percent_loss_an_object_arrives() {
    for seed in 0..4 {
        let faults = Faults {
            seed,
            lost: 300,
            ..Faults::NONE
        };
        let mut world = World::new(credits(), faults);
        let sent = object(1_500_000, seed);
        world.send(0, sent.clone());
        world.run(FOR_LONG);
        assert!(world.received[1] == [sent]);
    }
}

/// Generates any kind of packet for session 1, or bytes that are almost a packet.
fn any_packet() -> impl Strategy<Value = Vec<u8>> {
    let kinds = prop_oneof![
        (any::<[u32; 4]>(), any::<u8>(), any::<bool>()).prop_map(|(words, class, trimmed)| {
            Message::Symbol(Symbol {
                number: words[0] % 9_000,
                block: words[1] % 4,
                esi: words[2] % 200,
                class,
                stamp: words[3],
                trimmed,
            })
        }),
        (0u32..9_000, any::<u32>(), any::<bool>())
            .prop_map(|(used, stamp, asks)| Message::Status { used, stamp, asks }),
        any::<[u16; 3]>().prop_map(|[symbol, senders, pushed]| Message::Offer(Offer {
            length: 300_000,
            blocks: 3,
            symbol,
            senders: senders % 4,
            pushed: pushed % 12,
            padded: LEAST_OFFER,
            ..Offer::default()
        })),
        any::<[u8; 32]>().prop_map(Message::Retry),
        any::<[u8; 32]>().prop_map(Message::Proof),
        (0u16..6).prop_map(|reason| Message::Close { reason }),
        Just(Message::Done { hash: 0 }),
        (16u16..60, any::<u16>()).prop_map(|(size, number)| Message::Probe { size, number }),
        (any::<[u32; 4]>(), any::<bool>()).prop_map(|([granted, next, whole, lost], probe)| {
            Message::Pull(tailcut_transport::scdp::CreditHeader {
                probe,
                granted: granted % 9_000,
                next: next % 9_000,
                whole: whole % 5,
                lost,
                ..Default::default()
            })
        }),
    ];
    (kinds, 0usize..1_100, any::<Option<(usize, u8)>>()).prop_map(|(message, more, change)| {
        let mut bytes = packet(1, &message);
        if let Message::Symbol(_) = message {
            bytes.resize(bytes.len() + more, 0);
        }
        if let Some((at, byte)) = change.filter(|(at, _)| at % 4 == 0) {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// No sequence of packets causes a panic or unlimited memory.
    #[test]
    fn any_packets_are_taken(packets in proptest::collection::vec(any_packet(), 1..60)) {
        let mut engine = engine(1, credits());
        let mut now = Time::from_ns(1);
        arrive(&mut engine, now, forged(1), &offer(1, 300_000));
        for bytes in packets {
            now += Duration::from_us(50);
            arrive(&mut engine, now, forged(1), &bytes);
            answers(&mut engine, now);
            while let Some(job) = engine.poll_job() {
                let decoded = job.run(&crate::codec::Codes::new(4));
                engine.on_decoded(now, &decoded);
            }
        }
        prop_assert!(engine.incoming.len() <= 64);
    }
}
