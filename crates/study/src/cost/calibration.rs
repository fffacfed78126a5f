//! How much CPU time a design takes for its work on this machine, from short runs.

use super::shortened::shortened;
use super::work;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tailcut_scenario::sim::{RunConfig, RunControl, demand, run};

/// What calibrating a design may take, in seconds.
const BUDGET: f64 = 0.3;

/// The work of the first short run: some milliseconds.
const FIRST_WORK: f64 = 20_000.0;

/// A run that is longer takes more for the same work, as it has more flows under way than caches hold: by
/// this power of how many times as long it is. Measured over 6 designs and factors of 20 to 60: 0 to 0.09.
const GROWTH: f64 = 0.06;

/// How many times as long a run may be for it to take more and more.
const GROWS_UP_TO: f64 = 64.0;

/// Transfers that are drawn for a short run.
const DRAWS: usize = 100_000;

/// What a design takes for its work.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rate {
    /// Whatever the work, in seconds.
    fixed: f64,
    /// For each unit of work, in seconds.
    per_work: f64,
}

impl Rate {
    /// The CPU time of so much work, in seconds.
    pub fn seconds(&self, work: f64) -> f64 {
        self.fixed + self.per_work * work
    }

    /// The mean of some rates.
    pub fn mean(rates: &[Self]) -> Option<Self> {
        let count = rates.len() as f64;
        let mean = |of: fn(&Self) -> f64| rates.iter().map(of).sum::<f64>() / count;
        (!rates.is_empty()).then(|| Self {
            fixed: mean(|rate| rate.fixed),
            per_work: mean(|rate| rate.per_work),
        })
    }

    /// Through a small run and a large one, each with its work and its seconds. It is exact for the large
    /// one, which says most of a whole run.
    fn through(small: (f64, f64), large: (f64, f64)) -> Self {
        let steep = (large.1 - small.1) / (large.0 - small.0).max(1.0);
        let fixed = (small.1 - steep.max(0.0) * small.0).clamp(0.0, large.1 / 2.0);
        Self {
            fixed,
            per_work: (large.1 - fixed) / large.0.max(1.0),
        }
    }
}

/// What a run takes for its work, from shorter ones; `None` where it cannot be run.
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
    // The first one finds nothing in the caches.
    seconds_of(&short, BUDGET, control)?;
    let least = (small, seconds_of(&short, BUDGET, control)?);
    let mut most = least;
    let mut spent = 2.0 * least.1;
    // What a short run takes says how long one the rest of the time is enough for.
    while share < 1.0 && spent < BUDGET / 2.0 {
        let room = (BUDGET - spent) * 0.8 * most.0 / most.1.max(1e-6);
        // Not at once to the limit: a few transfers may be unlike the others.
        let next = (room / whole).min(share * 16.0).min(1.0);
        if next < share * 2.0 {
            break;
        }
        let (short, larger) = work_at(next)?;
        let seconds = seconds_of(&short, BUDGET, control)?;
        (share, spent, most) = (next, spent + seconds, (larger, seconds));
    }
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

/// The CPU time of a run; where it takes far longer than `budget`, by how far it came.
fn seconds_of(config: &RunConfig, budget: f64, control: &dyn RunControl) -> Option<f64> {
    let limit = Limited {
        control,
        end: Instant::now() + Duration::from_secs_f64(2.0 * budget),
        begun: Instant::now(),
        furthest: Mutex::new(None),
    };
    // A panic is the case's, once that is run.
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

/// Stops a run after some time.
struct Limited<'a> {
    control: &'a dyn RunControl,
    begun: Instant,
    end: Instant,
    /// The share that was over, and after how many seconds.
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
