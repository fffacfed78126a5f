//! Queues of switch ports and shared buffers, from their sections.

use crate::error::Outcome;
use crate::scenario::Scenario;
use crate::value::Value;
use tailcut_sim::RunConfig;
use tailcut_sim::fabric::SharedBuffer;
use tailcut_sim::fabric::queue::{DropTail, Limit, QueueConfig};
use tailcut_sim::fabric::topology::Topology;
use tailcut_units::{Bytes, Rate};

pub fn shared_buffer(scenario: &Scenario) -> Outcome<Option<SharedBuffer>> {
    let table = scenario.table("shared_buffer");
    let Some(capacity) = table.get("capacity") else {
        return match table.given("alpha") {
            Some(_) => Err(table.error("alpha", "no capacity", "only with a capacity")),
            None => Ok(None),
        };
    };
    Ok(Some(SharedBuffer {
        capacity,
        alpha: table.get("alpha"),
    }))
}

/// Returns the queue of every switch port. Automatic values depend on the rate of the hosts.
pub fn queue(scenario: &Scenario, rate: Rate) -> QueueConfig {
    let table = scenario.table("queue");
    let shared = scenario
        .table("shared_buffer")
        .get::<Option<Bytes>>("capacity")
        .is_some();
    let unlimited = Limit::Packets(u32::MAX);
    let sized = |key: &str| match table.value(key) {
        Some(Value::Bytes(bytes)) => Some(Limit::Bytes(bytes.0)),
        Some(Value::Count(packets)) => {
            Some(Limit::Packets(u32::try_from(packets).unwrap_or(u32::MAX)))
        }
        _ => None,
    };
    let limit = sized("limit").unwrap_or(match table.word("limit") {
        Some("auto") if !shared => Limit::Packets(automatic_limit(rate)),
        _ => unlimited,
    });
    let mark_above = sized("mark_above").or_else(|| match table.word("mark_above") {
        Some("auto") => Some(Limit::Packets(match limit {
            Limit::Packets(limit) if limit < u32::MAX => {
                automatic_threshold(rate).min((u64::from(limit) * 65 / 100) as u32)
            }
            _ => automatic_threshold(rate),
        })),
        _ => None,
    });
    QueueConfig::DropTail(DropTail { limit, mark_above })
}

/// Rejects a queue discipline if the ports of the run need another discipline.
/// Also rejects queues that are smaller than a packet.
pub fn check(scenario: &Scenario, run: &RunConfig, network: &Topology) -> Outcome<()> {
    let design = run.stack.design;
    let chosen = design.discipline(&run.settings, run.traffic());
    let checked = chosen.and_then(|_| match design.has_packets() {
        true => {
            let plan = run.switch_plan();
            let written = scenario.table("queue").given("mark_above").is_some();
            let threshold = || match written {
                true => plan.check_threshold(network),
                false => Ok(()),
            };
            plan.check_room(network).and_then(|()| threshold())
        }
        false => Ok(()),
    });
    checked.map_err(|error| {
        let (section, key) = error.key.split_once('.').unwrap_or(("queue", error.key));
        let table = scenario.table(section);
        table.error(key, error.found, error.allowed)
    })
}

/// Returns the automatic limit of a queue in packets: 100 for rates up to 10 Gb/s, and in proportion to the rate above.
fn automatic_limit(rate: Rate) -> u32 {
    let in_proportion = u128::from(rate.as_bps()) * 100 / 10_000_000_000;
    u32::try_from(in_proportion)
        .unwrap_or(u32::MAX - 1)
        .max(100)
}

/// Returns DCTCP's marking threshold K in packets: 20 up to 1 Gb/s, and 65 at 10 Gb/s (DCTCP paper, section 4).
/// Between 1 and 10 Gb/s, K grows linearly. Above 10 Gb/s, K is proportional to the rate.
fn automatic_threshold(rate: Rate) -> u32 {
    let mbps = rate.as_bps() / 1_000_000;
    let packets = match mbps {
        0..=1_000 => 20,
        1_001..10_000 => 20 + (mbps - 1_000) * 45 / 9_000,
        _ => mbps * 65 / 10_000,
    };
    u32::try_from(packets).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marking_threshold_follows_the_hosts_rate() {
        assert_eq!(automatic_threshold(Rate::from_mbps(50)), 20);
        assert_eq!(automatic_threshold(Rate::from_gbps(1)), 20);
        assert_eq!(automatic_threshold(Rate::from_mbps(5_500)), 42);
        assert_eq!(automatic_threshold(Rate::from_gbps(10)), 65);
        assert_eq!(automatic_threshold(Rate::from_gbps(40)), 260);
        assert_eq!(automatic_limit(Rate::from_gbps(1)), 100);
        assert_eq!(automatic_limit(Rate::from_gbps(100)), 1_000);
    }

    #[test]
    fn a_shared_buffer_has_a_capacity() {
        let scenario = Scenario::parse("s.toml", "", "[shared_buffer]\nalpha = 2\n");
        let error = shared_buffer(&scenario.expect("keys and values are valid"));
        let error = error.expect_err("nothing to share").to_string();
        assert_eq!(
            error,
            "s.toml:2: shared_buffer.alpha: found no capacity; allowed: only with a capacity"
        );
    }
}
