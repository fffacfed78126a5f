//! Tests of the guarantees for every driver, with any clock.
//! Time never decreases, every body leaves once, and an error of a driver never ends the program.

mod common;

use common::{Deliveries, drop_tail, leaf_spine, packet, wire};
use proptest::prelude::*;
use std::rc::Rc;
use tailcut_fabric::load_balancer::{
    CongaConfig, ExpeditusConfig, LoadBalancerConfig, OmniscientConfig,
};
use tailcut_fabric::queue::{
    BuildDiscipline, Compare, Dequeued, DropReason, Fate, Limit, Phantom, Placement, QueueConfig,
    QueueDiscipline, Verdict,
};
use tailcut_fabric::topology::{Node, SingleSwitch, Topology};
use tailcut_fabric::{
    Dropped, Ecn, Fabric, FabricConfig, Injected, LinkError, LinkState, LossRate, ObservedPacket,
    Observer, Output, Packet, PacketId, PortEvents, PortId,
};
use tailcut_units::{Duration, HostId, Rate, Time};

fn us(us: u64) -> Time {
    Time::from_ns(us * 1_000)
}

fn star(hosts: u32, queue: QueueConfig) -> Topology {
    SingleSwitch {
        hosts,
        host_wire: wire(10, 1_000),
        queue,
        shared_buffer: None,
    }
    .build()
    .expect("a switch")
}

fn general() -> FabricConfig {
    FabricConfig {
        port_events: PortEvents::Two,
        ..FabricConfig::default()
    }
}

fn plenty() -> QueueConfig {
    drop_tail(Limit::Packets(10_000), None)
}

/// Returns the port that leads from the switch to a host.
fn port_to(topology: &Topology, host: u32) -> PortId {
    let to = Node::Host(HostId(host));
    let port = topology.links.iter().position(|link| link.to == to);
    PortId(port.expect("a link") as u32)
}

#[test]
fn a_packet_that_comes_too_late_enters_now_and_is_counted() {
    let topology = star(2, plenty());
    let mut fabric: Fabric<u32> = Fabric::new(&topology, &general());
    assert!(fabric.advance(us(100)).is_none());
    assert_eq!(fabric.now(), us(100));
    let sent = packet(0, 1, 1_250, 1);
    let injected = fabric.inject(us(60), HostId(0), sent, 1);
    assert_eq!(
        injected.free_at,
        us(101),
        "1 us of service after the fabric's time"
    );
    let delivery = fabric.delivery(Time::MAX).expect("it arrives");
    assert_eq!(delivery.time, us(104));
    let late = fabric.lateness();
    assert_eq!((late.packets, late.longest), (1, Duration::from_us(40)));
    // A call with an earlier time has no effect.
    assert!(fabric.advance(us(5)).is_none());
    assert_eq!(fabric.now(), us(104));
}

#[test]
fn a_lone_packet_is_not_marked_however_late_it_is() {
    let mut topology = star(2, plenty());
    for link in &mut topology.links {
        link.config.phantom = Some(Phantom {
            drain: 0.95,
            mark_above_bytes: 1_000,
            placement: Placement::Series,
            compare: Compare::Before,
        });
    }
    let mut fabric: Fabric<u32> = Fabric::new(&topology, &general());
    for (at, stamped) in [(us(100), us(100)), (us(200), us(100))] {
        while fabric.advance(at).is_some() {}
        fabric.inject(stamped, HostId(0), packet(0, 1, 1_250, 1), 1);
        let delivery = fabric.delivery(at.saturating_add(Duration::from_us(50)));
        assert_eq!(delivery.expect("it arrives").packet.ecn, Ecn::Capable);
    }
}

#[test]
fn a_packet_that_comes_ahead_of_time_enters_when_its_time_has_come() {
    let topology = star(3, plenty());
    let mut fabric: Fabric<u32> = Fabric::new(&topology, &general());
    fabric.inject(us(0), HostId(0), packet(0, 2, 1_250, 1), 1);
    // The first packet is still in flight when the second is injected.
    fabric.inject(us(50), HostId(1), packet(1, 2, 1_250, 1), 2);
    assert_eq!(fabric.count_remaining().packets, 2);
    let times: Vec<(u32, Time)> = std::iter::from_fn(|| fabric.delivery(Time::MAX))
        .map(|delivery| (delivery.body, delivery.time))
        .collect();
    assert_eq!(times, [(1, us(4)), (2, us(54))]);
    assert_eq!(fabric.lateness().packets, 0);
}

#[test]
fn an_uplink_with_a_limit_says_what_it_drops_and_gives_the_body_back() {
    let mut topology = star(2, plenty());
    topology.links[0].config.queue = drop_tail(Limit::Packets(2), None);
    for config in [general(), FabricConfig::default()] {
        let mut fabric: Fabric<u32> = Fabric::new(&topology, &config);
        let verdicts: Vec<Injected> = (0..4)
            .map(|body| fabric.inject(us(0), HostId(0), packet(0, 1, 1_250, 1), body))
            .collect();
        let dropped: Vec<_> = verdicts.iter().map(|verdict| verdict.dropped).collect();
        assert_eq!(dropped, [None, None, None, Some(DropReason::QueueFull)]);
        let Some(Output::Dropped(Dropped { body, port, .. })) = fabric.advance(us(0)) else {
            panic!("the fabric returns the dropped packet");
        };
        assert_eq!((body, port), (3, Some(PortId(0))));
    }
}

#[test]
fn an_address_that_the_network_does_not_have_is_counted_under_every_load_balancer() {
    let topology = leaf_spine(plenty());
    for load_balancer in [
        LoadBalancerConfig::Ecmp,
        LoadBalancerConfig::Conga(CongaConfig::default()),
        LoadBalancerConfig::Expeditus(ExpeditusConfig::default()),
        LoadBalancerConfig::Omniscient(OmniscientConfig::default()),
    ] {
        let config = FabricConfig {
            load_balancer,
            ..general()
        };
        let mut fabric: Fabric<u32> = Fabric::new(&topology, &config);
        let nowhere = [
            fabric.inject(us(0), HostId(0), packet(0, 99, 100, 1), 0),
            fabric.inject(us(0), HostId(99), packet(99, 0, 100, 1), 1),
            fabric.inject(us(0), HostId(0), packet(99, 0, 100, 1), 2),
        ];
        for verdict in nowhere {
            assert_eq!(verdict.dropped, Some(DropReason::UnknownAddress));
        }
        fabric.inject(us(0), HostId(0), packet(0, 1, 100, 1), 3);
        let out: Vec<Output<u32>> = std::iter::from_fn(|| fabric.advance(us(100))).collect();
        assert_eq!(out.len(), 4);
        assert_eq!(fabric.drops().unknown_address.packets, 3);
        assert_eq!(fabric.delivered().packets, 1);
    }
}

#[test]
fn both_kinds_of_ecn_capable_packets_are_marked() {
    let topology = star(3, drop_tail(Limit::Packets(100), Some(Limit::Packets(0))));
    for config in [general(), FabricConfig::default()] {
        let mut fabric: Fabric<u32> = Fabric::new(&topology, &config);
        for src in [0, 1] {
            for ecn in [Ecn::Capable, Ecn::CapableOne, Ecn::NotCapable].repeat(4) {
                let sent = Packet {
                    ecn,
                    ..packet(src, 2, 1_250, 1)
                };
                fabric.inject(us(0), HostId(src), sent, ecn as u32);
            }
        }
        let mut marked = [0; 4];
        while let Some(delivery) = fabric.delivery(Time::MAX) {
            marked[delivery.body as usize] += u32::from(delivery.packet.ecn == Ecn::Marked);
        }
        assert!(marked[1] > 0 && marked[2] > 0, "{marked:?}");
        assert_eq!(marked[0], 0);
    }
}

#[test]
fn a_link_that_is_down_loses_what_is_on_it_and_delivers_again_when_it_is_up() {
    let topology = star(2, plenty());
    let link = port_to(&topology, 1);
    for config in [general(), FabricConfig::default()] {
        let mut fabric: Fabric<u32> = Fabric::new(&topology, &config);
        let up = fabric.link(link).expect("a link");
        let down = LinkState { is_up: false, ..up };
        for (body, state) in [(1, up), (2, down), (3, up)] {
            let now = us(100 * body);
            while fabric.advance(now).is_some() {}
            fabric.set_link(now, link, state).expect("a link");
            fabric.inject(now, HostId(0), packet(0, 1, 1_250, 1), body as u32);
            let out = fabric.advance(now.saturating_add(Duration::from_us(50)));
            match out.expect("it comes out") {
                Output::Delivered(delivery) => assert_eq!(u64::from(delivery.body), body),
                Output::Dropped(dropped) => {
                    assert_eq!((body, dropped.body), (2, 2));
                    assert_eq!(dropped.reason, DropReason::LinkDown);
                }
            }
        }
        assert_eq!(fabric.delivered().packets, 2);
    }
}

/// Sends 100,000 packets over a lossy link.
/// Returns the packets that arrive, and the number of losses that the fabric has counted.
fn over_a_lossy_link(config: &FabricConfig, seed: u64, loss: LossRate) -> (Vec<u32>, u64) {
    let topology = star(2, plenty());
    let link = port_to(&topology, 1);
    let config = FabricConfig {
        seed,
        ..config.clone()
    };
    let mut fabric: Fabric<u32> = Fabric::new(&topology, &config);
    let lossy = LinkState {
        loss,
        ..fabric.link(link).expect("a link")
    };
    fabric.set_link(us(0), link, lossy).expect("any link");
    let (mut came, mut lost) = (Vec::new(), 0);
    for number in 0..100_000 {
        let at = us(2 * u64::from(number));
        fabric.inject(at, HostId(0), packet(0, 1, 1_250, 1), number);
        while let Some(output) = fabric.advance(at) {
            match output {
                Output::Delivered(delivery) => came.push(delivery.body),
                Output::Dropped(dropped) => {
                    assert_eq!(dropped.reason, DropReason::LinkLoss);
                    lost += 1;
                }
            }
        }
    }
    while let Some(output) = fabric.advance(Time::MAX) {
        match output {
            Output::Delivered(delivery) => came.push(delivery.body),
            Output::Dropped(_) => lost += 1,
        }
    }
    assert_eq!(fabric.link(link), Some(lossy));
    assert_eq!(fabric.link_losses(link), lost);
    assert_eq!(fabric.drops().link_loss.packets, lost);
    assert_eq!(came.len() as u64 + lost, 100_000);
    (came, lost)
}

#[test]
fn a_link_loses_the_share_of_packets_that_it_is_told_to_and_draws_them_by_the_seed() {
    for config in [general(), FabricConfig::default()] {
        for share in [0.001, 0.05, 0.5] {
            let loss = LossRate::from_share(share).expect("a share");
            let (came, lost) = over_a_lossy_link(&config, 7, loss);
            assert!(came.is_sorted());
            let (mean, variance) = (1e5 * share, 1e5 * share * (1.0 - share));
            assert!((lost as f64 - mean).abs() < 5.0 * variance.sqrt(), "{lost}");
            assert_eq!(over_a_lossy_link(&config, 7, loss).0, came);
            assert_ne!(over_a_lossy_link(&config, 8, loss).0, came);
        }
        let all = LossRate::from_share(1.0).expect("a share");
        assert_eq!(over_a_lossy_link(&config, 7, all).1, 100_000);
        assert_eq!(over_a_lossy_link(&config, 7, LossRate::NONE).1, 0);
    }
    assert_eq!(LossRate::from_share(1.1), None);
    assert_eq!(LossRate::from_share(f64::NAN), None);
}

#[test]
fn a_lossy_link_that_was_down_loses_packets_again_when_it_is_up() {
    let topology = star(2, plenty());
    let link = port_to(&topology, 1);
    let mut fabric: Fabric<u32> = Fabric::new(&topology, &general());
    let up = fabric.link(link).expect("a link");
    let loss = LossRate::from_share(1.0).expect("a share");
    let mut reasons = Vec::new();
    let states = [
        LinkState { loss, ..up },
        LinkState {
            loss,
            is_up: false,
            ..up
        },
        LinkState { loss, ..up },
        LinkState { is_up: false, ..up },
        up,
    ];
    for (number, state) in (0..).zip(states) {
        let at = us(100 * number);
        fabric.set_link(at, link, state).expect("a link");
        fabric.inject(at, HostId(0), packet(0, 1, 1_250, 1), number as u32);
        while let Some(output) = fabric.advance(us(100 * number + 99)) {
            reasons.push(match output {
                Output::Delivered(_) => None,
                Output::Dropped(dropped) => Some(dropped.reason),
            });
        }
    }
    let (loss, down) = (Some(DropReason::LinkLoss), Some(DropReason::LinkDown));
    assert_eq!(reasons, [loss, down, loss, down, None]);
}

#[test]
fn a_port_whose_departures_are_settled_keeps_its_rate_and_says_so() {
    let topology = star(2, plenty());
    let link = port_to(&topology, 1);
    let mut fabric: Fabric<u32> = Fabric::new(&topology, &FabricConfig::default());
    let slow = LinkState {
        rate: Rate::from_gbps(1),
        ..fabric.link(link).expect("a link")
    };
    let refused = fabric.set_link(us(0), link, slow);
    assert_eq!(refused, Err(LinkError::Settled(link)));
    let unknown = fabric.set_link(us(0), PortId(99), slow);
    assert_eq!(unknown, Err(LinkError::Unknown(PortId(99))));
}

proptest! {
    // The rate and the delay of a link change at random times while packets are on the link.
    #[test]
    fn packets_never_overtake_each_other_on_a_link_that_changes(
        changes in prop::collection::vec((1u64..200, 1u64..11, 0u64..30), 1..12),
        sent in prop::collection::vec(0u64..200, 1..120),
    ) {
        let topology = star(2, plenty());
        let link = port_to(&topology, 1);
        let mut fabric: Fabric<u32> = Fabric::new(&topology, &general());
        let mut steps: Vec<(u64, Option<(u64, u64)>)> = Vec::new();
        steps.extend(changes.iter().map(|&(at, gbps, delay)| (at, Some((gbps, delay)))));
        steps.extend(sent.iter().map(|&at| (at, None)));
        steps.sort_by_key(|step| step.0);
        let mut arrived: Vec<(Time, u32)> = Vec::new();
        let mut body = 0;
        for (at, change) in steps {
            while let Some(delivery) = fabric.delivery(us(at)) {
                arrived.push((delivery.time, delivery.body));
            }
            match change {
                Some((gbps, delay)) => {
                    let state = LinkState {
                        rate: Rate::from_gbps(gbps),
                        delay: Duration::from_us(delay),
                        is_up: true,
                        loss: LossRate::NONE,
                    };
                    fabric.set_link(us(at), link, state).expect("a general port");
                }
                None => {
                    fabric.inject(us(at), HostId(0), packet(0, 1, 1_250, 1), body);
                    body += 1;
                }
            }
        }
        while let Some(delivery) = fabric.delivery(Time::MAX) {
            arrived.push((delivery.time, delivery.body));
        }
        prop_assert!(arrived.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let bodies: Vec<u32> = arrived.iter().map(|it| it.1).collect();
        prop_assert_eq!(bodies, (0..body).collect::<Vec<_>>());
    }

    // Bodies are not `Copy`, so the network must own each body until it leaves.
    #[test]
    fn every_body_comes_out_once_and_counting_what_is_left_changes_nothing(
        sent in prop::collection::vec((0u64..60, 0u32..4, 0u32..6), 1..200),
        two in any::<bool>(),
    ) {
        let topology = star(4, drop_tail(Limit::Packets(5), None));
        let config = if two { general() } else { FabricConfig::default() };
        let mut fabric: Fabric<Rc<()>> = Fabric::new(&topology, &config);
        let group = fabric.form_group(&[HostId(1), HostId(2)]).expect("a group");
        let link = port_to(&topology, 3);
        let down = LinkState { is_up: false, ..fabric.link(link).expect("a link") };
        fabric.set_link(us(0), link, down).expect("a link");
        let body = Rc::new(());
        let mut sent = sent;
        sent.sort_by_key(|it| it.0);
        let (mut out, mut copies) = (0, 0);
        for &(at, src, dst) in &sent {
            while fabric.advance(us(at)).is_some() {
                out += 1;
            }
            let dst = if dst == 4 { group } else { HostId(dst * (1 + 20 * (dst / 5))) };
            let packet = Packet { dst, ..packet(src, 0, 1_250, 1) };
            fabric.inject(us(at), HostId(src), packet, Rc::clone(&body));
            let held = Rc::strong_count(&body) as u64 - 1;
            let remaining = fabric.count_remaining();
            prop_assert_eq!(fabric.count_remaining(), remaining);
            prop_assert!(remaining.packets <= held);
            copies = fabric.copied().packets;
        }
        while fabric.advance(Time::MAX).is_some() {
            out += 1;
        }
        prop_assert!(fabric.copied().packets >= copies);
        prop_assert_eq!(Rc::strong_count(&body), 1, "the network holds none");
        prop_assert_eq!(out, fabric.injected().packets + fabric.copied().packets);
        prop_assert_eq!(fabric.count_remaining().packets, 0);
    }
}

#[test]
fn a_host_that_joins_a_group_gets_what_enters_from_then_on() {
    let topology = star(4, plenty());
    let mut fabric: Fabric<u32> = Fabric::new(&topology, &general());
    let group = fabric.form_group(&[HostId(1)]).expect("a group");
    let send = |fabric: &mut Fabric<u32>, at: u64| {
        let sent = Packet {
            dst: group,
            ..packet(0, 0, 1_250, 1)
        };
        fabric.inject(us(at), HostId(0), sent, 0);
        let until = us(at + 50);
        let mut hosts: Vec<u32> = std::iter::from_fn(|| fabric.delivery(until))
            .map(|delivery| delivery.host.0)
            .collect();
        hosts.sort_unstable();
        hosts
    };
    assert_eq!(send(&mut fabric, 0), [1]);
    fabric.join_group(group, HostId(2)).expect("room");
    assert!(fabric.join_group(group, HostId(2)).is_err(), "it is in it");
    assert_eq!(send(&mut fabric, 100), [1, 2]);
    fabric.leave_group(us(150), group, HostId(1), HostId(1));
    assert_eq!(send(&mut fabric, 200), [2]);
    fabric.join_group(group, HostId(1)).expect("it comes back");
    assert_eq!(send(&mut fabric, 300), [1, 2]);
}

/// Discipline that sends no packet before the next whole millisecond.
#[derive(Debug, Default)]
struct Shaper(std::collections::VecDeque<(PacketId, u64)>);

impl QueueDiscipline for Shaper {
    fn enqueue(&mut self, _now: Time, id: PacketId, packets: &mut [Packet]) -> Verdict {
        self.0
            .push_back((id, u64::from(packets[id.0 as usize].size)));
        Fate::Queued.into()
    }

    fn dequeue(&mut self, now: Time, _packets: &mut [Packet]) -> Dequeued {
        const MILLISECOND: u64 = 1_000_000_000;
        if self.0.is_empty() {
            return Dequeued::Empty;
        }
        match now.as_ps() % MILLISECOND {
            0 => self.0.pop_front().map(|it| it.0).into(),
            past => Dequeued::WaitUntil(Time::from_ps(now.as_ps() - past + MILLISECOND)),
        }
    }

    fn backlog_packets(&self) -> u32 {
        self.0.len() as u32
    }

    fn backlog_bytes(&self) -> u64 {
        self.0.iter().map(|it| it.1).sum()
    }
}

#[test]
fn a_discipline_that_holds_back_is_asked_again_when_it_said() {
    let queue = QueueConfig::Custom(BuildDiscipline::new(|_| Shaper::default()));
    let topology = star(3, queue);
    let mut fabric: Fabric<u32> = Fabric::new(&topology, &general());
    for (at, src) in [(10, 0), (20, 1), (30, 0)] {
        while fabric.advance(us(at)).is_some() {}
        fabric.inject(us(at), HostId(src), packet(src, 2, 1_250, 1), 0);
    }
    let times: Vec<Time> = std::iter::from_fn(|| fabric.delivery(Time::MAX))
        .map(|delivery| delivery.time)
        .collect();
    // Each packet needs 1 us of transmission and 1 us of delay.
    assert_eq!(times, [us(1_002), us(2_002), us(3_002)]);
}

#[derive(Default)]
struct Log(Vec<(&'static str, u64, u32)>);

impl Observer<u32> for Log {
    fn enqueued(&mut self, seen: ObservedPacket<'_, u32>) {
        self.0.push(("enqueued", seen.now.as_ns(), *seen.body));
    }
    fn started(&mut self, seen: ObservedPacket<'_, u32>) {
        self.0.push(("started", seen.now.as_ns(), *seen.body));
    }
    fn dropped(
        &mut self,
        now: Time,
        _port: Option<PortId>,
        _reason: DropReason,
        _packet: &Packet,
        body: &u32,
    ) {
        self.0.push(("dropped", now.as_ns(), *body));
    }
    fn delivered(&mut self, now: Time, _host: HostId, _packet: &Packet, body: &u32) {
        self.0.push(("delivered", now.as_ns(), *body));
    }
}

#[test]
fn an_observer_hears_of_every_packet_at_every_port_whatever_ports_were_asked_for() {
    let topology = star(3, drop_tail(Limit::Packets(1), None));
    let logs = [general(), FabricConfig::default()].map(|config| {
        let mut fabric = Fabric::observed(&topology, &config, Log::default());
        for (body, src) in [(0, 0), (1, 1), (2, 0), (3, 1)] {
            fabric.inject(us(0), HostId(src), packet(src, 2, 1_250, 1), body);
        }
        while fabric.delivery(Time::MAX).is_some() {}
        let mut log = fabric.into_observer().0;
        log.sort_unstable();
        log
    });
    assert_eq!(logs[0], logs[1]);
    let count = |what| logs[0].iter().filter(|it| it.0 == what).count();
    assert_eq!((count("delivered"), count("dropped")), (3, 1));
    assert_eq!(count("enqueued"), 4 + 3);
    assert_eq!(count("started"), 4 + 3);
}
