//! A study in memory: its runs, arranged by setting, design and seed.

use crate::analysis::Analysis;
use crate::axes::middle;
use crate::comparison::{self, Comparison};
use crate::run::{Cell, Flow, Run, Sessions, Setting};
use crate::variant::{self, Variant};
use std::path::Path;
use std::sync::OnceLock;
use tailcut_record::{Error, Manifest, RunKey, RunState, StoredStudy};

/// A study: every finished run of one directory, or of one command.
#[derive(Debug)]
pub struct Study {
    manifest: Manifest,
    /// The manifests of the other studies that it is joined of.
    joined: Vec<Manifest>,
    runs: Vec<Run>,
    /// Published figures beside ours; the report shows them where there are any.
    pub comparisons: Vec<Comparison>,
    /// The order of the designs under other timers and buffers, where that was asked.
    pub sensitivity: Vec<Variant>,
    analysis: OnceLock<Analysis>,
}

/// Reads the study in `dir`, with the comparisons that were written beside it.
///
/// # Errors
/// As [`StoredStudy::open`] and the readers of a run's tables; the first damaged file ends it.
pub fn load(dir: impl AsRef<Path>) -> Result<Study, Error> {
    let dir = dir.as_ref();
    let stored = StoredStudy::open(dir)?;
    let shown = shown_samples(&stored.manifest);
    let mut runs: Vec<Run> = Vec::new();
    for run in stored.runs() {
        let mut run = run?;
        // Samples are by far the longest tables; only those that the report shows are read.
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
        runs.push(Run {
            flows,
            requests: requests
                .iter()
                .map(|r| Flow::of_request(r, timers))
                .collect(),
            sessions: sessions.all,
            writes: sessions.writes,
            reads: sessions.reads,
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

/// The finished runs whose samples the report shows, by their place among the finished ones: of
/// every design, topology and workload the first seed in the [`middle`].
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
    /// A study of finished `runs`, in the manifest's order.
    pub fn new(manifest: Manifest, runs: Vec<Run>) -> Self {
        Self {
            manifest,
            joined: Vec::new(),
            runs,
            comparisons: Vec::new(),
            sensitivity: Vec::new(),
            analysis: OnceLock::new(),
        }
    }

    /// Several studies as one, in their order. A run that an earlier one has is left out: the second value
    /// is how many.
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
            // What other timers do was asked of one study alone.
            first.sensitivity.clear();
        }
        first.analysis = OnceLock::new();
        Some((first, repeated))
    }

    /// Renames every run, planned or finished.
    pub fn rename(&mut self, rename: impl Fn(&mut RunKey)) {
        let finished = self.runs.iter_mut().map(|run| &mut run.summary.key);
        let planned = self.manifest.runs.iter_mut().map(|run| &mut run.key);
        finished.chain(planned).for_each(rename);
        self.analysis = OnceLock::new();
    }

    /// Provenance: of the first one where studies are joined.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The provenance of every study that it is joined of.
    pub fn manifests(&self) -> impl Iterator<Item = &Manifest> {
        std::iter::once(&self.manifest).chain(&self.joined)
    }

    /// The finished runs in the manifest's order.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The figures, computed when first asked for.
    pub(crate) fn analysis(&self) -> &Analysis {
        self.analysis.get_or_init(|| Analysis::of(self))
    }

    /// The design that the others are compared with: the first of the manifest that finished a run.
    pub fn baseline(&self) -> Option<&str> {
        self.designs().first().copied()
    }

    /// The designs in the manifest's order.
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

    /// The settings in the manifest's order, loads ascending within each topology and workload.
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

    /// How many planned runs have not finished.
    pub fn missing_runs(&self) -> usize {
        let manifest = &self.manifest;
        manifest.runs.len() - manifest.count(RunState::Finished)
    }
}

/// Sorts cells by load, keeping each topology and workload where it first came.
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
