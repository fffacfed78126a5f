//! How switches choose paths, from the sections of the routings.

use crate::error::Outcome;
use crate::scenario::{Scenario, Table};
use tailcut_sim::fabric::load_balancer::{
    BetweenPods, Combination, CongaConfig, DreConfig, ExpeditusConfig, ExpeditusDeckConfig,
    LetFlowConfig, OmniscientConfig, Sight,
};
use tailcut_sim::fabric::topology::Topology;
use tailcut_sim::{Design, EcmpHash, PathParameters, Routing};
use tailcut_units::HostId;

/// The parameters of every routing that has some.
pub fn parameters(scenario: &Scenario) -> PathParameters {
    PathParameters {
        ecmp_hash: match scenario.table("ecmp").word("hash") {
            Some("crc32") => EcmpHash::Crc32,
            Some("xor") => EcmpHash::Xor,
            _ => EcmpHash::Mixed,
        },
        letflow: letflow(&scenario.table("letflow")),
        conga: conga(&scenario.table("conga")),
        expeditus: expeditus(&scenario.table("expeditus")),
        expeditus_deck: expeditus_deck(&scenario.table("expeditus_deck")),
        omniscient: omniscient(&scenario.table("omniscient")),
    }
}

/// Refuses designs whose switches know a host by one switch, where hosts have several, and weak hashes
/// where switches do more than hash.
pub fn check(scenario: &Scenario, designs: &[Design], network: &Topology) -> Outcome<()> {
    let ecmp = scenario.table("ecmp");
    if let Some(hash) = ecmp.word("hash").filter(|hash| *hash != "mixed")
        && let Some(design) = designs
            .iter()
            .find(|design| design.routing != Routing::Ecmp || design.own_balancer.is_some())
    {
        let found = format!("\"{hash}\" with '{design}'");
        let allowed =
            "only with designs over ECMP: other routings tell flows apart by their own hash";
        return Err(ecmp.error("hash", found, allowed));
    }
    let mut hosts = (0..network.hosts()).map(HostId);
    if !hosts.any(|host| network.is_multi_homed(host)) {
        return Ok(());
    }
    let one_switch = |design: &&Design| {
        use Routing::{Conga, Expeditus, ExpeditusDeck};
        matches!(design.routing, Conga | Expeditus | ExpeditusDeck)
    };
    match designs.iter().find(one_switch) {
        None => Ok(()),
        Some(design) => {
            let found = format!("'{design}' where hosts have several links");
            let allowed = "other routings: CONGA and Expeditus know a host by one switch";
            Err(scenario.table("").error("designs", found, allowed))
        }
    }
}

fn letflow(table: &Table) -> LetFlowConfig {
    let usual = LetFlowConfig::default();
    LetFlowConfig {
        gap: table.duration("gap").unwrap_or(usual.gap),
    }
}

fn dre(table: &Table, usual: DreConfig) -> DreConfig {
    DreConfig {
        interval: table.duration("dre_interval").unwrap_or(usual.interval),
        keep: table.number("dre_keep").unwrap_or(usual.keep),
        ..usual
    }
}

fn dre_in_levels(table: &Table, usual: DreConfig) -> DreConfig {
    let levels = table.small("levels").map(|levels| levels as u8);
    DreConfig {
        levels: levels.unwrap_or(usual.levels),
        ..dre(table, usual)
    }
}

fn conga(table: &Table) -> CongaConfig {
    let usual = CongaConfig::default();
    CongaConfig {
        dre: dre_in_levels(table, usual.dre),
        gap: table.duration("gap").unwrap_or(usual.gap),
        metric_timeout: table
            .duration("metric_timeout")
            .unwrap_or(usual.metric_timeout),
        between_pods: match table.word("between_pods") {
            Some("leaf-and-core") => BetweenPods::LeafAndCore,
            Some("random") => BetweenPods::Random,
            _ => BetweenPods::Leaf,
        },
    }
}

fn expeditus(table: &Table) -> ExpeditusConfig {
    let usual = ExpeditusConfig::default();
    ExpeditusConfig {
        dre: dre_in_levels(table, usual.dre),
        entry_timeout: table
            .duration("entry_timeout")
            .unwrap_or(usual.entry_timeout),
    }
}

fn expeditus_deck(table: &Table) -> ExpeditusDeckConfig {
    let usual = ExpeditusDeckConfig::default();
    ExpeditusDeckConfig {
        level_bytes: table.bytes("level_bytes").unwrap_or(usual.level_bytes),
        combination: match table.word("combination") {
            Some("sum") => Combination::Sum,
            _ => Combination::Max,
        },
        heard_timeout: table
            .duration("heard_timeout")
            .unwrap_or(usual.heard_timeout),
        southbound_bytes: table
            .small("southbound_bytes")
            .map_or(usual.southbound_bytes, |bytes| bytes as u16),
        encapsulation: table
            .small("encapsulation")
            .map_or(usual.encapsulation, |bytes| bytes as u16),
        entry_timeout: table
            .duration("entry_timeout")
            .unwrap_or(usual.entry_timeout),
    }
}

fn omniscient(table: &Table) -> OmniscientConfig {
    let usual = OmniscientConfig::default();
    OmniscientConfig {
        sight: match table.word("sight") {
            Some("queue") => Sight::Queue,
            _ => Sight::Load,
        },
        dre: dre(table, usual.dre),
        entry_timeout: table
            .duration("entry_timeout")
            .unwrap_or(usual.entry_timeout),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_routings() {
        let empty = Scenario::parse("empty.toml", "", "").expect("an empty scenario");
        assert_eq!(parameters(&empty), PathParameters::default());
    }
}
