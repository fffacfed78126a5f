//! Calibration: the CPU time that a design needs for its work on this machine, measured with short runs.

use super::shortened::shortened;
use super::work;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tailcut_scenario::sim::{RunConfig, RunControl, demand, run};

/// CPU time for the calibration of a design, in seconds.
const BUDGET: f64 = 0.3;

/// Work of the first short run, which takes some milliseconds.
const FIRST_WORK: f64 = 20_000.0;

/// Exponent with which the time per unit of work grows with the length of a run.
/// Longer runs need more time per unit, because the caches of the CPU cannot hold all their flows.
/// The measured values are 0 to 0.09, for 6 designs and for runs that are 20 to 60 times as long.
const GROWTH: f64 = 0.06;

/// Length of a run, relative to the calibration run, up to which the time per unit of work grows.
const GROWS_UP_TO: f64 = 64.0;

/// Number of transfers from which the work of a short run is estimated.
const DRAWS: usize = 100_000;

/// Linear function. It converts the work of a run to the CPU time that a design needs for the work.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rate {
    /// Fixed time of a run, in seconds.
    fixed: f64,
    /// Time for each unit of work, in seconds.
    per_work: f64,
}

impl Rate {
    /// Returns the CPU time for `work`, in seconds.
    pub fn seconds(&self, work: f64) -> f64 {
        self.fixed + self.per_work * work
    }

    /// Returns the mean of some rates, or `None` if the list is empty.
    pub fn mean(rates: &[Self]) -> Option<Self> {
        let count = rates.len() as f64;
        let mean = |of: fn(&Self) -> f64| rates.iter().map(of).sum::<f64>() / count;
        (!rates.is_empty()).then(|| Self {
            fixed: mean(|rate| rate.fixed),
            per_work: mean(|rate| rate.per_work),
        })
    }

    /// Returns the rate that fits a small and a large run. Each run is given by its work and its seconds.
    /// The rate is exact for the large run, because whole runs are more similar to the large run.
    fn through(small: (f64, f64), large: (f64, f64)) -> Self {
        let steep = (large.1 - small.1) / (large.0 - small.0).max(1.0);
        // Errors of the measurement must not cause a negative slope or a negative fixed time.
        // The fixed time is at most half of the large run's time, because the work also needs some of the time.
        let fixed = (small.1 - steep.max(0.0) * small.0).clamp(0.0, large.1 / 2.0);
        Self {
            fixed,
            per_work: (large.1 - fixed) / large.0.max(1.0),
        }
    }
}

/// Measures the CPU time of a run with shorter runs. Returns `None` if the shorter runs fail.
pub fn calibrate(config: &RunConfig, control: &dyn RunControl) -> Option<Rate> {
    let topology = config.topology.shape.build().ok()?;
    let work_at = |share| {
        let short = shortened(config, share);
        let asked = demand(&short, &topology, DRAWS).ok()?;
        Some((short, work(&asked)))
    };
    let (_, whole) = work_at(1.0)?;
    if whole <= 0.0 {
        return None;
    }
    let mut share = (FIRST_WORK / whole).min(1.0);
    let (short, small) = work_at(share)?;
    // The first run is slower, because the caches are empty. Its time is not used.
    seconds_of(&short, BUDGET, control)?;
    let least = (small, seconds_of(&short, BUDGET, control)?);
    let mut most = least;
    let mut spent = 2.0 * least.1;
    // A short run shows how much work fits into the remaining budget.
    while share < 1.0 && spent < BUDGET / 2.0 {
        let room = (BUDGET - spent) * 0.8 * most.0 / most.1.max(1e-6);
        // 0.8 leaves a margin, because a longer run needs more time per unit of work (see GROWTH).
        // The length grows in several steps, because the few transfers of a short run may not be typical.
        let next = (room / whole).min(share * 16.0).min(1.0);
        // If the budget allows only a run that is less than twice as long, this run would add little information.
        if next < share * 2.0 {
            break;
        }
        let (short, larger) = work_at(next)?;
        let seconds = seconds_of(&short, BUDGET, control)?;
        (share, spent, most) = (next, spent + seconds, (larger, seconds));
    }
    // If both runs have similar work, the line through them shows mainly errors of the measurement.
    let rate = match most.0 > 3.0 * least.0 {
        true => Rate::through(least, most),
        false => Rate {
            fixed: 0.0,
            per_work: most.1 / most.0.max(1.0),
        },
    };
    let longer = (whole / most.0.max(1.0)).clamp(1.0, GROWS_UP_TO);
    Some(Rate {
        per_work: rate.per_work * longer.powf(GROWTH),
        ..rate
    })
}

/// Returns the CPU time of a run.
/// A run that takes far longer than `budget` is stopped, and the time is computed from the run's progress.
fn seconds_of(config: &RunConfig, budget: f64, control: &dyn RunControl) -> Option<f64> {
    let limit = Limited {
        control,
        end: Instant::now() + Duration::from_secs_f64(2.0 * budget),
        begun: Instant::now(),
        furthest: Mutex::new(None),
    };
    // Ignore the panic here. It will be reported when the case itself runs.
    let ran = catch_unwind(AssertUnwindSafe(|| run(config, &limit))).ok()?;
    match ran {
        Ok(record) => record.cost.cpu_seconds.or(record.cost.wall_seconds),
        Err(_) if control.stop() => None,
        Err(_) => {
            let furthest = limit.furthest.into_inner();
            let (share, seconds) = furthest.unwrap_or_else(PoisonError::into_inner)?;
            (share > 0.0).then(|| seconds / share)
        }
    }
}

/// Run control that stops a run after some time.
struct Limited<'a> {
    control: &'a dyn RunControl,
    begun: Instant,
    end: Instant,
    /// Last reported progress: the share of the run, and the seconds until this report.
    furthest: Mutex<Option<(f64, f64)>>,
}

impl RunControl for Limited<'_> {
    fn progress(&self, share: f64) {
        let seconds = self.begun.elapsed().as_secs_f64();
        let mut furthest = self.furthest.lock().unwrap_or_else(PoisonError::into_inner);
        *furthest = Some((share, seconds));
    }

    fn stop(&self) -> bool {
        self.control.stop() || Instant::now() >= self.end
    }
}
