//! Checks of the topology against the load balancers of the designs.

use crate::error::Outcome;
use crate::scenario::Scenario;
use tailcut_sim::Stack;
use tailcut_sim::fabric::topology::Topology;
use tailcut_units::HostId;

/// Rejects multi-homed hosts with a design whose switches identify a host by one switch.
/// Also rejects a weak hash with a design whose switches do not use ECMP.
pub fn check(scenario: &Scenario, designs: &[Stack], network: &Topology) -> Outcome<()> {
    let ecmp = scenario.table("ecmp");
    if let Some(hash) = ecmp.word("hash").filter(|hash| *hash != "mixed")
        && let Some(design) = designs.iter().find(|stack| stack.balancer.name != "ecmp")
    {
        let found = format!("\"{hash}\" with '{design}'");
        let allowed =
            "only with designs over ECMP: other load balancers have their own hash of flows";
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
            let allowed = "other load balancers: CONGA and Expeditus need hosts with one switch";
            Err(scenario.table("").error("designs", found, allowed))
        }
    }
}
