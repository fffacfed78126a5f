//! Reproductions. A reproduction consists of studies and of a function. A study is a scenario with changed keys.
//! The function computes the rows of a table from the records of the studies.

use tailcut_report::{ComparisonRow, Measured, Sample};
use tailcut_scenario::record::RunRecord;
use tailcut_scenario::{Location, Outcome, Scenario, Study};

/// Reproduction of a published figure or table.
pub struct Reproduction {
    /// Name of the reproduction on the command line.
    pub name: &'static str,
    /// Title in one line, which includes the published work.
    pub title: &'static str,
    /// Function that returns the studies of the reproduction.
    pub parts: fn() -> Vec<Part>,
    /// Function that returns the studies on real hosts, on the wall clock.
    /// The list is empty if the kernel has no transport for the designs, or if one machine is too slow for the network.
    pub parts_on_real_hosts: fn() -> Vec<Part>,
    /// Function that returns the programs that run on real hosts. Only reproductions of an application have programs.
    pub programs_on_real_hosts: fn() -> Vec<Program>,
    /// Function that computes the rows from the finished runs of all parts.
    pub rows: fn(&Results) -> Vec<ComparisonRow>,
}

impl Reproduction {
    /// Reproduction without studies and rows.
    /// The definitions of other reproductions take missing fields from this value.
    pub(crate) const EMPTY: Self = Self {
        name: "",
        title: "",
        parts: Vec::new,
        parts_on_real_hosts: Vec::new,
        programs_on_real_hosts: Vec::new,
        rows: |_| Vec::new(),
    };
}

/// Part of a reproduction: one study.
pub struct Part {
    /// Name of the part, unique within the reproduction. The part's directory has the same name.
    pub name: &'static str,
    /// Text of the scenario file.
    pub scenario: &'static str,
    /// Keys that this part changes in the scenario, with their values. Several parts can therefore share one scenario.
    pub changes: Vec<(&'static str, String)>,
    /// Keys that the quick form changes in addition, with their values.
    pub quick: Vec<(&'static str, String)>,
}

impl Part {
    /// Returns the changed keys and their values, in the order in which they are set.
    pub fn keys(&self, quick: bool) -> impl Iterator<Item = &(&'static str, String)> {
        let short = self.quick.iter().filter(move |_| quick);
        self.changes.iter().chain(short)
    }

    /// Returns the study of this part. `seed` and `seeds` are the values of the command-line flags.
    ///
    /// # Errors
    /// The errors of [`Part::scenario`].
    pub fn study(&self, quick: bool, seed: Option<u64>, seeds: Option<u64>) -> Outcome<Study> {
        Study::of(&self.scenario(quick, seed, seeds)?)
    }

    /// Returns the scenario with the changed keys. `seed` and `seeds` are the values of the command-line flags.
    ///
    /// # Errors
    /// The scenario does not allow the value of a flag.
    /// Other errors are not possible, because tests check all scenarios.
    pub fn scenario(
        &self,
        quick: bool,
        seed: Option<u64>,
        seeds: Option<u64>,
    ) -> Outcome<Scenario> {
        let file = format!("scenarios/reproduce/{}.toml", self.name);
        let mut scenario = Scenario::parse(&file, "", self.scenario)?;
        for (path, text) in self.keys(quick) {
            scenario.set(path, text, &Location::flag(self.name))?;
        }
        // Published figures include all flows of a run.
        scenario.set("measure.from", "0s", &Location::flag(self.name))?;
        // Several parts share the scenario, and their designs do not use all of its keys.
        // A key that is marked as a starting value causes no error if no design uses it.
        scenario.mark_as_starting_values();
        for (flag, path, value) in [("--seed", "seed", seed), ("--seeds", "seeds", seeds)] {
            if let Some(value) = value {
                scenario.set(path, &value.to_string(), &Location::flag(flag))?;
            }
        }
        Ok(scenario)
    }
}

/// Application of this repository that runs on real hosts. The application is a script for Node.
/// The script prints one line of JSON for each round of each design, with the measured times.
pub struct Program {
    /// Name of the program, unique within the reproduction.
    pub name: &'static str,
    /// Files that must exist, each with the command that creates it.
    pub needs: &'static [(&'static str, &'static str)],
    /// Path of the script in the repository.
    pub script: &'static str,
    /// Arguments in both the full and the quick form, separated by spaces.
    pub arguments: &'static str,
    /// Additional arguments in the quick form, separated by spaces.
    pub quick: &'static str,
    /// Additional arguments in the full form, separated by spaces.
    pub full: &'static str,
}

impl Program {
    /// Returns the arguments of the script.
    pub fn arguments(&self, quick: bool) -> impl Iterator<Item = &'static str> {
        let of_form = if quick { self.quick } else { self.full };
        let all = self.arguments.split_whitespace();
        all.chain(of_form.split_whitespace())
    }
}

/// Times that a program has measured with one design.
#[derive(Clone, PartialEq, Debug)]
pub struct Times {
    /// Name of the program.
    pub program: &'static str,
    /// Name of the design.
    pub design: String,
    /// Times of each round in milliseconds on the wall clock.
    pub rounds: Vec<Vec<f64>>,
}

/// Converts keys and values to the type of the fields of [`Part`].
pub fn keys(given: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    let owned = given.iter().map(|&(key, value)| (key, value.to_owned()));
    owned.collect()
}

/// Finished runs of the parts of a reproduction.
#[derive(Default)]
pub struct Results {
    /// Runs of each part, in the order of the part's study.
    pub parts: Vec<(&'static str, Vec<RunRecord>)>,
    /// Times that the programs have measured.
    pub times: Vec<Times>,
}

impl Results {
    /// Returns the runs of a design in a part, in the order of their seeds.
    pub fn runs<'a>(
        &'a self,
        part: &'a str,
        design: &'a str,
    ) -> impl Iterator<Item = &'a RunRecord> {
        let of_part = self.parts.iter().filter(move |(name, _)| *name == part);
        let runs = of_part.flat_map(|(_, runs)| runs);
        runs.filter(move |run| run.key.design == design)
    }

    /// Returns whether a part contains runs of a design.
    pub fn ran(&self, part: &str, design: &str) -> bool {
        self.runs(part, design).next().is_some()
    }

    /// Returns the times that a program has measured with a design. Each round counts as a seed.
    pub fn times(&self, program: &str, design: &str) -> Option<Measured> {
        let is_it = |times: &&Times| times.program == program && times.design == design;
        let times = self.times.iter().find(is_it)?;
        let rounds = times.rounds.iter().map(|round| round.iter().copied());
        let numbers = (1..).take(times.rounds.len()).collect();
        Some(Measured::new(Sample::new(rounds), numbers))
    }

    /// Returns whether a part contains runs of a design at a load.
    pub fn has(&self, part: &str, design: &str, load: f64) -> bool {
        let loads = self.loads(part, design);
        loads.iter().any(|its| (its - load).abs() < 1e-9)
    }

    /// Returns the loads of a design's runs in a part, in ascending order.
    pub fn loads(&self, part: &str, design: &str) -> Vec<f64> {
        let loads = self.runs(part, design).filter_map(|run| run.key.load);
        let mut loads: Vec<f64> = loads.collect();
        loads.sort_unstable_by(f64::total_cmp);
        loads.dedup();
        loads
    }
}
