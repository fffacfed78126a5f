//! Conversion of a scenario to runs: all combinations of seeds, loads and designs, each with a complete configuration.

mod custom;
mod faults;
mod files;
mod groups;
mod matrix;
mod measure;
mod names;
mod parameters;
mod paths;
mod queries;
mod queue;
mod readers;
mod requests;
mod storage;
mod study_design;
mod topology;
mod workload;
mod workload_keys;

pub use names::NamedNodes;
pub use study_design::design;
pub use topology::{
    KINDS as TOPOLOGY_KINDS, keys_of as topology_keys, replace as replace_topology,
};
pub use workload::replace as replace_workload;

use crate::error::{Outcome, ScenarioError};
use crate::parameters::RunOptions;
use crate::point::Point;
use crate::scenario::Scenario;
use crate::value::{Value, shortened};
use std::num::NonZeroU32;
use study_design::StudyDesign;
use tailcut_record::TableFormat;
use tailcut_sim::fabric::topology::{LinkFault, Topology};
use tailcut_sim::{RunClock, RunConfig, Settings, Stack, WorkloadSpec};
use topology::Network;

/// Study: a set of runs whose results are compared.
#[derive(Clone, Debug)]
pub struct Study {
    /// Name of the study, also the name of its directory.
    pub name: String,
    /// Description of the study. Can be empty.
    pub about: String,
    /// Runs. All designs of one load and seed are consecutive, so an interrupted study has complete comparisons.
    pub runs: Vec<RunConfig>,
    /// First seed of the study.
    pub seed: u64,
    /// Format of the tables.
    pub format: TableFormat,
    /// All keys with their values, for the manifest.
    pub config: serde_json::Value,
}

/// Largest number of runs in a study.
const MOST_RUNS: u64 = 100_000;

impl Study {
    /// Derives the runs of a scenario.
    ///
    /// # Errors
    /// An invalid value of the network, the workload or the transport, with the place where it was written.
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
        measure::check(scenario)?;
        let points =
            scenario.points(MOST_RUNS / (designs.len() as u64).saturating_mul(seeds).max(1))?;
        let mut of_points = Vec::with_capacity(points.len());
        let mut planned = 0u64;
        for point in &points {
            let runs = runs_at(point, &designs).map_err(|error| point.located(error))?;
            planned = planned.saturating_add(seeds.saturating_mul(runs.len() as u64));
            if planned > MOST_RUNS {
                let found = format!("{planned} runs or more: seeds x loads x designs x sweep");
                return Err(top.error(
                    "seeds",
                    found,
                    format!("at most {MOST_RUNS} runs in a study"),
                ));
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

/// Returns the runs of one point of a sweep, with the first seed, in the order of loads and within a load of designs.
fn runs_at(point: &Point, designs: &[StudyDesign]) -> Outcome<Vec<RunConfig>> {
    let all: Vec<Stack> = designs.iter().map(|design| design.stack).collect();
    let common = Parts::of(&point.scenario, &all)?;
    if let Some(workload) = common.workloads.first() {
        readers::check(&point.scenario, &all, &common.settings, workload, |_, _| {
            true
        })?;
    }
    let mut by_design: Vec<Vec<RunConfig>> = Vec::with_capacity(designs.len());
    for design in designs {
        let stack = design.stack;
        let mut runs = if design.settings.is_empty() {
            common.runs(&point.scenario, stack)?
        } else {
            let scenario = design.scenario(&point.scenario)?;
            let parts = Parts::of(&scenario, &[stack])?;
            let is_own = |section: &str, key: &str| {
                let mut own = design.settings.iter().map(|(path, _)| path);
                own.any(|path| (path.section.name, path.key.name) == (section, key))
            };
            if let Some(workload) = parts.workloads.first() {
                readers::check(&scenario, &[stack], &parts.settings, workload, is_own)?;
            }
            parts.runs(&scenario, stack)?
        };
        for run in &mut runs {
            run.called.clone_from(&design.display_name);
            run.parameters.clone_from(&point.parameters);
        }
        by_design.push(runs);
    }
    let clocks = Clocks::of(&point.scenario);
    let mut runs = Vec::new();
    for load in 0..common.workloads.len() {
        let of_load = by_design.iter().filter_map(|runs| runs.get(load));
        runs.extend(of_load.flat_map(|run| clocks.runs(run, common.options.slowdown)));
    }
    check_expected_flows(&point.scenario, &runs, &common.network.built)?;
    Ok(runs)
}

/// Clocks of the runs.
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

    /// Returns the run under each clock. With both clocks, the design of the run on real hosts has the suffix " (lab)".
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

/// Parts of the configuration that all runs of a point share.
struct Parts {
    settings: Settings,
    options: RunOptions,
    network: Network,
    faults: Vec<LinkFault>,
    /// Workloads, one for each load.
    workloads: Vec<WorkloadSpec>,
}

impl Parts {
    fn of(scenario: &Scenario, designs: &[Stack]) -> Outcome<Self> {
        let (settings, options) = parameters::read(scenario)?;
        let network = topology::network(scenario)?;
        paths::check(scenario, designs, &network.built)?;
        let faults = faults::faults(scenario, &network)?;
        let workloads = workload::workloads(scenario, &network)?;
        Ok(Self {
            settings,
            options,
            network,
            faults,
            workloads,
        })
    }

    /// Returns the runs of a design, one per load.
    fn runs(&self, scenario: &Scenario, stack: Stack) -> Outcome<Vec<RunConfig>> {
        let (parameters, hosts) = (&self.settings.designs, self.network.built.hosts());
        let run = |workload: &WorkloadSpec| {
            measure::check_load(scenario, workload)?;
            storage::check(scenario, parameters.scdp.stragglers.policy, workload)?;
            requests::check(scenario, stack, &parameters.requests, workload, hosts)?;
            let (topology, workload) = (self.network.spec.clone(), workload.clone());
            let run = RunConfig {
                faults: self.faults.clone(),
                settings: self.settings.clone(),
                sample_every: self.options.sample_every,
                measures: self.options.measures,
                drain: self.options.drain,
                continues_load: self.options.continues_load,
                engine: self.options.engine,
                port_events: self.options.port_events,
                ..RunConfig::new(stack, topology, workload)
            };
            queue::check(scenario, &run, &self.network.built)?;
            Ok(run)
        };
        self.workloads.iter().map(run).collect()
    }
}

/// Rejects a workload that is unlikely to start any flow.
fn check_expected_flows(
    scenario: &Scenario,
    runs: &[RunConfig],
    network: &Topology,
) -> Outcome<()> {
    let top = scenario.table("");
    let mut loads: Vec<Option<f64>> = Vec::new();
    for run in runs {
        if loads.contains(&run.workload.load) {
            continue;
        }
        loads.push(run.workload.load);
        // A workload that cannot be generated causes an error when the run starts.
        if let Ok(Some(expected)) = tailcut_sim::expected_arrivals(run, network)
            && expected < 1.0
        {
            let found = format!("too few arrivals: {expected:.2e} flows expected");
            let allowed = "a duration, a load and link rates that give at least one flow";
            return Err(top.error("duration", found, allowed));
        }
    }
    Ok(())
}

/// Returns the name of the study. The name is also valid for a directory.
fn name(scenario: &Scenario) -> Outcome<String> {
    let top = scenario.table("");
    let name = top.text("name").unwrap_or_else(|| scenario.name.clone());
    let plain = |c: char| c.is_alphanumeric() || "-_.+@".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        let found = format!("\"{}\"", shortened(&name));
        let allowed = "letters, digits and -_.+@, without a dot at the start, because it is the name of a directory";
        return Err(top.error("name", found, allowed));
    }
    Ok(name)
}

fn designs(scenario: &Scenario) -> Outcome<Vec<StudyDesign>> {
    let top = scenario.table("");
    let Some(Value::Texts(names)) = top.value("designs") else {
        let allowed =
            "names of designs, such as [\"tcp\", \"repflow\"]; see `tailcut list designs`";
        return Err(top.error("designs", "none", allowed));
    };
    let place = top.place_of("designs").clone();
    let mut designs: Vec<StudyDesign> = Vec::with_capacity(names.len());
    for name in names {
        let design = StudyDesign::named(scenario, &name, &place)?;
        if designs.iter().any(|known| known.name() == design.name()) {
            let found = format!("'{}' twice", design.name());
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
