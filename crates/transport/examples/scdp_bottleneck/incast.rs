//! Many senders, each with its own receiver, that start at the same time.

use crate::bottleneck::{Bottleneck, Link, message};
use crate::hosts::{SYMBOL, scdp, secs};
use tailcut_units::{Duration, Rate, Time};

pub fn print() {
    println!(
        "incast of 32 senders, 10 Gb/s, buffer of 64 packets: time, and its ratio to the ideal time"
    );
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
            jitter: Duration::ZERO,
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
