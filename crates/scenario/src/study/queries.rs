//! Queries of aggregators to workers, from the section of the workload.

use super::topology::Network;
use crate::error::Outcome;
use crate::scenario::Table;
use std::sync::Arc;
use tailcut_sim::workload::{SizeDistribution, ThinkTime};
use tailcut_sim::{Limits, QueriesPart};
use tailcut_units::Duration;

/// Keys of queries, in addition to `kind` and `class`.
pub const KEYS: &[&str] = &[
    "sizes",
    "table_unit",
    "aggregators",
    "fan_out",
    "question",
    "outstanding",
    "think",
    "think_times",
    "from",
    "until",
    "flows",
    "path",
];

/// Returns the queries of a part.
pub fn part(
    table: &Table,
    network: &Network,
    sizes: Arc<SizeDistribution>,
    limits: Limits,
) -> Outcome<QueriesPart> {
    let hosts = network.built.hosts();
    let aggregators = table.get::<Option<u32>>("aggregators");
    let fan_out: u32 = table.get("fan_out");
    if let Some(count) = aggregators.filter(|count| *count > hosts) {
        let allowed = format!("1 to {hosts}, the hosts of the topology");
        return Err(table.error("aggregators", count.to_string(), allowed));
    }
    if fan_out >= hosts {
        let allowed = format!(
            "1 to {}, the hosts of the topology but the aggregator",
            hosts - 1
        );
        return Err(table.error("fan_out", fan_out.to_string(), allowed));
    }
    Ok(QueriesPart {
        sizes,
        aggregators,
        fan_out,
        question: table.get("question"),
        outstanding: table.get("outstanding"),
        think: think(table)?,
        from: limits.from,
        until: limits.until,
        max_queries: limits.at_most,
    })
}

/// Returns the pause of a closed loop.
pub fn think(table: &Table) -> Outcome<ThinkTime> {
    let mean: Duration = table.get("think");
    if table.word("think_times") != Some("exponential") {
        return Ok(ThinkTime::Fixed(mean));
    }
    if mean == Duration::ZERO {
        return Err(table.error("think_times", "\"exponential\"", "only with think above 0s"));
    }
    Ok(ThinkTime::Exponential(mean))
}
