//! Parameters of designs in which receivers pull, from their sections.

use super::designs::{limit, thresholds};
use crate::error::Outcome;
use crate::scenario::Table;
use tailcut_sim::fabric::queue::{Sharing, Victim};
use tailcut_sim::transport::scdp::DecodeSpeed;
use tailcut_sim::transport::{StragglerPolicy, Stragglers};
use tailcut_sim::{DecodeCores, NdpParameters, ScdpParameters};
use tailcut_units::Bytes;

pub fn ndp(table: &Table) -> Outcome<NdpParameters> {
    let usual = NdpParameters::default();
    let min_rto = table.duration("min_rto").unwrap_or(usual.min_rto);
    let initial_rto = table.duration("initial_rto").unwrap_or(usual.initial_rto);
    if initial_rto < min_rto {
        let allowed = format!("at least min_rto, {min_rto}");
        return Err(table.error("initial_rto", initial_rto.to_string(), allowed));
    }
    Ok(NdpParameters {
        initial_window: table
            .small("initial_window")
            .unwrap_or(usual.initial_window),
        queue: limit(table, "queue").unwrap_or(usual.queue),
        header_queue_packets: table
            .small("header_queue")
            .unwrap_or(usual.header_queue_packets),
        headers_per_data: table
            .small("headers_per_data")
            .unwrap_or(usual.headers_per_data),
        min_rto,
        initial_rto,
        thresholds: thresholds(table, usual.thresholds)?,
        resends_count: table.is_set("resends_count"),
        host_order: table.is_set("host_order"),
        sharing: sharing(table, usual.sharing),
    })
}

/// Who has the buffer of a port with classes.
pub fn sharing(table: &Table, usual: Sharing) -> Sharing {
    match table.word("buffer") {
        Some("by-class") => Sharing::PerClass,
        Some(_) => Sharing::Shared,
        None => usual,
    }
}

pub fn scdp(table: &Table) -> Outcome<ScdpParameters> {
    let usual = ScdpParameters::default();
    let decode_failure = table.numbers("decode_failure");
    if table.given("quorum").is_some() && table.word("stragglers") != Some("quorum") {
        return Err(table.error("quorum", "another policy", "only with stragglers quorum"));
    }
    Ok(ScdpParameters {
        initial_window: table.small("initial_window"),
        shared_window: table.small("shared_window"),
        stragglers: Stragglers {
            after: table
                .duration("straggler_after")
                .unwrap_or(usual.stragglers.after),
            policy: match table.word("stragglers") {
                Some("drop") => StragglerPolicy::Drop,
                Some("quorum") => {
                    StragglerPolicy::Quorum(table.small("quorum").unwrap_or(2) as u16)
                }
                _ => StragglerPolicy::Wait,
            },
        },
        block_symbols: table.small("block_symbols").unwrap_or(usual.block_symbols),
        overhead: table.small("overhead").unwrap_or(usual.overhead),
        decode_failure: decode_failure
            .and_then(|failure| failure.try_into().ok())
            .unwrap_or(usual.decode_failure),
        decode_speed: table
            .rates("decode_rate")
            .and_then(DecodeSpeed::new)
            .unwrap_or(usual.decode_speed),
        decode_cores: match (table.word("decode_cores"), table.small("decode_cores")) {
            (Some("unlimited"), _) => DecodeCores::Unlimited,
            (_, Some(cores)) => DecodeCores::Count(cores),
            _ => DecodeCores::Auto,
        },
        group_header: Bytes(table.count("group_header").unwrap_or(0)),
        thresholds: thresholds(table, usual.thresholds)?,
        host_order: table.is_set("host_order"),
        timeout: table.duration("timeout").unwrap_or(usual.timeout),
        max_timeouts: table.small("max_timeouts").unwrap_or(usual.max_timeouts),
        queue: limit(table, "queue").unwrap_or(usual.queue),
        header_queue: table.bytes("header_queue").unwrap_or(usual.header_queue),
        headers_per_data: table
            .small("headers_per_data")
            .unwrap_or(usual.headers_per_data),
        victim: match table.word("victim") {
            Some("coin") => Victim::Coin,
            _ => Victim::Arrival,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;
    use tailcut_units::Rate;

    #[test]
    fn defaults_are_those_of_the_designs() {
        let empty = Scenario::parse("empty.toml", "", "").expect("an empty scenario");
        let read = ndp(&empty.table("ndp")).expect("sound");
        assert_eq!(read, NdpParameters::default());
        let read = scdp(&empty.table("scdp")).expect("sound");
        assert_eq!(read, ScdpParameters::default());
    }

    #[test]
    fn the_codec_is_as_the_scenario_says() {
        let text = "[scdp]\ndecode_rate = [\"10:3Gbps\", \"100:2Gbps\"]\n\
                    decode_failure = [0.5, 0.25, 0]\n";
        let scenario = Scenario::parse("s.toml", "", text).expect("sound");
        let read = scdp(&scenario.table("scdp")).expect("sound");
        let (three, two) = (Rate::from_gbps(3), Rate::from_gbps(2));
        assert_eq!(
            Some(read.decode_speed),
            DecodeSpeed::new(vec![(10, three), (100, two)])
        );
        assert_eq!(read.decode_failure, [0.5, 0.25, 0.0]);
    }

    #[test]
    fn a_quorum_is_a_policy_for_stragglers() {
        let of = |text| {
            let scenario = Scenario::parse("s.toml", "", text).expect("sound");
            scdp(&scenario.table("scdp"))
        };
        let read = of("[scdp]\nstragglers = \"quorum\"\nquorum = 1\n").expect("sound");
        assert_eq!(read.stragglers.policy, StragglerPolicy::Quorum(1));
        let error = of("[scdp]\nquorum = 1\n").expect_err("no such policy");
        assert!(
            error.to_string().starts_with("s.toml:2: scdp.quorum"),
            "{error}"
        );
    }

    #[test]
    fn a_timeout_below_its_least_is_refused_where_it_stands() {
        let text = "[ndp]\nmin_rto = \"30ms\"\ninitial_rto = \"10ms\"\n";
        let scenario = Scenario::parse("s.toml", "", text).expect("spans");
        let error = ndp(&scenario.table("ndp")).expect_err("too short");
        let error = error.to_string();
        assert!(error.starts_with("s.toml:3: ndp.initial_rto"), "{error}");
    }
}
