//! What is run again: studies, each a scenario with keys changed, and the rows made of their records.

use tailcut_report::{ComparisonRow, Measured, Sample};
use tailcut_scenario::record::RunRecord;
use tailcut_scenario::{Outcome, Place, Scenario, Study};

/// A figure or table that is run again.
pub trait Reproduction: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What is reproduced and where it was published, in a line.
    fn title(&self) -> &'static str;

    /// The studies that it takes.
    fn parts(&self) -> Vec<Part>;

    /// The studies that it takes on real hosts, under the clock on the wall; none where kernels have no
    /// transport for its designs, or one machine cannot carry its network.
    fn parts_on_real_hosts(&self) -> Vec<Part> {
        Vec::new()
    }

    /// The programs that it takes on real hosts, where it is an application in place of studies.
    fn programs_on_real_hosts(&self) -> Vec<Program> {
        Vec::new()
    }

    /// The rows, from the finished runs of all parts.
    fn rows(&self, results: &Results) -> Vec<ComparisonRow>;
}

/// One study of a reproduction.
pub struct Part {
    /// Its name, unique within the reproduction; that of its directory too.
    pub name: &'static str,
    /// The text of its scenario.
    pub scenario: &'static str,
    /// Keys that differ from the scenario, so that parts can share one.
    pub changes: Vec<(&'static str, String)>,
    /// Keys that differ in the quick form.
    pub quick: Vec<(&'static str, String)>,
}

impl Part {
    /// The keys that differ from the scenario, in the order in which they are set.
    pub fn keys(&self, quick: bool) -> impl Iterator<Item = &(&'static str, String)> {
        let short = self.quick.iter().filter(move |_| quick);
        self.changes.iter().chain(short)
    }

    /// The part's runs; `seed` and `seeds` come from the command line.
    ///
    /// # Errors
    /// As [`Part::scenario`].
    pub fn study(&self, quick: bool, seed: Option<u64>, seeds: Option<u64>) -> Outcome<Study> {
        Study::of(&self.scenario(quick, seed, seeds)?)
    }

    /// The part's scenario with its keys; `seed` and `seeds` come from the command line.
    ///
    /// # Errors
    /// Flags that the scenario does not allow; none else for a scenario that was tested.
    pub fn scenario(
        &self,
        quick: bool,
        seed: Option<u64>,
        seeds: Option<u64>,
    ) -> Outcome<Scenario> {
        let file = format!("scenarios/reproduce/{}.toml", self.name);
        let mut scenario = Scenario::parse(&file, "", self.scenario)?;
        for (path, text) in self.keys(quick) {
            scenario.set(path, text, &Place::flag(self.name))?;
        }
        // Parts with other designs share it.
        scenario.start_from_here();
        for (flag, path, value) in [("--seed", "seed", seed), ("--seeds", "seeds", seeds)] {
            if let Some(value) = value {
                scenario.set(path, &value.to_string(), &Place::flag(flag))?;
            }
        }
        Ok(scenario)
    }
}

/// An application of the repository that runs on real hosts: a script for Node that prints a line of JSON for each
/// round of a design, with its times.
pub struct Program {
    /// Its name, unique within the reproduction.
    pub name: &'static str,
    /// Files that must be there, each with the command that makes it.
    pub needs: &'static [(&'static str, &'static str)],
    /// The script's path in the repository.
    pub script: &'static str,
    /// Its arguments in both forms, by spaces.
    pub arguments: &'static str,
    /// Its arguments in the quick form.
    pub quick: &'static str,
    /// Its arguments in the full form.
    pub full: &'static str,
}

impl Program {
    /// The script's arguments.
    pub fn arguments(&self, quick: bool) -> impl Iterator<Item = &'static str> {
        let of_form = if quick { self.quick } else { self.full };
        let all = self.arguments.split_whitespace();
        all.chain(of_form.split_whitespace())
    }
}

/// What a program measured of one design.
#[derive(Clone, PartialEq, Debug)]
pub struct Times {
    /// The program's name.
    pub program: &'static str,
    /// The design.
    pub design: String,
    /// The times of each round, in milliseconds of the wall's clock.
    pub rounds: Vec<Vec<f64>>,
}

/// Keys with their values as a [`Part`] has them.
pub fn keys(given: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let owned = given.iter().map(|&(key, value)| (key, value.to_owned()));
    owned.collect()
}

/// The finished runs of a reproduction's parts.
#[derive(Default)]
pub struct Results {
    /// By part, in the order of its study.
    pub parts: Vec<(&'static str, Vec<RunRecord>)>,
    /// What its programs measured.
    pub times: Vec<Times>,
}

impl Results {
    /// The runs of a part and a design, in the order of their seeds.
    pub fn runs<'a>(
        &'a self,
        part: &'a str,
        design: &'a str,
    ) -> impl Iterator<Item = &'a RunRecord> {
        let of_part = self.parts.iter().filter(move |(name, _)| *name == part);
        let runs = of_part.flat_map(|(_, runs)| runs);
        runs.filter(move |run| run.key.design == design)
    }

    /// Whether a part ran a design at all.
    pub fn ran(&self, part: &str, design: &str) -> bool {
        self.runs(part, design).next().is_some()
    }

    /// What a program measured of a design, with a round in place of a seed.
    pub fn times(&self, program: &str, design: &str) -> Option<Measured> {
        let is_it = |times: &&Times| times.program == program && times.design == design;
        let times = self.times.iter().find(is_it)?;
        let rounds = times.rounds.iter().map(|round| round.iter().copied());
        let numbers = (1..).take(times.rounds.len()).collect();
        Some(Measured::new(Sample::new(rounds), numbers))
    }

    /// Whether a part ran a design at a load.
    pub fn has(&self, part: &str, design: &str, load: f64) -> bool {
        let loads = self.loads(part, design);
        loads.iter().any(|its| (its - load).abs() < 1e-9)
    }

    /// The loads at which a part ran a design, ascending.
    pub fn loads(&self, part: &str, design: &str) -> Vec<f64> {
        let loads = self.runs(part, design).filter_map(|run| run.key.load);
        let mut loads: Vec<f64> = loads.collect();
        loads.sort_unstable_by(f64::total_cmp);
        loads.dedup();
        loads
    }
}
