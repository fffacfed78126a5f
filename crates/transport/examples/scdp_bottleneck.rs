//! SCDP with credits behind one drop-tail queue: random loss, beside CUBIC, beside itself, incast, many to
//! one and one to many. `cargo run --release -p tailcut-transport --example scdp_bottleneck [PART]`.
#![allow(missing_docs, clippy::print_stdout, clippy::expect_used)]

#[path = "../tests/bottleneck/mod.rs"]
mod bottleneck;

use bottleneck::{Bottleneck, Link, message};
use std::env;
use tailcut_transport::scdp::{Adaptive, Control, DecodeSpeed, Host, ModelCodec, ScdpConfig};
use tailcut_transport::tcp::{self, Congestion, TcpConfig};
use tailcut_transport::{Event, Part, Share, StragglerPolicy, Stragglers, Transport};
use tailcut_units::{Duration, FlowId, HostId, Rate, Time};

const SYMBOL: u32 = 1_424;

fn scdp_config(link: &Link) -> ScdpConfig {
    let timeout = (link.round_trip * 4).max(Duration::from_ms(1));
    ScdpConfig {
        symbol: SYMBOL,
        initial_window: 10,
        shared_window: 10,
        control: Control::Adaptive(Adaptive::default()),
        pull_interval: link.host_rate.serialisation(u64::from(SYMBOL) + 78),
        byte_time: link.host_rate.serialisation(1),
        timeout,
        demotion: tailcut_transport::Demotion::NONE,
        ..ScdpConfig::default()
    }
}

fn scdp(id: u32, link: &Link) -> Box<dyn Transport> {
    let speed = DecodeSpeed::new(vec![(1, Rate::from_gbps(30))]).expect("a point");
    let codec = ModelCodec::new([0.0055, 3.7e-5, 1e-6], speed, u64::from(id));
    let host = Host::new(HostId(id), scdp_config(link), codec);
    Box::new(host.expect("a valid configuration"))
}

fn cubic(id: u32) -> Box<dyn Transport> {
    let config = TcpConfig {
        mss: SYMBOL,
        congestion: Congestion::Cubic,
        sack: true,
        min_rto: Duration::from_ms(200),
        ..TcpConfig::default()
    };
    Box::new(tcp::Host::new(HostId(id), config).expect("a valid configuration"))
}

fn secs(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

fn slow_link(round_trip_ms: u64, queue: usize, loss_permille: f64) -> Link {
    Link {
        rate: Rate::from_mbps(100),
        round_trip: Duration::from_ms(round_trip_ms),
        queue,
        loss_permille,
        host_rate: Rate::from_gbps(1),
    }
}

/// Mb/s of one transfer.
fn goodput(link: Link, bytes: u64, seed: u64) -> Option<f64> {
    let mut world = Bottleneck::new(link, vec![scdp(0, &link), scdp(1, &link)], seed);
    world.submit(0, message(1, 1, bytes));
    world.run_until(secs(1_000.0));
    let at = world.completed(1)?;
    Some(bytes as f64 * 8e-6 / at.since(Time::ZERO).as_secs_f64())
}

fn loss() {
    println!("random loss, 100 Mb/s, both ways: goodput in Mb/s and of that without loss");
    for (round_trip, queue) in [(2, 64), (20, 167), (20, 64)] {
        let mut clean = 0.0;
        for permille in [0.0, 1.0, 10.0, 50.0, 100.0, 300.0] {
            let link = slow_link(round_trip, queue, permille);
            let bytes = if permille > 50.0 {
                20_000_000
            } else {
                100_000_000
            };
            match goodput(link, bytes, 1) {
                Some(rate) => {
                    if permille == 0.0 {
                        clean = rate;
                    }
                    let part = rate / clean;
                    println!(
                        "  {round_trip:2} ms {queue:3} packets {:4.1} %: {rate:6.2} {part:.3}",
                        permille / 10.0
                    );
                }
                None => println!(
                    "  {round_trip:2} ms {queue:3} packets {:4.1} %: never ends",
                    permille / 10.0
                ),
            }
        }
    }
}

/// What each of two flows gets, in Mb/s, from 5 s on.
fn pair(
    link: Link,
    hosts: Vec<Box<dyn Transport>>,
    second_at: f64,
    end: f64,
    seed: u64,
) -> (f64, f64) {
    let mut world = Bottleneck::new(link, hosts, seed);
    world.submit(0, message(1, 1, 4_000_000_000));
    world.run_until(secs(second_at));
    world.submit(2, message(2, 3, 4_000_000_000));
    world.run_until(secs(5.0));
    let of = |world: &Bottleneck, flow| world.delivered.get(&FlowId(flow)).copied().unwrap_or(0);
    let before = (of(&world, 1), of(&world, 2));
    world.run_until(secs(end));
    let rate = |bytes: u64| bytes as f64 * 8e-6 / (end - 5.0);
    (
        rate(of(&world, 1) - before.0),
        rate(of(&world, 2) - before.1),
    )
}

fn shares() {
    println!(
        "beside CUBIC, 100 Mb/s, 60 s: SCDP, CUBIC in Mb/s, and the ratio; then two of its own"
    );
    for (round_trip, queue) in [
        (2, 17),
        (2, 33),
        (2, 64),
        (2, 128),
        (20, 64),
        (20, 167),
        (20, 334),
    ] {
        let link = slow_link(round_trip, queue, 0.0);
        let (a, b) = pair(
            link,
            vec![scdp(0, &link), scdp(1, &link), cubic(2), cubic(3)],
            0.5,
            60.0,
            3,
        );
        let (c, d) = pair(
            link,
            vec![cubic(0), cubic(1), scdp(2, &link), scdp(3, &link)],
            0.5,
            60.0,
            4,
        );
        let (e, f) = pair(
            link,
            (0..4).map(|id| scdp(id, &link)).collect(),
            0.5,
            60.0,
            5,
        );
        let (g, h) = pair(
            link,
            (0..4).map(|id| scdp(id, &link)).collect(),
            3.3,
            60.0,
            6,
        );
        println!(
            "  {round_trip:2} ms {queue:3} packets: first {a:5.1} {b:5.1} {:.2}, second {d:5.1} {c:5.1} {:.2}, own {e:5.1} {f:5.1} {:.2} {g:5.1} {h:5.1} {:.2}",
            a / b,
            d / c,
            e / f,
            g / h
        );
    }
}

fn incast() {
    println!("incast of 32, 10 Gb/s, 64 packets: time over the ideal one");
    for (bytes, round_trip_us, spread_us) in [
        (65_536, 20, 0),
        (65_536, 100, 0),
        (65_536, 20, 50),
        (1_048_576, 20, 0),
        (1_048_576, 100, 0),
    ] {
        let link = Link {
            rate: Rate::from_gbps(10),
            round_trip: Duration::from_us(round_trip_us),
            queue: 64,
            loss_permille: 0.0,
            host_rate: Rate::from_gbps(10),
        };
        let hosts = (0..64).map(|id| scdp(id, &link)).collect();
        let mut world = Bottleneck::new(link, hosts, 7);
        for sender in 0..32 {
            world.run_until(Time::ZERO + Duration::from_us(sender * spread_us / 32));
            world.submit(sender as usize * 2, message(sender as u32, 1, bytes));
        }
        world.run_until(secs(5.0));
        let ends: Vec<Time> = (0..32).filter_map(|flow| world.completed(flow)).collect();
        let last = ends
            .iter()
            .max()
            .map_or(f64::NAN, |at| at.since(Time::ZERO).as_secs_f64());
        let symbols = 32 * bytes.div_ceil(u64::from(SYMBOL));
        let ideal = link.rate.serialisation(32 * bytes + symbols * 78) + link.round_trip;
        println!(
            "  {bytes:7} B, {round_trip_us:3} us, starts within {spread_us} us: {} done, {:.3} ms, {:.2}x, {} dropped",
            ends.len(),
            last * 1e3,
            last / ideal.as_secs_f64(),
            world.dropped
        );
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Trouble {
    None,
    Slow,
    Stalled,
    Killed,
}

fn read(trouble: Trouble, bytes: u64) -> Option<f64> {
    let link = Link {
        rate: Rate::from_gbps(1),
        round_trip: Duration::from_us(100),
        queue: 64,
        loss_permille: 0.0,
        host_rate: Rate::from_gbps(1),
    };
    let mut world = Bottleneck::new(link, (0..6).map(|id| scdp(id, &link)).collect(), 9);
    if trouble == Trouble::Slow {
        world.slow[4] = Some(Rate::from_mbps(10));
    }
    let collect = Part::Collect {
        flow: FlowId(100),
        port: 1_024,
    };
    world
        .act(1, |host, now| host.take_part(now, collect))
        .expect("parts");
    for (index, sender) in (0..3u16).zip([0usize, 2, 4]) {
        let part = Part::Share {
            message: message(u32::from(index), 1, bytes),
            port: 1_024,
            share: Share { index, of: 3 },
        };
        world
            .act(sender, |host, now| host.take_part(now, part))
            .expect("parts");
    }
    let half = bytes as f64 * 8.0 / 1e9 / 2.0;
    world.run_until(secs(half));
    match trouble {
        Trouble::Killed => world.dead[4] = true,
        Trouble::Stalled => world.slow[4] = Some(Rate::from_bps(1_000).expect("a rate")),
        _ => {}
    }
    world.run_until(secs(60.0));
    let at = world.completed(100)?;
    Some(at.since(Time::ZERO).as_secs_f64() * 1e3)
}

fn reads() {
    println!("many to one, 3 replicas, 1 Gb/s: ms, and over that without trouble");
    for bytes in [1_000_000, 10_000_000] {
        let usual = read(Trouble::None, bytes).unwrap_or(f64::NAN);
        println!("  {bytes} B: {usual:.2} ms");
        for (name, trouble) in [
            ("1/100 of the rate", Trouble::Slow),
            ("stalled half-way", Trouble::Stalled),
            ("killed half-way", Trouble::Killed),
        ] {
            let took = read(trouble, bytes).unwrap_or(f64::NAN);
            println!("    {name}: {took:.2} ms, {:.3}", took / usual);
        }
    }
}

fn groups() {
    println!(
        "one to many, 8 receivers, independent loss: symbols sent over source symbols, K = 101"
    );
    for permille in [0.0, 1.0, 10.0, 50.0] {
        let link = Link {
            rate: Rate::from_gbps(1),
            round_trip: Duration::from_us(200),
            queue: 256,
            loss_permille: permille,
            host_rate: Rate::from_gbps(1),
        };
        let mut world = Bottleneck::new(link, Vec::new(), 11);
        let config = ScdpConfig {
            block_symbols: 101,
            ..scdp_config(&link)
        };
        let host = |id: u32| {
            let speed = DecodeSpeed::new(vec![(1, Rate::from_gbps(30))]).expect("a point");
            let codec = ModelCodec::new([0.0055, 3.7e-5, 1e-6], speed, u64::from(id));
            Box::new(Host::new(HostId(id), config, codec).expect("valid")) as Box<dyn Transport>
        };
        let hosts = (0..16).map(host).collect();
        world = Bottleneck::new(world.link, hosts, 11);
        let receivers: Vec<HostId> = (0..8).map(|n| HostId(2 * n + 1)).collect();
        let blocks = 200;
        let bytes = u64::from(SYMBOL) * 101 * blocks;
        let mut to_group = message(1, 0, bytes);
        to_group.dst = HostId::group(0);
        let stragglers = Stragglers {
            after: Duration::from_ms(1_000),
            policy: StragglerPolicy::Wait,
        };
        let part = Part::Spread {
            message: to_group,
            receivers: &receivers,
            stragglers,
        };
        world
            .act(0, |host, now| host.take_part(now, part))
            .expect("parts");
        world.run_until(secs(60.0));
        let done = world
            .events
            .iter()
            .filter(|(_, _, event)| *event == Event::Completed(FlowId(1)))
            .count();
        let closed = world.events.iter().find_map(|(at, _, event)| match event {
            Event::Closed(_, stats) => {
                Some((at.since(Time::ZERO).as_secs_f64(), stats.payload_sent))
            }
            _ => None,
        });
        let (took, sent) = closed.unwrap_or((f64::NAN, 0));
        println!(
            "  {:4.1} %: {done} done, {:.4}, {:.1} Mb/s",
            permille / 10.0,
            sent as f64 / bytes as f64,
            bytes as f64 * 8e-6 / took
        );
    }
}

fn main() {
    let part = env::args().nth(1).unwrap_or_default();
    let is = |name: &str| part.is_empty() || part == name;
    if is("loss") {
        loss();
    }
    if is("shares") {
        shares();
    }
    if is("incast") {
        incast();
    }
    if is("reads") {
        reads();
    }
    if is("groups") {
        groups();
    }
}
