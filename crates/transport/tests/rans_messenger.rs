//! Requests over transports whose flows are messages: what the word carries that a copy is not wanted.

mod pair;

use pair::{A, B, Pair};
use tailcut_transport::Transport;
use tailcut_transport::ndp::{Host, NdpConfig};
use tailcut_transport::rans::{
    Answer, Ask, Carry, CopyChange, CopyEvent, End, HIGH, LOW, Messenger, REQUEST_BYTES,
    copy_of_flow, purge_key, purges,
};
use tailcut_units::{HostId, Time};

const ANSWER: u64 = 1_000_000;

/// A client, A, and a server, B, 100 us apart at 10 Gb/s.
fn messengers() -> Pair<Messenger<Host>> {
    let messenger = |host| {
        let ndp = Host::new(HostId(host), NdpConfig::default()).expect("a valid configuration");
        Messenger::new(ndp)
    };
    Pair::new(messenger(0), messenger(1))
}

/// What happened to copies at a host.
fn events(host: &mut Messenger<Host>) -> Vec<CopyEvent<u32>> {
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
        "all is said"
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
    assert_eq!(bytes, Some(REQUEST_BYTES), "a cancel is a header only");

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
