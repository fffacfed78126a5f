//! Tests of SCDP in credit mode behind one drop-tail queue.
//! The example `scdp_bottleneck` measures more cases for a longer time.

use crate::bottleneck::{Bottleneck, Link, message};
use crate::bottleneck_hosts::{crowd, dropped_share, link, scdp, secs};
use tailcut_units::{Duration, Time};

/// Returns the fraction of the link's rate that a transfer reaches. At the full rate, the transfer takes `seconds`.
fn share(link: Link, seconds: f64) -> f64 {
    let bytes = (link.rate.as_bps() as f64 / 8.0 * seconds) as u64;
    let mut world = Bottleneck::new(link, vec![scdp(0, &link), scdp(1, &link)], 1);
    world.submit(0, message(1, 1, bytes));
    world.run_until(secs(seconds * 20.0));
    let end = world.completed(1).expect("it completes");
    seconds / end.since(Time::ZERO).as_secs_f64()
}

#[test]
fn a_path_that_loses_many_packets_at_random_keeps_a_large_part_of_its_rate() {
    for percent in [10.0, 20.0, 30.0] {
        let link = link(20, Duration::from_ms(20), 33, percent * 10.0);
        let share = share(link, 6.0);
        let carried = 1.0 - percent / 100.0;
        assert!(share > carried / 2.0, "{percent} %: {share}");
    }
}

#[test]
fn transfers_that_start_into_a_full_queue_do_not_take_its_drops_for_chance() {
    let link = link(20, Duration::from_ms(20), 33, 0.0);
    let mut world = crowd(link, 8, 1, |id| scdp(id, &link));
    world.run_until(secs(12.0));
    let dropped = dropped_share(&world);
    assert!(dropped < 0.1, "{dropped}");
}

#[test]
fn a_long_path_with_many_open_blocks_is_not_flooded_with_pulls_after_each_loss() {
    // On average, receivers send a packet every 60 us.
    // A report of all blocks after each loss would need too many packets: pulls would leave 0.2 s late.
    let link = link(100, Duration::from_ms(50), 417, 300.0);
    let share = share(link, 8.0);
    assert!(share > 0.35, "{share}");
}

#[test]
fn none_of_sixteen_at_a_full_switch_pushes_the_others_out() {
    for seed in 1..=3 {
        let link = link(100, Duration::from_ms(2), 64, 0.0);
        let mut world = crowd(link, 16, seed, |id| scdp(id, &link));
        world.run_until(secs(30.0));
        let most = world.delivered.values().max().copied().unwrap_or(0);
        let all: u64 = world.delivered.values().sum();
        let dropped = dropped_share(&world);
        let share = most as f64 / all as f64;
        assert!(
            share < 0.25 && dropped < 0.12,
            "seed {seed}: one sender has the share {share}, and {dropped} of the packets are dropped"
        );
    }
}
