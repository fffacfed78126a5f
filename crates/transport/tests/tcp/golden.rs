//! Table of TCP's behaviour at several loss rates and distances.
//! The table is under version control, so every change of behaviour is a readable difference.
//! `UPDATE_GOLDEN=1 cargo test -p tailcut-transport --test tcp golden` updates the table.

use crate::pair::{Fate, tcp};
use std::fmt::Write;
use tailcut_transport::tcp::{Congestion, DelayedAck, LossRecovery, TcpConfig};
use tailcut_units::{Duration, Time, mix64, reduce};

const BYTES: u64 = 1_000_000;

/// Returns a configuration with timers for a data centre, so that timeouts do not dominate the table.
fn config(congestion: Congestion, sack: bool, loss_recovery: LossRecovery) -> TcpConfig {
    let by_time = loss_recovery == LossRecovery::Rack;
    TcpConfig {
        congestion,
        sack,
        loss_recovery,
        tail_loss_probe: by_time,
        rate_reduction: by_time,
        undo: by_time,
        frto: by_time,
        reduces_window: by_time,
        min_rto: Duration::from_ms(10),
        clock_granularity: Duration::from_ms(10),
        delayed_ack: Some(DelayedAck {
            segments: 2,
            timeout: Duration::from_ms(1),
        }),
        ..TcpConfig::default()
    }
}

/// Returns a pseudo-random number below 10,000 for each data segment of host A. The numbers are the same in every run.
fn draw(count: u64) -> u32 {
    reduce((mix64(count) >> 32) as u32, 10_000)
}

fn row(name: &str, config: &TcpConfig, lost: u32, marked: u32, round_trip: Duration) -> String {
    let mut count = 0;
    let mut pair = tcp(config)
        .with_one_way(round_trip / 2)
        .with_fault(move |passage| {
            if !passage.is_data() {
                return Fate::Deliver;
            }
            count += 1;
            match draw(count) {
                number if number < lost => Fate::Drop,
                number if number < lost + marked => Fate::Mark,
                _ => Fate::Deliver,
            }
        });
    pair.submit(0, BYTES);
    pair.run();
    let fct = pair.completed(0).expect("complete") - Time::ZERO;
    let stats = pair.stats(0);
    format!(
        "{name:13} {:>5} % {:>5} % {:>7} {:>12.1} {:>15} {:>8}\n",
        f64::from(lost) / 100.0,
        f64::from(marked) / 100.0,
        round_trip.to_string(),
        fct.as_us_f64(),
        stats.retransmissions,
        stats.timeouts
    )
}

fn table() -> String {
    let mut table = String::from("1 MB from one host to the other at 10 Gb/s\n\n");
    writeln!(
        table,
        "{:13} {:>7} {:>7} {:>7} {:>12} {:>15} {:>8}",
        "protocol", "lost", "marked", "RTT", "FCT us", "retransmissions", "timeouts"
    )
    .expect("a string takes all");
    let (by_reports, by_time) = (LossRecovery::Rfc6675, LossRecovery::Rack);
    for (name, congestion, sack, recovery, marked) in [
        ("newreno", Congestion::NewReno, false, by_reports, 0),
        ("newreno+sack", Congestion::NewReno, true, by_reports, 0),
        ("cubic+sack", Congestion::Cubic, true, by_reports, 0),
        ("dctcp", Congestion::DCTCP, false, by_reports, 1_000),
        ("newreno+rack", Congestion::NewReno, true, by_time, 0),
        ("cubic+rack", Congestion::Cubic, true, by_time, 0),
        ("dctcp+rack", Congestion::DCTCP, true, by_time, 1_000),
    ] {
        for round_trip in [Duration::from_us(100), Duration::from_ms(10)] {
            for lost in [0, 10, 100, 500] {
                table += &row(
                    name,
                    &config(congestion.clone(), sack, recovery),
                    lost,
                    marked,
                    round_trip,
                );
            }
        }
    }
    table
}

#[test]
fn the_table_of_protocols_by_loss_and_round_trip_is_as_committed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/tcp.txt");
    let table = table();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &table).expect("the table can be written");
    }
    let committed = std::fs::read_to_string(path).expect("the committed table");
    assert!(committed == table, "the table changed; it is now\n{table}");
}
