//! How switches choose paths, from the sections of the routings.

use crate::scenario::{Scenario, Table};
use tailcut_sim::PathParameters;
use tailcut_sim::fabric::load_balancer::LetFlowConfig;

/// The parameters of every routing that has some.
pub fn parameters(scenario: &Scenario) -> PathParameters {
    PathParameters {
        letflow: letflow(&scenario.table("letflow")),
    }
}

fn letflow(table: &Table) -> LetFlowConfig {
    let usual = LetFlowConfig::default();
    LetFlowConfig {
        gap: table.duration("gap").unwrap_or(usual.gap),
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
