//! Estimate of a study's CPU time before it runs. Each case has a demand (packets and transfers).
//! The CPU time that its design needs for this demand is measured on this machine with short runs.

mod calibration;
mod shortened;

use crate::plan::Draft;
use calibration::{Rate, calibrate};
use std::collections::HashMap;
use tailcut_record::RunKey;
use tailcut_scenario::sim::fabric::topology::Topology;
use tailcut_scenario::sim::{Demand, RunConfig, RunControl, demand};

/// Work for a flow in addition to its packets. The unit is the work for one packet over one link.
/// Measured values: 8 with NDP, and 44 with TCP.
const PER_TRANSFER: f64 = 40.0;

/// Number of transfers from which the demand of all cases together is estimated.
const DRAWS: usize = 5_000_000;
/// Smallest and largest number of transfers from which the demand of one case is estimated.
const DRAWS_OF_ONE: (usize, usize) = (200, 100_000);

impl Draft {
    /// Estimates the CPU time of each case on this machine.
    /// For each design, a short version of one case runs for about 0.3 s.
    /// Cases whose time cannot be estimated stay without an expected time. `control` may stop the estimate.
    pub fn estimate(&mut self, control: &dyn RunControl) {
        let draws = (DRAWS / self.study.runs.len().max(1)).clamp(DRAWS_OF_ONE.0, DRAWS_OF_ONE.1);
        let work = work_of(&self.study.runs, draws);
        let mut of_designs: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut designs: Vec<&str> = Vec::new();
        for (run, case) in self.plan.cases.iter().enumerate() {
            let design = case.key.design.as_str();
            let runs = of_designs.entry(design).or_default();
            if runs.is_empty() {
                designs.push(design);
            }
            runs.push(run);
        }
        let mut rates: Vec<(&[usize], Option<Rate>)> = Vec::with_capacity(designs.len());
        for design in designs {
            let runs = &of_designs[design];
            if control.stop() {
                return;
            }
            let configs = &self.study.runs;
            let run = in_the_middle(runs, configs, &work);
            let rate = run.and_then(|run| calibrate(&configs[run], control));
            rates.push((runs, rate));
        }
        // A design that could not be calibrated gets the mean rate of all other designs.
        let known: Vec<Rate> = rates.iter().filter_map(|(_, rate)| *rate).collect();
        let usual = Rate::mean(&known);
        let mut seconds = vec![None; work.len()];
        for (runs, rate) in rates {
            for &run in runs {
                let rate = rate.or(usual);
                seconds[run] = rate.zip(work[run]).map(|(rate, work)| rate.seconds(work));
            }
        }
        for (case, seconds) in self.plan.cases.iter_mut().zip(seconds) {
            case.cpu_seconds = seconds;
        }
    }
}

/// Returns the run that represents `runs`: the run with the median work among the runs with the median load.
fn in_the_middle(runs: &[usize], configs: &[RunConfig], work: &[Option<f64>]) -> Option<usize> {
    let known = runs.iter().filter_map(|&run| Some((work[run]?, run)));
    let mut known: Vec<(f64, usize)> = known.collect();
    let load = |run: usize| configs[run].workload.load.unwrap_or_default();
    let mut loads: Vec<f64> = known.iter().map(|(_, run)| load(*run)).collect();
    loads.sort_by(f64::total_cmp);
    let middle = *loads.get(loads.len() / 2)?;
    known.retain(|(_, run)| load(*run) == middle);
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    known.get(known.len() / 2).map(|(_, run)| *run)
}

/// Returns the work of each run, or `None` for work that cannot be estimated.
/// The unit is the work for one packet over one link.
fn work_of(runs: &[RunConfig], draws: usize) -> Vec<Option<f64>> {
    let keys: Vec<RunKey> = runs.iter().map(RunConfig::key).collect();
    let place = |run: usize| {
        let swept: Vec<String> = keys[run]
            .parameters
            .iter()
            .map(|one| one.to_string())
            .collect();
        format!("{} {}", keys[run].topology, swept.join(" "))
    };
    let mut order: Vec<(String, usize)> = (0..runs.len()).map(|run| (place(run), run)).collect();
    // Runs on the same topology follow each other. Each topology is therefore built once.
    // With runs in this order, memory contains only one topology at a time.
    order.sort();
    let mut all = vec![None; runs.len()];
    let mut network: Option<(String, Topology)> = None;
    let mut known: HashMap<String, Option<f64>> = HashMap::new();
    for (place, run) in order {
        let (config, key) = (&runs[run], &keys[run]);
        if network.as_ref().is_none_or(|(name, _)| *name != place) {
            known.clear();
            let built = config.topology.shape.build().ok();
            network = built.map(|built| (place, built));
        }
        let Some((_, topology)) = &network else {
            continue;
        };
        // All designs have the same flows at one load and seed.
        let payload = config.settings.framing.payload;
        let design = config.stack.design.name;
        let alike = format!("{:?} {} {payload} {design}", key.load, key.seed);
        let asked = || {
            demand(config, topology, draws)
                .ok()
                .map(|asked| work(&asked))
        };
        all[run] = *known.entry(alike).or_insert_with(asked);
    }
    all
}

/// Returns the work of a demand.
fn work(asked: &Demand) -> f64 {
    asked.packet_hops + asked.transfers * PER_TRANSFER
}
