//! Requests from their sections: servers, policies, and the workload's part.

use crate::error::Outcome;
use crate::scenario::{Scenario, Table};
use tailcut_sim::transport::rans::{BudgetConfig, CancelScope, Discipline, Preemption, Trigger};
use tailcut_sim::workload::{WorkSpec, WorkTimes};
use tailcut_sim::{Design, FlowsSpec, Replication, RequestParameters, RequestRate, WorkloadSpec};
use tailcut_units::Duration;

/// The parameters of requests.
pub fn parameters(scenario: &Scenario) -> Outcome<RequestParameters> {
    let (servers, rans) = (scenario.table("servers"), scenario.table("rans"));
    let usual = RequestParameters::default();
    let (copies, quorum) = (rans.small("copies"), rans.small("quorum"));
    let (copies, quorum) = (copies.unwrap_or(2) as u8, quorum.unwrap_or(1) as u8);
    if quorum > copies {
        let allowed = format!("1 to {copies}, the number of copies");
        return Err(rans.error("quorum", quorum.to_string(), allowed));
    }
    let swap_lead = rans.bytes("swap_lead");
    if swap_lead.is_some() && (copies, quorum) != (2, 1) {
        let found = format!("{copies} copies and a quorum of {quorum}");
        return Err(rans.error("swap_lead", found, "two copies and a quorum of 1"));
    }
    let delay = servers.duration("delay").unwrap_or(usual.delay);
    let purge_delay = servers.duration("purge_delay");
    if let Some(purge_delay) = purge_delay.filter(|purge| *purge < delay) {
        let allowed =
            format!("at least servers.delay, {delay}: messages do not overtake each other");
        return Err(servers.error("purge_delay", purge_delay.to_string(), allowed));
    }
    Ok(RequestParameters {
        work: work(&servers)?,
        disk: servers.rate("disk"),
        link: servers.rate("link").unwrap_or(usual.link),
        request_size: servers.bytes("request_size").unwrap_or(usual.request_size),
        chunk: servers.bytes("chunk").unwrap_or(usual.chunk),
        discipline: match servers.word("discipline") {
            Some("processor-sharing") => Discipline::ProcessorSharing,
            _ => Discipline::Fifo,
        },
        preemption: preemption(&servers)?,
        client_link: servers.rate("client_link"),
        delay,
        purge_delay,
        copies,
        quorum,
        purge: match rans.word("purge") {
            Some("queued") => CancelScope::Queued,
            _ => CancelScope::Running,
        },
        swap_lead,
        hedge: hedge(&rans),
        budget: BudgetConfig {
            thousandths: thousandths(&rans, "budget").unwrap_or(usual.budget.thousandths),
            burst: rans.small("budget_burst").unwrap_or(usual.budget.burst),
        },
    })
}

fn work(servers: &Table) -> Outcome<WorkSpec> {
    let straggler_factor = servers.number("straggler_factor").unwrap_or(1.0);
    if straggler_factor < 1.0 {
        let found = straggler_factor.to_string();
        return Err(servers.error("straggler_factor", found, "at least 1"));
    }
    let seek = servers.duration("seek").unwrap_or_default();
    if seek > Duration::ZERO && servers.rate("disk").is_none() {
        return Err(servers.error("seek", seek.to_string(), "only with servers.disk"));
    }
    Ok(WorkSpec {
        cpu: servers.duration("cpu").unwrap_or_default(),
        cpu_times: match servers.word("cpu_times") {
            Some("exponential") => WorkTimes::Exponential,
            _ => WorkTimes::Fixed,
        },
        seek,
        straggler_share: servers.number("straggler_share").unwrap_or(0.0),
        straggler_factor,
    })
}

fn preemption(servers: &Table) -> Outcome<Preemption> {
    let preemption = match servers.word("preemption") {
        Some("chunk") => Preemption::Unit,
        Some("never") => Preemption::Never,
        _ => Preemption::Resume,
    };
    let shares = servers.word("discipline") == Some("processor-sharing");
    if shares && preemption != Preemption::Resume {
        let found = servers.word("preemption").unwrap_or_default();
        let allowed = "\"resume\" with processor sharing, which has no copy in service to wait for";
        return Err(servers.error("preemption", format!("\"{found}\""), allowed));
    }
    Ok(preemption)
}

fn hedge(rans: &Table) -> Trigger {
    match rans.duration("hedge_after") {
        Some(delay) => Trigger::After(delay),
        None => Trigger::AfterPercentile {
            thousandths: thousandths(rans, "hedge_percentile").unwrap_or(950).max(1) as u16,
            window: rans.small("hedge_window").unwrap_or(100),
            first: rans
                .duration("hedge_first")
                .unwrap_or(Duration::from_ms(10)),
        },
    }
}

/// A percentage in thousandths.
fn thousandths(table: &Table, key: &str) -> Option<u32> {
    table
        .number(key)
        .map(|percent| (percent * 10.0).round() as u32)
}

/// How many requests a second, or at which load.
pub fn rate(table: &Table) -> Outcome<RequestRate> {
    match (table.number("requests_per_second"), table.given("load")) {
        (Some(_), Some(_)) => {
            let allowed = "load or requests_per_second, not both";
            Err(table.error("requests_per_second", "both", allowed))
        }
        (Some(rate), None) => Ok(RequestRate::PerSecond(rate)),
        // A sweep puts its own loads in this place.
        (None, _) => Ok(RequestRate::Load(table.number("load").unwrap_or(1.0))),
    }
}

/// Makes sure that a design and a workload go together.
pub fn check(
    scenario: &Scenario,
    design: Design,
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
        matches!(design.replication, Replication::Duplicates(_)) || !design.transport.has_packets();
    if needs && requests == 0 {
        let allowed = "workload.kind = \"requests\" with this design";
        return Err(top.error("designs", format!("'{design}' without requests"), allowed));
    }
    if requests > 1 {
        return Err(table.error("kind", "requests twice", "one workload of requests"));
    }
    if requests == 0 {
        return Ok(());
    }
    let replicates = matches!(
        design.replication,
        Replication::None | Replication::Duplicates(_)
    );
    if !replicates || !design.transport.carries_requests() {
        let allowed = "stations, tcp, cubic, dctcp, pias, ndp, ndp-plus or scdp, alone or under duplicate, \
                       das, rans, hedge, ...";
        return Err(top.error("designs", format!("'{design}' with requests"), allowed));
    }
    for (section, key) in [("host", "queue"), ("nic", "rx_frames")] {
        let table = scenario.table(section);
        if let Some(found) = table
            .small(key)
            .filter(|found| *found > 1 || section == "host")
        {
            let allowed = "only without requests, whose hosts have no such layer";
            return Err(table.error(key, found.to_string(), allowed));
        }
    }
    let has_packets = design.transport.has_packets();
    if workload.parts.len() > 1 && !has_packets {
        let found = format!("flows beside requests with '{design}'");
        let allowed = "requests alone where no network carries them";
        return Err(table.error("kind", found, allowed));
    }
    if let Some(failure) = scenario.tables("failures").first().filter(|_| !has_packets) {
        let found = format!("a failure of a link with '{design}'");
        return Err(failure.error("a", found, "only where a network carries requests"));
    }
    for key in ["measure_waits", "measure_bursts"] {
        if top.is_set(key) && !has_packets {
            let found = format!("with '{design}'");
            return Err(top.error(key, found, "only where a network carries requests"));
        }
    }
    let policy = parameters.policy(design.replication);
    if let Some(fault) = policy.fault() {
        return Err(top.error(
            "designs",
            format!("'{design}' with these keys of [rans]"),
            fault,
        ));
    }
    for part in &workload.parts {
        if let FlowsSpec::Requests(spec) = &part.flows
            && spec.servers < u32::from(policy.copies)
        {
            let allowed = format!(
                "at least {}: each copy goes to another server",
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

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_units::Bytes;

    fn of(text: &str) -> Outcome<RequestParameters> {
        parameters(&Scenario::parse("s.toml", "", text).expect("keys and values are sound"))
    }

    #[test]
    fn defaults_are_those_of_the_library() {
        let read = of("").expect("sound");
        let usual = RequestParameters::default();
        let factor = read.work.straggler_factor;
        assert_eq!(
            RequestParameters {
                work: WorkSpec {
                    straggler_factor: usual.work.straggler_factor,
                    ..read.work
                },
                ..read
            },
            usual,
            "no copy straggles, whatever the factor {factor}"
        );
    }

    #[test]
    fn what_does_not_go_together_is_refused_where_it_stands() {
        for (text, beginning) in [
            (
                "[rans]\ncopies = 2\nquorum = 3\n",
                "s.toml:3: rans.quorum: found 3",
            ),
            (
                "[rans]\ncopies = 3\nswap_lead = \"1MB\"\n",
                "s.toml:3: rans.swap_lead",
            ),
            (
                "[servers]\ndelay = \"1ms\"\npurge_delay = \"1us\"\n",
                "s.toml:3: servers.purge_delay",
            ),
            ("[servers]\nseek = \"1ms\"\n", "s.toml:2: servers.seek"),
            (
                "[servers]\nstraggler_factor = 0.5\n",
                "s.toml:2: servers.straggler_factor",
            ),
            (
                "[servers]\ndiscipline = \"processor-sharing\"\npreemption = \"never\"\n",
                "s.toml:3: servers.preemption",
            ),
        ] {
            let error = of(text).expect_err(text).to_string();
            assert!(error.starts_with(beginning), "{error}");
        }
    }

    #[test]
    fn a_chunk_is_as_large_as_written() {
        let read = of("[servers]\nchunk = \"64KB\"\n").expect("sound");
        assert_eq!(read.chunk, Bytes(64_000));
    }
}
