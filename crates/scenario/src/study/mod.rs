//! From a scenario to runs: the product of seeds, loads and designs, each a full configuration.

mod custom;
mod designs;
mod faults;
mod files;
mod matrix;
mod paths;
mod queue;
mod readers;
mod receiver_driven;
mod requests;
mod storage;
mod topology;
mod transport;
mod workload;

pub use topology::{
    KINDS as TOPOLOGY_KINDS, keys_of as topology_keys, replace as replace_topology,
};
pub use workload::replace as replace_workload;

use crate::error::{Outcome, Place, ScenarioError, did_you_mean};
use crate::scenario::Scenario;
use crate::value::{Value, shortened};
use tailcut_record::TableFormat;
use tailcut_sim::fabric::PortEvents;
use tailcut_sim::fabric::engine::EngineKind;
use tailcut_sim::fabric::topology::Topology;
use tailcut_sim::{Design, Measures, RunConfig};

/// A study: runs that are compared with each other.
#[derive(Debug)]
pub struct Study {
    /// Its name, which is that of its directory too.
    pub name: String,
    /// What it shows; may be empty.
    pub about: String,
    /// The runs; all designs of one load and seed follow each other, so that an interrupted study
    /// still compares like with like.
    pub runs: Vec<RunConfig>,
    /// The first seed.
    pub seed: u64,
    /// The format of its tables.
    pub format: TableFormat,
    /// Every key with its value, for the manifest.
    pub config: serde_json::Value,
}

/// The most runs of a study.
const MOST_RUNS: u64 = 100_000;

impl Study {
    /// The runs of a scenario.
    ///
    /// # Errors
    /// What the network, the workload or the transport cannot be, with the place where it was
    /// written.
    pub fn of(scenario: &Scenario) -> Outcome<Self> {
        let top = scenario.table("");
        let designs = designs(scenario)?;
        let parameters = designs::parameters(scenario)?;
        let network = topology::network(scenario)?;
        paths::check(scenario, &designs, &network.built)?;
        let faults = faults::faults(scenario, &network)?;
        let tcp = transport::tcp(scenario)?;
        let framing = transport::framing(scenario);
        let nic = designs::nic(scenario)?;
        let workloads = workload::workloads(scenario, &network)?;
        let first = top.count("seed").unwrap_or(1);
        let seeds = top.count("seeds").unwrap_or(1);
        if first.checked_add(seeds).is_none() {
            return Err(top.error(
                "seed",
                first.to_string(),
                "a seed that leaves room for `seeds` more",
            ));
        }
        let planned = seeds.saturating_mul((workloads.len() * designs.len()) as u64);
        if planned > MOST_RUNS {
            let found = format!("{planned} runs: seeds x loads x designs");
            return Err(top.error("seeds", found, format!("at most {MOST_RUNS} runs a study")));
        }
        if let Some(workload) = workloads.first() {
            readers::check(scenario, &designs, workload)?;
        }
        for workload in &workloads {
            storage::check(scenario, parameters.scdp.stragglers.policy, workload)?;
            for &design in &designs {
                let (requests, hosts) = (&parameters.requests, network.built.hosts());
                requests::check(scenario, design, requests, workload, hosts)?;
            }
        }
        let mut runs = Vec::new();
        for seed in first..first + seeds {
            for workload in &workloads {
                for &design in &designs {
                    runs.push(RunConfig {
                        design,
                        topology: network.spec.clone(),
                        faults: faults.clone(),
                        workload: workload.clone(),
                        framing,
                        tcp: tcp.clone(),
                        dctcp_gain: transport::dctcp_gain(scenario),
                        dctcp_first_alpha: transport::dctcp_first_alpha(scenario),
                        repnet: transport::repnet(scenario),
                        designs: parameters.clone(),
                        nic,
                        measures: Measures {
                            waits: top.is_set("measure_waits"),
                            bursts: top.is_set("measure_bursts"),
                            goodput: top.is_set("measure_goodput"),
                        },
                        seed,
                        sample_every: top.duration("sample_every"),
                        drain: top.duration("drain").unwrap_or_default(),
                        engine: match top.word("engine") {
                            Some("heap") => EngineKind::Heap,
                            _ => EngineKind::Calendar,
                        },
                        port_events: match top.word("port_events") {
                            Some("two") => PortEvents::Two,
                            _ => PortEvents::OneWherePossible,
                        },
                    });
                }
            }
        }
        starts_something(scenario, &runs, &network.built)?;
        Ok(Self {
            name: name(scenario)?,
            about: top.text("about").unwrap_or_default(),
            runs,
            seed: first,
            format: match top.word("tables") {
                Some("csv") => TableFormat::Csv,
                _ => TableFormat::Parquet,
            },
            config: scenario.to_json(),
        })
    }
}

/// Refuses a workload of which nothing is likely to start.
fn starts_something(scenario: &Scenario, runs: &[RunConfig], network: &Topology) -> Outcome<()> {
    let top = scenario.table("");
    let mut seen: Vec<Option<f64>> = Vec::new();
    for run in runs {
        if seen.contains(&run.workload.load) {
            continue;
        }
        seen.push(run.workload.load);
        // What cannot be drawn is told when it is run.
        if let Ok(Some(expected)) = tailcut_sim::expected_arrivals(run, network)
            && expected < 1.0
        {
            let found = format!("a span in which {expected:.2e} flows arrive in the mean");
            let allowed = "a span, a load and rates of links with which at least one flow arrives";
            return Err(top.error("duration", found, allowed));
        }
    }
    Ok(())
}

/// The study's name, safe as that of a directory.
fn name(scenario: &Scenario) -> Outcome<String> {
    let top = scenario.table("");
    let name = top.text("name").unwrap_or_else(|| scenario.name.clone());
    let plain = |c: char| c.is_alphanumeric() || "-_.+@".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        let found = format!("\"{}\"", shortened(&name));
        let allowed = "letters, digits and -_.+@, not with a dot in front: it names a directory";
        return Err(top.error("name", found, allowed));
    }
    Ok(name)
}

fn designs(scenario: &Scenario) -> Outcome<Vec<Design>> {
    let top = scenario.table("");
    let Some(Value::Texts(names)) = top.value("designs") else {
        let allowed =
            "names of designs, such as [\"tcp\", \"repflow\"]; see `tailcut list designs`";
        return Err(top.error("designs", "none", allowed));
    };
    let place = top.place_of("designs").clone();
    let mut designs: Vec<Design> = Vec::with_capacity(names.len());
    for name in names {
        let design = design(&name, &place)?;
        if designs.contains(&design) {
            let found = format!("'{design}' twice");
            return Err(ScenarioError::new(
                &place,
                "designs",
                found,
                "each design once",
            ));
        }
        designs.push(design);
    }
    Ok(designs)
}

/// A design by its name.
///
/// # Errors
/// What is unknown of it, with what may have been meant.
pub fn design(name: &str, place: &Place) -> Outcome<Design> {
    name.parse::<Design>().map_err(|unknown| {
        let near = did_you_mean(&unknown.part, unknown.allowed.iter().copied());
        let meant = near.map(|near| unknown.name.replacen(&unknown.part, near, 1));
        // An empty part has no place in the name that a guess could be put into.
        let meant = meant.filter(|_| !unknown.part.is_empty());
        let found = match unknown.part == unknown.name {
            true => format!("the unknown design '{}'", shortened(&unknown.name)),
            false => format!(
                "'{}' in the unknown design '{}'",
                shortened(&unknown.part),
                shortened(&unknown.name)
            ),
        };
        let why = unknown
            .why
            .map_or_else(String::new, |why| format!(" ({why})"));
        let allowed = format!("{}{why}", unknown.allowed.join(", "));
        ScenarioError::new(place, "designs", found, allowed).meaning(meant)
    })
}
