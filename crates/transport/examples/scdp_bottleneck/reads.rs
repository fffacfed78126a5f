//! Reads from many replicas to one receiver, where one replica has a fault.

use crate::bottleneck::{Bottleneck, Link, message};
use crate::hosts::{scdp, secs};
use tailcut_transport::{Part, Share};
use tailcut_units::{Duration, FlowId, Rate, Time};

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
        jitter: Duration::ZERO,
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

pub fn print() {
    println!("read from 3 replicas, 1 Gb/s: time in ms, and its ratio to the time without a fault");
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
