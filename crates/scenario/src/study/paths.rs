//! Which networks go with the ways in which switches choose paths.

use crate::error::Outcome;
use crate::scenario::Scenario;
use tailcut_sim::Stack;
use tailcut_sim::fabric::topology::Topology;
use tailcut_units::HostId;

/// Refuses designs whose switches know a host by one switch, where hosts have several, and weak hashes
/// where switches do more than hash.
pub fn check(scenario: &Scenario, designs: &[Stack], network: &Topology) -> Outcome<()> {
    let ecmp = scenario.table("ecmp");
    if let Some(hash) = ecmp.word("hash").filter(|hash| *hash != "mixed")
        && let Some(design) = designs.iter().find(|stack| stack.balancer.name != "ecmp")
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
    match designs.iter().find(|stack| stack.balancer.single_homed) {
        None => Ok(()),
        Some(design) => {
            let found = format!("'{design}' where hosts have several links");
            let allowed = "other routings: CONGA and Expeditus know a host by one switch";
            Err(scenario.table("").error("designs", found, allowed))
        }
    }
}
