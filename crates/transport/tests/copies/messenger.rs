//! Tests of requests over transports whose flows are messages: cancellation of copies.

use crate::pair::{A, B, Pair, Sent};
use tailcut_requests::{HIGH, LOW, REQUEST_BYTES};
use tailcut_transport::copies::{
    Answer, Ask, Carry, CopyChange, CopyEvent, End, Messenger, copy_of_flow, purge_key, purges,
};
use tailcut_transport::ndp::{Host, NdpConfig};
use tailcut_transport::scdp::{self, DecodeSpeed, ModelCodec, ScdpConfig};
use tailcut_transport::{Streams, Transport};
use tailcut_units::{Duration, HostId, Time};

const ANSWER: u64 = 1_000_000;

/// Creates a pair of hosts with SCDP.
fn scdp_messengers() -> Pair<Messenger<scdp::Host<ModelCodec>>> {
    let messenger = |host| {
        let codec = ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1);
        let host = scdp::Host::new(HostId(host), ScdpConfig::default(), codec);
        Messenger::new(host.expect("a valid configuration"))
    };
    Pair::new(messenger(0), messenger(1))
}

/// Creates a client, A, and a server, B, 100 us apart at 10 Gb/s.
fn messengers() -> Pair<Messenger<Host>> {
    let messenger = |host| {
        let ndp = Host::new(HostId(host), NdpConfig::default()).expect("a valid configuration");
        Messenger::new(ndp)
    };
    Pair::new(messenger(0), messenger(1))
}

/// Returns the events of copies at a host.
fn events<T: Streams>(host: &mut Messenger<T>) -> Vec<CopyEvent<u32>> {
    core::iter::from_fn(|| host.poll_copy()).collect()
}

#[test]
fn the_word_that_a_copy_is_not_wanted_takes_along_its_answer_and_no_other() {
    let mut pair = messengers();
    for (number, class) in [(7, HIGH), (8, LOW)] {
        let ask = Ask {
            number,
            server: HostId(1),
            class,
            bytes: 100,
        };
        let asked = pair.act(A, |client, now| client.ask(now, ask));
        assert_eq!(asked, Some(number));
    }
    pair.run_until(Time::from_ns(500_000));
    let accepted: Vec<u32> = events(&mut pair.hosts[B])
        .iter()
        .filter(|event| matches!(event.change, CopyChange::Accepted { .. }))
        .map(|event| event.number)
        .collect();
    assert_eq!(accepted, [7, 8]);
    for copy in accepted {
        let answer = Answer {
            client: HostId(0),
            class: HIGH,
            bytes: ANSWER,
            of: ANSWER,
            is_last: true,
        };
        pair.act(B, |server, now| server.answer(now, copy, answer));
    }
    pair.run_until(Time::from_ns(900_000));
    pair.act(A, |client, now| client.reset(now, 7));
    pair.run();

    assert!(
        !pair.hosts.iter().any(Transport::has_transmit),
        "no message waits"
    );
    let answers = |number| {
        let from_server = pair.sent.iter().filter(|sent| sent.from == B);
        from_server
            .map(|sent| sent.segment)
            .find(move |sent| copy_of_flow(sent.flow) == Some(number) && sent.payload > 1_000)
            .expect("an answer")
    };
    let [unwanted, wanted] = [7, 8].map(|number| purge_key(&answers(number)));
    assert_ne!(unwanted, wanted);
    let words = pair.sent.iter().filter(|sent| purges(&sent.segment) != 0);
    let words: Vec<_> = words
        .map(|sent| (sent.from, purges(&sent.segment)))
        .collect();
    assert_eq!(words, [(A, unwanted)]);
    let word = pair.sent.iter().find(|sent| purges(&sent.segment) != 0);
    let bytes = word.map(|sent| sent.segment.payload as usize);
    assert_eq!(
        bytes,
        Some(REQUEST_BYTES),
        "a cancellation has only a header"
    );

    let ends: Vec<(u32, End)> = events(&mut pair.hosts[B])
        .iter()
        .filter_map(|event| match event.change {
            CopyChange::Ended { end, .. } => Some((event.number, end)),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [(7, End::Purged), (8, End::Whole)]);
    let at_client = events(&mut pair.hosts[A]);
    let whole = at_client
        .iter()
        .filter(|event| event.change == CopyChange::Whole);
    assert_eq!(whole.map(|event| event.number).collect::<Vec<_>>(), [8]);
}

/// The client cancels a copy while its answer of one packet is in flight. The client receives no event of the answer.
fn drops_a_short_answer<T: Streams>(mut pair: Pair<Messenger<T>>) {
    let ask = Ask {
        number: 7,
        server: HostId(1),
        class: HIGH,
        bytes: 100,
    };
    pair.act(A, |client, now| client.ask(now, ask));
    let asked = Time::from_ns(150_000);
    pair.run_until(asked);
    let answer = Answer {
        client: HostId(0),
        class: HIGH,
        bytes: 50,
        of: 50,
        is_last: true,
    };
    pair.act(B, |server, now| server.answer(now, 7, answer));
    pair.run_until(asked + Duration::from_us(50));
    pair.act(A, |client, now| client.reset(now, 7));
    pair.run();
    let answered = |sent: &&Sent| sent.from == B && sent.segment.payload == 50;
    assert!(pair.sent.iter().any(|sent| answered(&sent)));
    assert_eq!(events(&mut pair.hosts[A]), []);
}

#[test]
fn a_short_answer_to_a_copy_that_is_not_wanted_any_more_is_no_message() {
    drops_a_short_answer(messengers());
    drops_a_short_answer(scdp_messengers());
}
