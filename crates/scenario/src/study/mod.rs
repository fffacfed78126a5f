//! From a scenario to runs: the product of seeds, loads and designs, each a full configuration.

mod chosen;
mod custom;
mod faults;
mod files;
mod groups;
mod matrix;
mod names;
mod parameters;
mod paths;
mod queue;
mod readers;
mod requests;
mod storage;
mod topology;
mod workload;

pub use chosen::design;
pub use names::NamedNodes;
pub use topology::{
    KINDS as TOPOLOGY_KINDS, keys_of as topology_keys, replace as replace_topology,
};
pub use workload::replace as replace_workload;

use crate::error::{Outcome, ScenarioError};
use crate::parameters::Course;
use crate::point::Point;
use crate::scenario::Scenario;
use crate::value::{Value, shortened};
use chosen::Chosen;
use std::num::NonZeroU32;
use tailcut_record::TableFormat;
use tailcut_sim::fabric::topology::{LinkFault, Topology};
use tailcut_sim::{RunClock, RunConfig, Settings, Stack, WorkloadSpec};
use topology::Network;

/// A study: runs that are compared with each other.
#[derive(Clone, Debug)]
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
        let first: u64 = top.get("seed");
        let seeds: u64 = top.get("seeds");
        if first.checked_add(seeds).is_none() {
            return Err(top.error(
                "seed",
                first.to_string(),
                "a seed that leaves room for `seeds` more",
            ));
        }
        let points =
            scenario.points(MOST_RUNS / (designs.len() as u64).saturating_mul(seeds).max(1))?;
        let mut of_points = Vec::with_capacity(points.len());
        let mut planned = 0u64;
        for point in &points {
            let runs = runs_at(point, &designs).map_err(|error| point.located(error))?;
            planned = planned.saturating_add(seeds.saturating_mul(runs.len() as u64));
            if planned > MOST_RUNS {
                let found = format!("{planned} runs or more: seeds x loads x designs x sweep");
                return Err(top.error("seeds", found, format!("at most {MOST_RUNS} runs a study")));
            }
            of_points.push(runs);
        }
        let mut runs = Vec::with_capacity(planned as usize);
        for seed in first..first + seeds {
            for run in of_points.iter().flatten() {
                runs.push(RunConfig {
                    seed,
                    ..run.clone()
                });
            }
        }
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

/// The runs of one point of a sweep with the first seed: by load, then by design.
fn runs_at(point: &Point, designs: &[Chosen]) -> Outcome<Vec<RunConfig>> {
    let all: Vec<Stack> = designs.iter().map(|chosen| chosen.stack).collect();
    let common = Parts::of(&point.scenario, &all)?;
    if let Some(workload) = common.workloads.first() {
        readers::check(&point.scenario, &all, &common.settings, workload, |_, _| {
            true
        })?;
    }
    let mut by_design: Vec<Vec<RunConfig>> = Vec::with_capacity(designs.len());
    for chosen in designs {
        let stack = chosen.stack;
        let mut runs = if chosen.settings.is_empty() {
            common.runs(&point.scenario, stack)?
        } else {
            let scenario = chosen.scenario(&point.scenario)?;
            let parts = Parts::of(&scenario, &[stack])?;
            let is_own = |section: &str, key: &str| {
                let mut own = chosen.settings.iter().map(|(path, _)| path);
                own.any(|path| (path.section.name, path.key.name) == (section, key))
            };
            if let Some(workload) = parts.workloads.first() {
                readers::check(&scenario, &[stack], &parts.settings, workload, is_own)?;
            }
            parts.runs(&scenario, stack)?
        };
        for run in &mut runs {
            run.called.clone_from(&chosen.called);
            run.parameters.clone_from(&point.parameters);
        }
        by_design.push(runs);
    }
    let clocks = Clocks::of(&point.scenario);
    let mut runs = Vec::new();
    for load in 0..common.workloads.len() {
        let of_load = by_design.iter().filter_map(|runs| runs.get(load));
        runs.extend(of_load.flat_map(|run| clocks.runs(run, common.course.slowdown)));
    }
    starts_something(&point.scenario, &runs, &common.network.built)?;
    Ok(runs)
}

/// The clocks that each run is under.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clocks {
    Simulated,
    Wall,
    Both,
}

impl Clocks {
    fn of(scenario: &Scenario) -> Self {
        match scenario.table("").word("clock") {
            Some("wall") => Self::Wall,
            Some("both") => Self::Both,
            _ => Self::Simulated,
        }
    }

    /// A run under each of them. Where there are both, the one on real hosts is called so.
    fn runs(self, run: &RunConfig, slowdown: NonZeroU32) -> Vec<RunConfig> {
        let on_wall = || RunConfig {
            clock: RunClock::Wall { slowdown },
            ..run.clone()
        };
        match self {
            Self::Simulated => vec![run.clone()],
            Self::Wall => vec![on_wall()],
            Self::Both => {
                let called = Some(format!("{} (lab)", run.key().design));
                let lab = RunConfig {
                    called,
                    ..on_wall()
                };
                vec![run.clone(), lab]
            }
        }
    }
}

/// What the runs of a scenario have in common.
struct Parts {
    settings: Settings,
    course: Course,
    network: Network,
    faults: Vec<LinkFault>,
    /// One a load.
    workloads: Vec<WorkloadSpec>,
}

impl Parts {
    fn of(scenario: &Scenario, designs: &[Stack]) -> Outcome<Self> {
        let (settings, course) = parameters::read(scenario)?;
        let network = topology::network(scenario)?;
        paths::check(scenario, designs, &network.built)?;
        let faults = faults::faults(scenario, &network)?;
        let workloads = workload::workloads(scenario, &network)?;
        Ok(Self {
            settings,
            course,
            network,
            faults,
            workloads,
        })
    }

    /// The runs of a design, one a load.
    fn runs(&self, scenario: &Scenario, stack: Stack) -> Outcome<Vec<RunConfig>> {
        let (parameters, hosts) = (&self.settings.designs, self.network.built.hosts());
        let run = |workload: &WorkloadSpec| {
            storage::check(scenario, parameters.scdp.stragglers.policy, workload)?;
            requests::check(scenario, stack, &parameters.requests, workload, hosts)?;
            queue::check(scenario, stack, workload)?;
            let (topology, workload) = (self.network.spec.clone(), workload.clone());
            Ok(RunConfig {
                faults: self.faults.clone(),
                settings: self.settings.clone(),
                sample_every: self.course.sample_every,
                measures: self.course.measures,
                drain: self.course.drain,
                engine: self.course.engine,
                port_events: self.course.port_events,
                ..RunConfig::new(stack, topology, workload)
            })
        };
        self.workloads.iter().map(run).collect()
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

fn designs(scenario: &Scenario) -> Outcome<Vec<Chosen>> {
    let top = scenario.table("");
    let Some(Value::Texts(names)) = top.value("designs") else {
        let allowed =
            "names of designs, such as [\"tcp\", \"repflow\"]; see `tailcut list designs`";
        return Err(top.error("designs", "none", allowed));
    };
    let place = top.place_of("designs").clone();
    let mut designs: Vec<Chosen> = Vec::with_capacity(names.len());
    for name in names {
        let chosen = Chosen::named(scenario, &name, &place)?;
        if designs.iter().any(|known| known.name() == chosen.name()) {
            let found = format!("'{}' twice", chosen.name());
            return Err(ScenarioError::new(
                &place,
                "designs",
                found,
                "each design once",
            ));
        }
        designs.push(chosen);
    }
    Ok(designs)
}
