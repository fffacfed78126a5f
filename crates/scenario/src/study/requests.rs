//! Rate of requests, and checks of designs with requests.

use crate::error::Outcome;
use crate::scenario::{Scenario, Table};
use tailcut_sim::{
    Design, FlowsSpec, Registered, Replication, RequestParameters, RequestRate, Stack, WorkloadSpec,
};
use tailcut_units::Duration;

/// Returns the rate of requests: as requests per second, or as a load.
pub fn rate(table: &Table) -> Outcome<RequestRate> {
    match (table.get("requests_per_second"), table.given("load")) {
        (Some(_), Some(_)) => {
            let allowed = "load or requests_per_second, not both";
            Err(table.error("requests_per_second", "both", allowed))
        }
        (Some(rate), None) => Ok(RequestRate::PerSecond(rate)),
        // In a sweep, the value is replaced later by a load of the study, so any number is valid here.
        (None, _) => Ok(RequestRate::Load(table.get_or("load", 1.0))),
    }
}

/// Checks that a design and a workload are compatible.
pub fn check(
    scenario: &Scenario,
    stack: Stack,
    parameters: &RequestParameters,
    workload: &WorkloadSpec,
    hosts: u32,
) -> Outcome<()> {
    let top = scenario.table("");
    let is_request =
        |part: &&tailcut_sim::WorkloadPart| matches!(part.flows, FlowsSpec::Requests(_));
    let requests = workload.parts.iter().filter(is_request).count();
    let table = scenario.table("workload");
    let needs =
        matches!(stack.replication, Replication::Duplicates(_)) || !stack.design.has_packets();
    if needs && requests == 0 {
        let allowed = "workload.kind = \"requests\" with this design";
        return Err(top.error("designs", format!("'{stack}' without requests"), allowed));
    }
    if requests > 1 {
        return Err(table.error("kind", "requests twice", "one workload of requests"));
    }
    if requests == 0 {
        return Ok(());
    }
    let replicates = matches!(
        stack.replication,
        Replication::None | Replication::Duplicates(_)
    );
    if !replicates || !stack.design.carries_requests() {
        let designs = Design::all().into_iter();
        let carriers = designs.filter(|design| design.carries_requests());
        let carriers: Vec<&str> = carriers.map(|design| design.name).collect();
        let allowed = format!(
            "{}, alone or under duplicate, das, rans, hedge, ...",
            carriers.join(", ")
        );
        return Err(top.error("designs", format!("'{stack}' with requests"), allowed));
    }
    let is_on_real_hosts = top.word("clock") == Some("wall");
    if let Some(found) = scenario.table("host").get::<Option<u32>>("queue")
        && !is_on_real_hosts
    {
        let allowed =
            "only without requests, whose simulated hosts have no queue, or with clock = \"wall\"";
        return Err(scenario
            .table("host")
            .error("queue", found.to_string(), allowed));
    }
    let host = scenario.table("host");
    let jitter = host.get::<Duration>("jitter");
    if jitter > Duration::ZERO {
        return Err(host.error("jitter", jitter.to_string(), "only without requests"));
    }
    let nic = scenario.table("nic");
    if let Some(found) = nic
        .get::<Option<u32>>("rx_frames")
        .filter(|found| *found > 1)
    {
        let allowed = "only without requests, whose hosts have no coalescing";
        return Err(nic.error("rx_frames", found.to_string(), allowed));
    }
    let has_packets = stack.design.has_packets();
    if workload.parts.len() > 1 && !has_packets {
        let found = format!("flows in addition to requests with '{stack}'");
        let allowed = "only requests in designs without a network";
        return Err(table.error("kind", found, allowed));
    }
    if let Some(failure) = scenario.tables("failures").first().filter(|_| !has_packets) {
        let found = format!("a failure of a link with '{stack}'");
        return Err(failure.error("a", found, "only in designs with a network"));
    }
    for key in ["measure_waits", "measure_bursts"] {
        if top.get::<bool>(key) && !has_packets {
            let found = format!("with '{stack}'");
            return Err(top.error(key, found, "only in designs with a network"));
        }
    }
    let policy = parameters.policy(stack.replication);
    if let Some(fault) = policy.fault() {
        return Err(top.error(
            "designs",
            format!("'{stack}' with these keys of [rans]"),
            fault,
        ));
    }
    for part in &workload.parts {
        if let FlowsSpec::Requests(spec) = &part.flows
            && spec.servers < u32::from(policy.copies)
        {
            let allowed = format!(
                "at least {}: each copy goes to a different server",
                policy.copies
            );
            return Err(table.error("servers", spec.servers.to_string(), allowed));
        }
        if let FlowsSpec::Requests(spec) = &part.flows
            && has_packets
            && spec.servers + spec.clients > hosts
        {
            let found = format!("{} servers and {} clients", spec.servers, spec.clients);
            let allowed = format!("no more than the topology's {hosts} hosts together");
            return Err(table.error("servers", found, allowed));
        }
    }
    Ok(())
}
