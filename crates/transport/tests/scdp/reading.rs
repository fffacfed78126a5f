//! Tests of applications that receive each block of an object and read slowly.

use crate::hub::{Fate, Hub, message};
use crate::scdp_parts::{T, header};
use proptest::prelude::*;
use tailcut_transport::scdp::{
    BlockOrder, Codec, DecodeSpeed, Delivery, DriverCodec, Host, ModelCodec, Object, ScdpConfig,
    ScdpKind,
};
use tailcut_transport::{
    BlockRange, Event, FlowStats, Part, Segment, Share, StragglerPolicy, Stragglers,
};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time};

/// Number of symbols per block.
const K: u64 = 20;
/// Size of the object in bytes: 7 blocks.
const OBJECT: u64 = 7 * K * T;

fn config(delivery: Delivery) -> ScdpConfig {
    ScdpConfig {
        block_symbols: K as u32,
        delivery,
        ..ScdpConfig::default()
    }
}

const fn blocks(order: BlockOrder, window: u64) -> Delivery {
    Delivery::Blocks { order, window }
}

fn host<C: Codec>(id: usize, delivery: Delivery, codec: C) -> Host<C> {
    Host::new(HostId(id as u32), config(delivery), codec).expect("a valid configuration")
}

fn model() -> ModelCodec {
    ModelCodec::new([0.0; 3], DecodeSpeed::paper(), 1)
}

/// Creates one host for each entry of `deliveries`.
fn hub(deliveries: &[Delivery]) -> Hub<Host<ModelCodec>> {
    let hosts = deliveries.iter().enumerate();
    Hub::new(
        hosts
            .map(|(id, delivery)| host(id, *delivery, model()))
            .collect(),
    )
}

/// Returns the blocks that the application of `host` received, with the times.
fn told<C: Codec>(hub: &Hub<Host<C>>, host: usize) -> Vec<(Time, BlockRange)> {
    let events = hub.events.iter();
    let of_host = events.filter(|(_, at, _)| *at == host);
    of_host
        .filter_map(|(at, _, event)| match event {
            Event::Block(_, range) => Some((*at, *range)),
            _ => None,
        })
        .collect()
}

fn numbers<C: Codec>(hub: &Hub<Host<C>>, host: usize) -> Vec<u32> {
    told(hub, host)
        .iter()
        .map(|(_, range)| range.block)
        .collect()
}

/// Checks that the application received every byte once.
fn all_bytes_once<C: Codec>(hub: &Hub<Host<C>>, host: usize, bytes: u64) {
    let mut ranges: Vec<BlockRange> = told(hub, host)
        .into_iter()
        .map(|(_, range)| range)
        .collect();
    ranges.sort_by_key(|range| range.block);
    let mut end = 0;
    for (number, range) in (0..).zip(&ranges) {
        assert_eq!((range.block, range.from), (number, end));
        end = range.to;
    }
    assert_eq!(end, bytes);
}

/// Application that reads at its own rate: one block in each interval `every`, in the order of delivery.
struct Reader {
    host: usize,
    flow: FlowId,
    every: Duration,
    window: u64,
    read: usize,
}

impl Reader {
    /// Runs until all data is read and no event is left.
    fn run<C: Codec>(
        &mut self,
        hub: &mut Hub<Host<C>>,
        object: &Object,
        from: HostId,
        src_port: u16,
    ) {
        let arrives = tailcut_units::FiveTuple {
            src: from,
            dst: HostId(self.host as u32),
            src_port,
            dst_port: 80,
            protocol: tailcut_units::Protocol::Udp,
        };
        loop {
            let failed = hub.events.iter().find(|e| matches!(e.2, Event::Failed(..)));
            assert!(failed.is_none(), "{failed:?}");
            let end = hub.now + self.every;
            while hub.now < end {
                let step = hub.now + Duration::from_us(50).max(self.every / 1_000);
                hub.run_until(step.min(end));
                let read: u64 = self.bytes_read(hub);
                if let Some((flow, opened)) = hub.hosts[self.host].receiving(&arrives)
                    && hub.completed(self.flow.0, self.host).is_none()
                {
                    assert_eq!(flow, self.flow);
                    let held = object.bytes_before(opened) - read;
                    assert!(held <= self.window, "{held} B held at {}", hub.now);
                }
            }
            let Some((_, range)) = told(hub, self.host).get(self.read).copied() else {
                if hub.completed(self.flow.0, self.host).is_some() {
                    return;
                }
                continue;
            };
            self.read += 1;
            let flow = self.flow;
            hub.act(self.host, |host, now| {
                host.consume(now, flow, range.to - range.from)
            });
        }
    }

    fn bytes_read<C: Codec>(&self, hub: &Hub<Host<C>>) -> u64 {
        let read = told(hub, self.host).into_iter().take(self.read);
        read.map(|(_, range)| range.to - range.from).sum()
    }
}

/// First port of outgoing flows.
const PORT: u16 = 32_768;

fn object() -> Object {
    Object::new(OBJECT, T as u32, K as u32).expect("an object")
}

#[test]
fn an_application_is_told_of_each_block_in_order_and_then_of_the_object() {
    let mut hub = hub(&[Delivery::Whole, blocks(BlockOrder::Ascending, u64::MAX)]);
    hub.submit(0, message(0, HostId(1), OBJECT - 7));
    hub.run();
    assert_eq!(numbers(&hub, 1), [0, 1, 2, 3, 4, 5, 6]);
    all_bytes_once(&hub, 1, OBJECT - 7);
    let times: Vec<Time> = told(&hub, 1).iter().map(|(at, _)| *at).collect();
    assert!(
        times.windows(2).all(|pair| pair[0] < pair[1]),
        "as they arrive"
    );
    assert_eq!(hub.completed(0, 1), times.last().copied());
    let at_receiver = hub.events.iter().rfind(|(_, at, _)| *at == 1);
    assert_eq!(at_receiver.map(|e| e.2), Some(Event::Completed(FlowId(0))));
}

#[test]
fn a_block_that_is_whole_before_those_in_front_of_it_waits_only_where_order_is_asked() {
    for (order, before, after) in [
        (BlockOrder::Ascending, vec![], vec![0, 1, 2, 3, 4, 5, 6]),
        (
            BlockOrder::AsWhole,
            vec![1, 2, 3, 4, 5, 6],
            vec![1, 2, 3, 4, 5, 6, 0],
        ),
    ] {
        let hosts = [Delivery::Whole, blocks(order, u64::MAX)];
        let hosts = hosts.into_iter().enumerate();
        let hosts = hosts.map(|(id, delivery)| host(id, delivery, DriverCodec::default()));
        let mut hub = Hub::new(hosts.collect()).with_fault(|_, _, segment| {
            let header = header(segment);
            let is_hit = header.kind == ScdpKind::Symbol && (header.block, header.esi) == (0, 3);
            if is_hit { Fate::Trim } else { Fate::Deliver }
        });
        hub.submit(0, message(0, HostId(1), OBJECT));
        hub.run_until(Time::from_ns(5_000_000));
        assert_eq!(numbers(&hub, 1), before, "{order:?}");
        let attempt = hub.hosts[1]
            .codec_mut()
            .poll()
            .expect("the host decodes block 0");
        hub.act(1, |host, now| host.decoded(now, attempt.job, true));
        assert_eq!(numbers(&hub, 1), after, "{order:?}");
        hub.run();
        all_bytes_once(&hub, 1, OBJECT);
    }
}

#[test]
fn a_decoding_may_outlast_the_patience_of_a_sender_whose_receiver_is_told_of_blocks() {
    let hosts = [Delivery::Whole, blocks(BlockOrder::Ascending, u64::MAX)];
    let hosts = hosts.into_iter().enumerate();
    let hosts = hosts.map(|(id, delivery)| host(id, delivery, DriverCodec::default()));
    let mut hub = Hub::new(hosts.collect()).with_fault(|_, _, segment| {
        let header = header(segment);
        let is_hit = header.kind == ScdpKind::Symbol && header.esi == 3;
        if is_hit { Fate::Trim } else { Fate::Deliver }
    });
    hub.submit(0, message(0, HostId(1), K * T));
    hub.run_until(Time::from_ns(100_000_000_000));
    let attempt = hub.hosts[1].codec_mut().poll().expect("a decoding");
    hub.act(1, |host, now| host.decoded(now, attempt.job, true));
    hub.run();
    let last = hub.events.last().expect("events");
    assert!(matches!(last.2, Event::Closed(..)), "{last:?}");
}

#[test]
fn what_a_slow_reader_has_not_read_never_exceeds_its_window_and_nothing_is_lost() {
    for order in [BlockOrder::Ascending, BlockOrder::AsWhole] {
        for (window, every) in [
            // The reader takes more than a minute per block.
            // A sender would give up a receiver that is silent for more than a minute.
            (K * T, Duration::from_ms(70_000)),
            (2 * K * T, Duration::from_ms(3)),
            (3 * K * T + 5, Duration::from_us(200)),
        ] {
            let mut hub = hub(&[Delivery::Whole, blocks(order, window)]);
            hub.submit(0, message(0, HostId(1), OBJECT));
            let mut reader = Reader {
                host: 1,
                flow: FlowId(0),
                every,
                window,
                read: 0,
            };
            reader.run(&mut hub, &object(), HostId(0), PORT);
            all_bytes_once(&hub, 1, OBJECT);
            let failed = |event: &Event| matches!(event, Event::Failed(..));
            assert!(!hub.events.iter().any(|(_, _, event)| failed(event)));
            assert_eq!(
                hub.hosts[0].open_sessions() + hub.hosts[1].open_sessions(),
                0
            );
        }
    }
}

#[test]
fn pulls_stop_at_the_window_and_go_on_at_once_when_the_application_has_read() {
    let mut hub = hub(&[Delivery::Whole, blocks(BlockOrder::Ascending, 2 * K * T)]);
    hub.submit(0, message(0, HostId(1), OBJECT));
    let symbols = |hub: &Hub<Host<ModelCodec>>| {
        let sent = hub.sent.iter().map(|(_, _, segment)| header(segment));
        sent.filter(|header| header.kind == ScdpKind::Symbol)
            .count() as u64
    };
    hub.run_until(Time::from_ns(10_000_000));
    assert_eq!(symbols(&hub), 2 * K);
    assert_eq!(numbers(&hub, 1), [0, 1]);
    // The application has read less than a block, so its window does not admit another block.
    hub.act(1, |host, now| host.consume(now, FlowId(0), K * T - 1));
    hub.run_until(Time::from_ns(15_000_000));
    assert_eq!(symbols(&hub), 2 * K);
    hub.act(1, |host, now| host.consume(now, FlowId(0), 1));
    hub.run_until(Time::from_ns(16_000_000));
    assert_eq!(symbols(&hub), 3 * K);
    // The application cannot read data that has not arrived.
    hub.act(1, |host, now| host.consume(now, FlowId(0), u64::MAX));
    hub.run_until(Time::from_ns(17_000_000));
    assert_eq!(symbols(&hub), 5 * K);
    assert_eq!(numbers(&hub, 1), [0, 1, 2, 3, 4]);
}

#[test]
fn symbols_that_are_pushed_beyond_the_window_are_asked_for_again() {
    // Blocks have 4 symbols, and the sender pushes three blocks. The window of the application admits one block.
    let small = |delivery| ScdpConfig {
        block_symbols: 4,
        ..config(delivery)
    };
    let host = |id, delivery| Host::new(HostId(id), small(delivery), model()).expect("valid");
    let window = 4 * T;
    let order = BlockOrder::Ascending;
    let mut hub = Hub::new(vec![
        host(0, Delivery::Whole),
        host(1, blocks(order, window)),
    ]);
    hub.submit(0, message(0, HostId(1), 40 * T));
    let object = Object::new(40 * T, T as u32, 4).expect("an object");
    let every = Duration::from_us(100);
    let mut reader = Reader {
        host: 1,
        flow: FlowId(0),
        every,
        window,
        read: 0,
    };
    reader.run(&mut hub, &object, HostId(0), PORT);
    all_bytes_once(&hub, 1, 40 * T);
}

#[test]
fn an_object_of_blocks_larger_than_the_window_is_not_received() {
    let mut hub = hub(&[Delivery::Whole, blocks(BlockOrder::Ascending, K * T - 1)]);
    hub.submit(0, message(0, HostId(1), OBJECT));
    hub.run_until(Time::from_ns(5_000_000));
    assert_eq!(hub.hosts[1].open_sessions(), 0);
    assert!(hub.hosts[1].ignored() > 0);
}

#[test]
fn an_application_that_was_told_of_blocks_is_told_that_no_more_will_come() {
    let death = Time::from_ns(100_000);
    let mut hub = hub(&[Delivery::Whole, blocks(BlockOrder::Ascending, u64::MAX)]).with_fault(
        move |now, _, _| {
            if now > death {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        },
    );
    hub.submit(0, message(0, HostId(1), OBJECT));
    hub.run();
    assert!(!numbers(&hub, 1).is_empty() && numbers(&hub, 1).len() < 7);
    let last = hub.events.iter().rfind(|(_, at, _)| *at == 1);
    let failed = Event::Failed(FlowId(0), FlowStats::default());
    assert_eq!(last.map(|e| e.2), Some(failed));
    assert_eq!(hub.hosts[1].open_sessions(), 0);
}

/// Host 0 writes to all other hosts.
fn spread(hub: &mut Hub<Host<ModelCodec>>, policy: StragglerPolicy) {
    let receivers: Vec<HostId> = (1..hub.hosts.len() as u32).map(HostId).collect();
    let group = hub.form_group(&receivers);
    let part = Part::Spread {
        message: message(0, group, OBJECT),
        receivers: &receivers,
        stragglers: Stragglers {
            after: Duration::from_ms(10),
            policy,
        },
    };
    hub.take_part(0, part);
}

#[test]
fn a_group_waits_for_a_slow_reader_and_all_get_everything() {
    let window = 2 * K * T;
    let unlimited = blocks(BlockOrder::Ascending, u64::MAX);
    let slow = blocks(BlockOrder::Ascending, window);
    let mut hub = hub(&[Delivery::Whole, Delivery::Whole, unlimited, slow]);
    spread(&mut hub, StragglerPolicy::Wait);
    let every = Duration::from_ms(30);
    let mut reader = Reader {
        host: 3,
        flow: FlowId(0),
        every,
        window,
        read: 0,
    };
    reader.run(&mut hub, &object(), HostId(0), PORT);
    for host in [1, 2, 3] {
        assert!(hub.completed(0, host).is_some(), "host {host}");
    }
    all_bytes_once(&hub, 2, OBJECT);
    all_bytes_once(&hub, 3, OBJECT);
    let reported = hub
        .events
        .iter()
        .filter(|e| matches!(e.2, Event::Straggling(..)));
    assert_eq!(reported.count(), 1, "the slow reader delays the others");
    // Symbols beyond the window are sent once more, and not repeatedly.
    let sent = hub.sent.iter().filter(|(_, from, _)| *from == 0).count() as u64;
    assert!(sent < 7 * K * 3 / 2, "{sent} symbols");
}

#[test]
fn a_group_may_leave_a_reader_out_that_does_not_read() {
    let slow = blocks(BlockOrder::Ascending, 2 * K * T);
    let mut hub = hub(&[Delivery::Whole, Delivery::Whole, Delivery::Whole, slow]);
    spread(&mut hub, StragglerPolicy::Drop);
    hub.run_until(Time::from_ns(100_000_000));
    assert!(hub.completed(0, 1).is_some() && hub.completed(0, 2).is_some());
    assert_eq!(numbers(&hub, 3), [0, 1]);
    let answers = hub.sent.iter().filter(|(_, from, _)| *from == 3).count() as u64;
    assert!(
        answers < 4 * K,
        "the reader must not answer every symbol outside its window: {answers} answers"
    );
}

#[test]
fn several_senders_wait_for_a_slow_reader_without_giving_it_up() {
    let window = 2 * K * T;
    let slow = blocks(BlockOrder::Ascending, window);
    let mut hub = hub(&[slow, Delivery::Whole, Delivery::Whole, Delivery::Whole]);
    let (flow, port) = (FlowId(0), 2_000);
    hub.take_part(0, Part::Collect { flow, port });
    for index in 0..3 {
        let message = message(u32::from(index) + 1, HostId(0), OBJECT);
        let share = Share { index, of: 3 };
        hub.take_part(
            usize::from(index) + 1,
            Part::Share {
                message,
                port,
                share,
            },
        );
    }
    let every = Duration::from_ms(30_000);
    let mut reader = Reader {
        host: 0,
        flow,
        every,
        window,
        read: 0,
    };
    reader.run(&mut hub, &object(), HostId(1), PORT);
    all_bytes_once(&hub, 0, OBJECT);
    let failed = |event: &Event| matches!(event, Event::Failed(..));
    assert!(!hub.events.iter().any(|(_, _, event)| failed(event)));
}

/// Returns random fates. The given percentages of packets are lost, trimmed and duplicated.
fn fates(
    seed: u64,
    lost: u64,
    trimmed: u64,
    doubled: u64,
) -> impl FnMut(Time, usize, &Segment) -> Fate {
    let mut draws = seed;
    move |_, _, _| {
        draws = tailcut_units::mix64(draws.wrapping_add(1));
        match draws % 100 {
            draw if draw < lost => Fate::Drop,
            draw if draw < lost + trimmed => Fate::Trim,
            draw if draw < lost + trimmed + doubled => {
                Fate::Duplicate(Duration::from_us(draws % 90))
            }
            _ => Fate::Deliver,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_the_network_does_a_reader_gets_all_bytes_once_and_holds_no_more_than_its_window(
        seed: u64, lost in 0u64..8, trimmed in 0u64..20, doubled in 0u64..10,
        window in K * T..5 * K * T, every_us in 10u64..40_000, as_whole: bool, slow_link: bool,
    ) {
        let order = if as_whole { BlockOrder::AsWhole } else { BlockOrder::Ascending };
        let mut hub = hub(&[Delivery::Whole, blocks(order, window)])
            .with_fault(fates(seed, lost, trimmed, doubled));
        if slow_link {
            hub.rates[0] = Rate::from_mbps(100);
        }
        hub.submit(0, message(0, HostId(1), OBJECT));
        let every = Duration::from_us(every_us);
        let mut reader = Reader { host: 1, flow: FlowId(0), every, window, read: 0 };
        reader.run(&mut hub, &object(), HostId(0), PORT);
        all_bytes_once(&hub, 1, OBJECT);
    }

    #[test]
    fn whatever_the_network_does_a_group_with_a_slow_reader_ends(
        seed: u64, lost in 0u64..4, trimmed in 0u64..10,
        window in K * T..5 * K * T, every_us in 10u64..40_000,
    ) {
        let slow = blocks(BlockOrder::Ascending, window);
        let mut hub = hub(&[Delivery::Whole, Delivery::Whole, slow])
            .with_fault(fates(seed, lost, trimmed, 0));
        spread(&mut hub, StragglerPolicy::Wait);
        let every = Duration::from_us(every_us);
        let mut reader = Reader { host: 2, flow: FlowId(0), every, window, read: 0 };
        reader.run(&mut hub, &object(), HostId(0), PORT);
        hub.run();
        all_bytes_once(&hub, 2, OBJECT);
        prop_assert!(hub.completed(0, 1).is_some());
    }
}
