//! Parameters of designs from their sections.

use super::{paths, receiver_driven, requests};
use crate::error::Outcome;
use crate::scenario::{Scenario, Table};
use crate::value::Value;
use std::num::NonZeroU32;
use tailcut_sim::fabric::queue::{Compare, Limit, Placement};
use tailcut_sim::transport::Demotion;
use tailcut_sim::transport::nic::{Coalescing, PacerConfig};
use tailcut_sim::{
    COALESCING_TIMEOUT, DesignParameters, HullParameters, NicParameters, PFabricParameters,
    PacerParameters, PhantomParameters, PiasParameters, QosParameters,
};
use tailcut_units::Bytes;

/// The parameters of every design that has some of its own.
pub fn parameters(scenario: &Scenario) -> Outcome<DesignParameters> {
    Ok(DesignParameters {
        pfabric: pfabric(&scenario.table("pfabric")),
        pias: pias(&scenario.table("pias"))?,
        qos: qos(&scenario.table("qos")),
        hull: hull(&scenario.table("hull"))?,
        ndp: receiver_driven::ndp(&scenario.table("ndp"))?,
        requests: requests::parameters(scenario)?,
        scdp: receiver_driven::scdp(&scenario.table("scdp"))?,
        paths: paths::parameters(scenario),
    })
}

/// Packets or bytes.
pub fn limit(table: &Table, key: &str) -> Option<Limit> {
    match table.value(key)? {
        Value::Bytes(bytes) => Some(Limit::Bytes(bytes.0)),
        Value::Count(packets) => Some(Limit::Packets(u32::try_from(packets).unwrap_or(u32::MAX))),
        _ => None,
    }
}

fn pfabric(table: &Table) -> PFabricParameters {
    let usual = PFabricParameters::default();
    PFabricParameters {
        queue: limit(table, "queue").unwrap_or(usual.queue),
        initial_window: table
            .small("initial_window")
            .unwrap_or(usual.initial_window),
        max_window: table.small("max_window"),
        rto: table.duration("rto"),
        probe_after: table
            .small("probe_after")
            .map_or(usual.probe_after, |timeouts| timeouts as u8),
    }
}

/// Bytes sent at which flows are demoted.
pub fn thresholds(table: &Table, usual: Vec<u64>) -> Outcome<Vec<u64>> {
    let thresholds = match table.value("thresholds") {
        Some(Value::Sizes(sizes)) => sizes.iter().map(|size| size.0).collect(),
        _ => usual,
    };
    if Demotion::at(&thresholds).is_none() {
        let found = format!("{thresholds:?}");
        return Err(table.error("thresholds", found, "each greater than the one before"));
    }
    Ok(thresholds)
}

fn pias(table: &Table) -> Outcome<PiasParameters> {
    let usual = PiasParameters::default();
    Ok(PiasParameters {
        thresholds: thresholds(table, usual.thresholds)?,
        limit: limit(table, "limit").unwrap_or(usual.limit),
        sharing: receiver_driven::sharing(table, usual.sharing),
        resends_count: table.is_set("resends_count"),
        host_order: table.is_set("host_order"),
    })
}

fn qos(table: &Table) -> QosParameters {
    let usual = QosParameters::default();
    QosParameters {
        small_below: table.bytes("small_below").unwrap_or(usual.small_below),
    }
}

fn hull(table: &Table) -> Outcome<HullParameters> {
    let usual = PhantomParameters::default();
    let phantom = table
        .number("phantom_drain")
        .map(|drain| PhantomParameters {
            drain,
            mark_above: table
                .bytes("phantom_mark_above")
                .unwrap_or(usual.mark_above),
            compare: match table.word("phantom_compare") {
                Some("after") => Compare::After,
                _ => Compare::Before,
            },
            placement: match table.word("phantom_placement") {
                Some("parallel") => Placement::Parallel,
                _ => Placement::Series,
            },
        });
    let usual = PacerConfig::default();
    let (min_rate, max_rate) = (table.rate("pacer_min_rate"), table.rate("pacer_max_rate"));
    if let (Some(least), Some(most)) = (min_rate, max_rate)
        && least > most
    {
        let allowed = format!("at least pacer_min_rate, {least}");
        return Err(table.error("pacer_max_rate", most.to_string(), allowed));
    }
    let pacer = PacerParameters {
        pacer: PacerConfig {
            interval: table.duration("pacer_interval").unwrap_or(usual.interval),
            measurement_gain: table
                .number("pacer_measurement_gain")
                .unwrap_or(usual.measurement_gain),
            backlog_gain: table
                .number("pacer_backlog_gain")
                .unwrap_or(usual.backlog_gain),
            association_probability: table
                .number("pacer_association")
                .unwrap_or(usual.association_probability),
            association_expiry: table
                .duration("pacer_expiry")
                .unwrap_or(usual.association_expiry),
            bucket_bytes: table
                .bytes("pacer_bucket")
                .map_or(usual.bucket_bytes, whole_u32),
            ..usual
        },
        min_rate,
        max_rate,
    };
    Ok(HullParameters {
        phantom,
        pacer: table.is_set("pacer").then_some(pacer),
    })
}

fn whole_u32(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0).unwrap_or(u32::MAX)
}

/// What the hosts' queues and NICs do.
pub fn nic(scenario: &Scenario) -> Outcome<NicParameters> {
    let table = scenario.table("nic");
    let frames = table.small("rx_frames").filter(|frames| *frames > 1);
    let merge = table.is_set("gro");
    if merge && frames.is_none() {
        return Err(table.error("gro", "true", "only with nic.rx_frames above 1"));
    }
    Ok(NicParameters {
        queue: scenario
            .table("host")
            .small("queue")
            .and_then(NonZeroU32::new),
        coalescing: frames.map(|frames| Coalescing {
            frames,
            timeout: table.duration("rx_timeout").unwrap_or(COALESCING_TIMEOUT),
            merge,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_designs() {
        let empty = Scenario::parse("empty.toml", "", "").expect("an empty scenario");
        let read = parameters(&empty).expect("defaults are sound");
        let usual = DesignParameters::default();
        assert_eq!(read.pfabric, usual.pfabric);
        assert_eq!(read.pias, usual.pias);
        assert_eq!(read.qos, usual.qos);
        assert_eq!(read.hull, usual.hull);
        assert_eq!(nic(&empty).expect("sound"), NicParameters::default());
    }

    #[test]
    fn the_parts_of_hull_are_turned_off_one_by_one() {
        let text = "[hull]\nphantom_drain = \"off\"\n[nic]\nrx_frames = 8\n";
        let scenario = Scenario::parse("s.toml", "", text).expect("sound");
        let hull = parameters(&scenario).expect("sound").hull;
        assert!(hull.phantom.is_none() && hull.pacer.is_some());
        let coalescing = nic(&scenario).expect("sound").coalescing;
        assert_eq!(coalescing.map(|nic| nic.frames), Some(8));
        let text = "[hull]\npacer = false\n";
        let scenario = Scenario::parse("s.toml", "", text).expect("sound");
        let hull = parameters(&scenario).expect("sound").hull;
        assert!(hull.phantom.is_some() && hull.pacer.is_none());
    }

    #[test]
    fn thresholds_that_do_not_ascend_are_refused_where_they_stand() {
        let text = "[pias]\nthresholds = [\"10KB\", \"10KB\"]\n";
        let scenario = Scenario::parse("s.toml", "", text).expect("sizes");
        let error = parameters(&scenario)
            .expect_err("not ascending")
            .to_string();
        assert!(error.starts_with("s.toml:2: pias.thresholds"), "{error}");
    }
}
