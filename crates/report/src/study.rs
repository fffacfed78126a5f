//! Study in memory: runs ordered by setting, design and seed.

use crate::analysis::Analysis;
use crate::axes::middle;
use crate::comparison::{self, Comparison};
use crate::run::{Cell, Flow, Run, Sessions, Setting, WHOLE, coflows};
use crate::variant::{self, Variant};
use crate::warm_up::{self, MeasuredPart};
use std::path::Path;
use std::sync::OnceLock;
use tailcut_record::{CoflowKind, Error, Manifest, RunKey, RunState, StoredStudy};

/// Study: all finished runs of a directory or of a command.
#[derive(Debug)]
pub struct Study {
    manifest: Manifest,
    /// Manifests of other studies that were joined to this study.
    joined: Vec<Manifest>,
    runs: Vec<Run>,
    /// Published figures that are compared with our figures. The report shows them if there are any.
    pub comparisons: Vec<Comparison>,
    /// Order of the designs for each change of timers or buffers. The list is empty if the study has no changed runs.
    pub sensitivity: Vec<Variant>,
    /// Measured part of each setting.
    measured: Vec<(Setting, MeasuredPart)>,
    analysis: OnceLock<Analysis>,
}

/// Reads the study in `dir`, with its comparisons.
///
/// # Errors
/// The errors of [`StoredStudy::open`] and of the readers of a run's tables. Reading ends at the first damaged file.
pub fn load(dir: impl AsRef<Path>) -> Result<Study, Error> {
    let dir = dir.as_ref();
    let stored = StoredStudy::open(dir)?;
    let shown = shown_samples(&stored.manifest);
    let mut runs: Vec<Run> = Vec::new();
    for run in stored.runs() {
        let mut run = run?;
        // Samples are by far the longest tables, so only the samples that the report shows are read.
        let (queues, links, topology, failures) = match shown.contains(&runs.len()) {
            true => (
                run.queues()?,
                run.links()?,
                run.topology()?,
                run.failures()?,
            ),
            false => Default::default(),
        };
        let timers = &run.summary.timers.clone();
        let mut flows = Vec::new();
        run.each_flow(|flow| flows.push(Flow::of(&flow, timers)))?;
        flows.shrink_to_fit();
        let sessions = Sessions::of(&run.sessions()?, timers);
        let requests = run.requests()?;
        let rows = run.coflows()?;
        runs.push(Run {
            flows,
            requests: requests
                .iter()
                .map(|r| Flow::of_request(r, timers))
                .collect(),
            sessions: sessions.all,
            writes: sessions.writes,
            reads: sessions.reads,
            measured: WHOLE,
            queries: coflows(&rows, CoflowKind::Query, timers),
            coflows: coflows(&rows, CoflowKind::Coflow, timers),
            ports: run.ports()?,
            topology,
            failures,
            queues,
            links,
            classes: run.classes,
            summary: run.summary,
        });
    }
    let mut study = Study::new(stored.manifest, runs);
    study.comparisons = comparison::read(dir)?;
    study.sensitivity = variant::read(dir)?;
    Ok(study)
}

/// Returns the indices, among the finished runs, of the runs whose samples the report shows.
/// For each design, topology and workload: the run with the first seed in the setting that [`middle`] selects.
fn shown_samples(manifest: &Manifest) -> Vec<usize> {
    let runs = manifest.runs.iter();
    let finished = runs.filter(|run| run.state == RunState::Finished);
    let keys: Vec<&RunKey> = finished.map(|run| &run.key).collect();
    let settings: Vec<Setting> = keys.iter().map(|key| Setting::from(*key)).collect();
    let mut places: Vec<Vec<&Setting>> = Vec::new();
    for setting in &settings {
        match places.iter_mut().find(|place| place[0].is_beside(setting)) {
            Some(place) => place.push(setting),
            None => places.push(vec![setting]),
        }
    }
    let middles = places
        .iter()
        .filter_map(|place| Some(place[middle(place)?]));
    let middles: Vec<&Setting> = middles.collect();
    let shown = |index: &usize| {
        let (key, setting) = (keys[*index], &settings[*index]);
        let same = keys.iter().zip(&settings);
        let same = same.filter(|(other, at)| other.design == key.design && *at == setting);
        middles.contains(&setting) && same.map(|(other, _)| other.seed).min() == Some(key.seed)
    };
    (0..keys.len()).filter(shown).collect()
}

impl Study {
    /// Creates a study from finished runs. The runs are in the order of the manifest.
    pub fn new(manifest: Manifest, mut runs: Vec<Run>) -> Self {
        let measured = warm_up::restrict(&manifest.config, &mut runs);
        Self {
            manifest,
            joined: Vec::new(),
            runs,
            comparisons: Vec::new(),
            sensitivity: Vec::new(),
            measured,
            analysis: OnceLock::new(),
        }
    }

    /// Returns the measured part of a setting.
    pub(crate) fn measured(&self, setting: &Setting) -> Option<&MeasuredPart> {
        let found = self.measured.iter().find(|(known, _)| known == setting);
        found.map(|(_, part)| part)
    }

    /// Joins several studies in their order. Runs that an earlier study already contains are left out.
    /// Returns the joined study and the number of runs that were left out.
    pub fn join(studies: impl IntoIterator<Item = Self>) -> Option<(Self, usize)> {
        let mut studies = studies.into_iter();
        let mut first = studies.next()?;
        let mut repeated = 0;
        for study in studies {
            let before = first.runs.len();
            let found = study.runs.len();
            for run in study.runs {
                let is_known = |known: &Run| known.summary.key == run.summary.key;
                if !first.runs.iter().any(is_known) {
                    first.runs.push(run);
                }
            }
            repeated += before + found - first.runs.len();
            first
                .manifest
                .runs
                .extend(study.manifest.runs.iter().cloned());
            first.joined.push(study.manifest);
            first.comparisons.extend(study.comparisons);
            // Runs with other timers are comparable only with runs of the same study.
            first.sensitivity.clear();
        }
        // All designs of a setting have the same measured part.
        // If joined studies measure different parts, the measured part is a parameter.
        first.measured = warm_up::restrict(&first.manifest.config, &mut first.runs);
        first.analysis = OnceLock::new();
        Some((first, repeated))
    }

    /// Changes the keys of all runs, planned or finished.
    pub fn rename(&mut self, rename: impl Fn(&mut RunKey)) {
        let finished = self.runs.iter_mut().map(|run| &mut run.summary.key);
        let planned = self.manifest.runs.iter_mut().map(|run| &mut run.key);
        finished.chain(planned).for_each(rename);
        self.measured = warm_up::restrict(&self.manifest.config, &mut self.runs);
        self.analysis = OnceLock::new();
    }

    /// Returns the manifest of the study. For joined studies, returns the manifest of the first study.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the manifests of all joined studies.
    pub fn manifests(&self) -> impl Iterator<Item = &Manifest> {
        std::iter::once(&self.manifest).chain(&self.joined)
    }

    /// Returns the name of a run's directory below `runs/`, or `None` if no manifest contains the run.
    pub(crate) fn run_id(&self, key: &RunKey) -> Option<&str> {
        let mut planned = self.manifests().flat_map(|manifest| &manifest.runs);
        let found = planned.find(|run| run.key == *key);
        found.map(|run| run.id.as_str())
    }

    /// Returns the finished runs in the order of the manifest.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Returns all figures of the study. They are computed in the first call.
    pub(crate) fn analysis(&self) -> &Analysis {
        self.analysis.get_or_init(|| Analysis::of(self))
    }

    /// Returns the design with which all others are compared: the first design of the manifest that has a finished run.
    pub fn baseline(&self) -> Option<&str> {
        self.designs().first().copied()
    }

    /// Returns the designs in the order of the manifest.
    pub fn designs(&self) -> Vec<&str> {
        let mut designs: Vec<&str> = Vec::new();
        for run in &self.runs {
            let design = run.summary.key.design.as_str();
            if !designs.contains(&design) {
                designs.push(design);
            }
        }
        designs
    }

    /// Returns the settings with their runs, in the order of the manifest.
    /// Within each topology and workload, loads are ascending.
    pub fn cells(&self) -> Vec<Cell<'_>> {
        let mut cells: Vec<Cell<'_>> = Vec::new();
        for run in &self.runs {
            let key = &run.summary.key;
            let setting = Setting::from(key);
            let cell = match cells.iter().position(|cell| cell.setting == setting) {
                Some(index) => &mut cells[index],
                None => {
                    cells.push(Cell {
                        setting,
                        designs: Vec::new(),
                    });
                    cells.last_mut().expect("just pushed")
                }
            };
            match cell
                .designs
                .iter_mut()
                .find(|(name, _)| *name == key.design)
            {
                Some((_, runs)) => runs.push(run),
                None => cell.designs.push((&key.design, vec![run])),
            }
        }
        let order = self.designs();
        for cell in &mut cells {
            let rank = |name: &str| order.iter().position(|design| *design == name);
            cell.designs.sort_by_key(|(name, _)| rank(name));
            for (_, runs) in &mut cell.designs {
                runs.sort_by_key(|run| run.summary.key.seed);
            }
        }
        sort_loads(&mut cells);
        cells
    }

    /// Returns the number of planned runs that have not finished.
    pub fn missing_runs(&self) -> usize {
        let manifest = &self.manifest;
        manifest.runs.len() - manifest.count(RunState::Finished)
    }
}

/// Sorts cells by load within each topology and workload. The order of topologies and workloads does not change.
fn sort_loads(cells: &mut [Cell<'_>]) {
    let places: Vec<(String, String)> = cells.iter().fold(Vec::new(), |mut places, cell| {
        let place = (cell.setting.topology.clone(), cell.setting.workload.clone());
        if !places.contains(&place) {
            places.push(place);
        }
        places
    });
    cells.sort_by(|a, b| {
        let place = |cell: &Cell<'_>| {
            let setting = &cell.setting;
            places.iter().position(|(topology, workload)| {
                *topology == setting.topology && *workload == setting.workload
            })
        };
        let load = |cell: &Cell<'_>| cell.setting.load.unwrap_or(0.0);
        place(a).cmp(&place(b)).then(load(a).total_cmp(&load(b)))
    });
}
