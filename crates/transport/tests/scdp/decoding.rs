//! Tests of a driver that decodes SCDP's blocks itself while the session continues.

use crate::pair;

use crate::scdp_parts::{T, config, header};
use pair::{A, B, Fate, Pair, Passage};
use tailcut_transport::scdp::{
    Attempt, Codec, DecodeSpeed, Decoding, DriverCodec, Host, ModelCodec, ScdpConfig, ScdpKind,
};
use tailcut_transport::{Event, FlowStats};
use tailcut_units::{Duration, FlowId, HostId, Time};

/// Size of the object in bytes: 4 blocks of 98 symbols.
const OBJECT: u64 = 392 * T;

const ONE_WAY: Duration = Duration::from_us(5);

fn host<C: Codec>(id: u32, codec: C) -> Host<C> {
    Host::new(HostId(id), config(), codec).expect("a valid configuration")
}

/// Codec model that never fails.
fn model() -> ModelCodec {
    ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1)
}

/// Fate of a segment: symbol 5 of each block is trimmed.
fn one_trimmed(passage: &Passage) -> Fate {
    let header = header(passage.segment);
    match header.kind == ScdpKind::Symbol && header.esi == 5 {
        true => Fate::Trim,
        false => Fate::Deliver,
    }
}

/// Driver with its own codec at host B.
struct Driver {
    pair: Pair<Host<DriverCodec>>,
    begun: Vec<Attempt>,
}

impl Driver {
    fn new(bytes: u64) -> Self {
        let hosts = [A, B].map(|id| host(id as u32, DriverCodec::default()));
        let [a, b] = hosts;
        let mut pair = Pair::new(a, b)
            .with_one_way(ONE_WAY)
            .with_fault(one_trimmed);
        pair.submit(0, bytes);
        let begun = Vec::new();
        Self { pair, begun }
    }

    /// Runs until the time `end`, or until no event is left. After each step the driver starts the requested decodings.
    fn run_until(&mut self, end: Time) {
        while self.pair.next().is_some_and(|at| at < end) {
            self.pair.step();
            self.ask();
        }
        if end < LATE {
            self.pair.run_until(end);
        }
    }

    fn ask(&mut self) {
        while let Some(attempt) = self.pair.hosts[B].codec_mut().poll() {
            self.begun.push(attempt);
        }
    }

    /// Reports the result of a decoding attempt.
    fn end(&mut self, attempt: &Attempt, decoded: bool) {
        let job = attempt.job;
        self.pair
            .act(B, |host, now| host.decoded(now, job, decoded));
        self.ask();
    }

    fn stats(&self) -> FlowStats {
        self.pair.stats(0)
    }
}

/// Time that no test reaches.
const LATE: Time = Time::from_ns(60_000_000_000);

#[test]
fn a_driver_that_takes_as_long_as_the_model_has_the_same_events_at_the_same_times() {
    let mut expected = Pair::new(host(0, model()), host(1, model()));
    expected = expected.with_one_way(ONE_WAY).with_fault(one_trimmed);
    expected.submit(0, OBJECT);
    expected.run();

    let mut driver = Driver::new(OBJECT);
    let mut worker = model();
    let mut done = Vec::new();
    loop {
        // The time of the next answer is unknown until all earlier events have run.
        let next = driver.pair.next().into_iter();
        let Some(at) = next.chain(done.iter().map(|(at, _)| *at)).min() else {
            break;
        };
        match done.iter().position(|(done_at, _)| *done_at == at) {
            Some(place) => {
                let (_, attempt) = done.remove(place);
                driver.pair.run_until(at);
                driver.end(&attempt, true);
            }
            None => {
                driver.pair.step();
                driver.ask();
            }
        }
        for attempt in driver.begun.drain(..) {
            match worker.start(&attempt) {
                Decoding::Known { at, decoded: true } => done.push((at, attempt)),
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(worker.decoded(), 4);
    assert_eq!(driver.pair.events, expected.events);
    let sent = |pair: &[pair::Sent]| -> Vec<_> {
        pair.iter()
            .map(|sent| (sent.at, sent.from, sent.segment))
            .collect()
    };
    assert_eq!(sent(&driver.pair.sent), sent(&expected.sent));
}

#[test]
fn while_a_block_is_decoded_the_others_arrive_and_nobody_times_out_however_long_it_takes() {
    let mut driver = Driver::new(OBJECT);
    driver.run_until(Time::from_ns(2_000_000));
    let blocks: Vec<u32> = driver.begun.iter().map(|attempt| attempt.block).collect();
    assert_eq!(blocks, [0, 1, 2, 3]);
    assert!(
        driver
            .begun
            .iter()
            .all(|a| (a.missing, a.received) == (1, 100))
    );
    // The sender probes several times. The receiver only waits for its driver.
    let asked_by_receiver = |driver: &Driver| {
        let sent = driver.pair.sent.iter();
        sent.filter(|sent| sent.from == B).count()
    };
    let before = asked_by_receiver(&driver);
    driver.run_until(Time::from_ns(15_000_000));
    assert_eq!(asked_by_receiver(&driver), before);
    for attempt in core::mem::take(&mut driver.begun).iter().rev() {
        assert_eq!(driver.pair.completed(0), None);
        driver.end(attempt, true);
    }
    driver.run_until(LATE);
    assert_eq!(driver.pair.completed(0), Some(Time::from_ns(15_000_000)));
    assert_eq!(driver.stats().timeouts, 0);
}

#[test]
fn a_block_that_could_not_be_decoded_takes_one_symbol_more_and_is_begun_again() {
    let mut driver = Driver::new(98 * T);
    driver.run_until(Time::from_ns(2_000_000));
    let first = driver.begun.pop().expect("a decoding");
    let symbols = |driver: &Driver| {
        driver
            .pair
            .sent
            .iter()
            .filter(|sent| sent.from == A)
            .count()
    };
    assert_eq!(symbols(&driver), 98 + 1 + 2);
    driver.end(&first, false);
    driver.run_until(Time::from_ns(4_000_000));
    assert_eq!(symbols(&driver), 98 + 1 + 3);
    let second = driver.begun.pop().expect("another decoding");
    assert_eq!(second.job, first.job, "the same block");
    assert_eq!((second.block, second.received), (0, first.received + 1));
    driver.end(&second, true);
    driver.run_until(LATE);
    let completed = driver.pair.events.iter();
    let of_b: Vec<Event> = completed.filter(|e| e.1 == B).map(|e| e.2).collect();
    assert_eq!(of_b, [Event::Completed(FlowId(0))]);
}

#[test]
fn an_answer_that_nobody_waits_for_changes_nothing() {
    let mut driver = Driver::new(OBJECT);
    driver.run_until(Time::from_ns(2_000_000));
    let begun = core::mem::take(&mut driver.begun);
    // The result of a decoding is reported twice. The second time the block is already complete.
    driver.end(&begun[0], true);
    driver.end(&begun[0], false);
    driver.run_until(Time::from_ns(4_000_000));
    assert!(driver.begun.is_empty(), "not begun again");
    for attempt in &begun[1..] {
        driver.end(attempt, true);
    }
    driver.run_until(LATE);
    assert!(driver.pair.completed(0).is_some());
    // The result of the decoding is reported after the object is complete, and after its session is removed.
    driver.end(&begun[1], false);
    let much_later = driver.pair.now + Duration::from_ms(60_000);
    driver.pair.run_until(much_later);
    driver.pair.submit(1, 98 * T);
    driver.run_until(much_later + Duration::from_ms(2));
    let attempt = driver.begun.pop().expect("a decoding");
    assert_ne!(attempt.job, begun[0].job, "block 0 of another session");
    driver.end(&begun[0], false);
    assert_eq!(driver.pair.completed(1), None);
    driver.end(&attempt, true);
    driver.run_until(LATE + Duration::from_ms(100_000));
    assert!(driver.pair.completed(1).is_some());
    assert_eq!(driver.pair.hosts[B].open_sessions(), 0);
}

#[test]
fn source_symbols_that_come_after_all_make_a_decoding_needless() {
    // The payload of one symbol is late and not lost. The receiver requests another symbol and starts a decoding.
    // The late payload arrives after the start of the decoding.
    let late = Duration::from_ms(1);
    let [a, b] = [A, B].map(|id| {
        let config = ScdpConfig {
            overhead: 0,
            ..config()
        };
        Host::new(HostId(id as u32), config, DriverCodec::default()).expect("valid")
    });
    let mut hit = false;
    let mut pair = Pair::new(a, b).with_fault(move |passage| {
        let header = header(passage.segment);
        let is_first = header.kind == ScdpKind::Symbol && header.esi == 5 && !hit;
        hit |= is_first;
        if is_first {
            Fate::TrimAndDeliver(late)
        } else {
            Fate::Deliver
        }
    });
    pair.submit(0, 20 * T);
    pair.run();
    let attempt = pair.hosts[B].codec_mut().poll().expect("a decoding");
    assert!(
        pair.completed(0)
            .is_some_and(|at| at >= attempt.now + Duration::from_us(500))
    );
    let events = pair.events.len();
    pair.act(B, |host, now| host.decoded(now, attempt.job, true));
    assert_eq!(pair.events.len(), events);
}
