//! Measured part of each setting: the runs without the warm-up of the network, or the part that the user chose.
//!
//! Flows that arrive at random times start in an empty network.
//! The first flows meet less traffic than later flows, and are faster. The automatic cut removes the first flows.
//! The cut is the first time at which the number of flows in the system reaches its mean over the arrivals.
//! All designs and seeds of a setting use the latest of all their cuts, so that pairs of runs measure the same flows.
//! If more than half of a run's flows start before this cut, the number of flows still grows: the run is not steady.

use crate::run::{Flow, Run, Setting, WHOLE};
use tailcut_record::{MeasureBound, ParameterValue};

/// Measured part of a setting.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct MeasuredPart {
    /// Start and end of the part, as the study gives them.
    pub bounds: Bounds,
    /// End of the warm-up, if the measured part starts there; otherwise `None`.
    pub warm_up: Option<WarmUp>,
}

/// Start and end of a measured part, in the form that a study gives them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Bounds {
    pub from: MeasureBound,
    pub until: MeasureBound,
}

/// End of the warm-up, computed over the designs and seeds of a setting.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct WarmUp {
    /// End of the warm-up in microseconds, the same in all runs.
    /// At most half of the flows of each run start before the end of the warm-up.
    pub end_us: f64,
    /// Whether the number of flows in the system reaches its mean before half of the flows have started.
    pub is_steady: bool,
}

/// Restricts the runs of each setting to their measured part, which the section `measure` of a study defines.
/// Returns the measured parts of the settings with flows that are not measured.
pub(crate) fn restrict(
    config: &serde_json::Value,
    runs: &mut [Run],
) -> Vec<(Setting, MeasuredPart)> {
    let mut settings: Vec<Setting> = Vec::new();
    for run in runs.iter() {
        let setting = Setting::from(&run.summary.key);
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    let mut parts = Vec::new();
    for setting in settings {
        let is_here = |run: &Run| Setting::from(&run.summary.key) == setting;
        let here: Vec<&mut Run> = runs.iter_mut().filter(|run| is_here(run)).collect();
        if let Some(part) = restrict_setting(here, Bounds::of(config, &setting)) {
            parts.push((setting, part));
        }
    }
    parts
}

impl Bounds {
    /// Returns the start and end that a study gives for a setting.
    /// If joined studies measure different parts, start and end are parameters of the setting.
    fn of(config: &serde_json::Value, setting: &Setting) -> Self {
        let bound = |key: &str| match setting.parameter(&format!("measure.{key}")) {
            Some(parameter) => match &parameter.value {
                ParameterValue::Text(text) => MeasureBound::read(text),
                ParameterValue::Integer(_) | ParameterValue::Real(_) => None,
            },
            None => MeasureBound::of(config, key),
        };
        Self {
            from: bound("from").unwrap_or(MeasureBound::Auto),
            until: bound("until").unwrap_or(MeasureBound::End),
        }
    }
}

fn restrict_setting(mut runs: Vec<&mut Run>, bounds: Bounds) -> Option<MeasuredPart> {
    // The numbers of a trace's flows may have another order than their start times.
    for run in &mut runs {
        run.sort_by_starts();
    }
    let is_open = runs.iter().all(|run| is_open(run));
    let warm_up = match bounds.from {
        MeasureBound::Auto if is_open => warm_up(runs.iter().map(|run| starters(run))),
        _ => None,
    };
    for run in &mut runs {
        let start = match warm_up {
            Some(warm_up) => warm_up.end_us,
            None => time_of(bounds.from, run),
        };
        run.measured = start..time_of(bounds.until, run);
    }
    let is_whole = runs.iter().all(|run| run.measured == WHOLE);
    (!is_whole).then_some(MeasuredPart { bounds, warm_up })
}

/// Returns whether all flows of a run arrive at random times that do not depend on the network.
fn is_open(run: &Run) -> bool {
    let offered = run.summary.offered.as_ref();
    offered.is_some_and(|offered| offered.exempt.is_empty() && !offered.tiers.is_empty())
}

/// Returns the flows whose number in the system shows the warm-up. For a run without flows, returns the requests.
pub(crate) fn starters(run: &Run) -> &[Flow] {
    match run.flows.is_empty() {
        true => &run.requests,
        false => &run.flows,
    }
}

/// Returns the time in a run, in microseconds, that a bound represents.
fn time_of(bound: MeasureBound, run: &Run) -> f64 {
    match bound {
        MeasureBound::Auto => 0.0,
        MeasureBound::End => f64::INFINITY,
        MeasureBound::At(span) => span.as_us_f64(),
        MeasureBound::Share(share) => {
            let flows = starters(run);
            let rank = (share * flows.len() as f64).round() as usize;
            flows.get(rank).map_or(f64::INFINITY, |flow| flow.start_us)
        }
    }
}

/// Returns the end of the warm-up over several runs. Returns `None` if a run has fewer than two flows.
fn warm_up<'a>(runs: impl Iterator<Item = &'a [Flow]>) -> Option<WarmUp> {
    let (mut end, mut half): (f64, f64) = (0.0, f64::INFINITY);
    for flows in runs {
        end = end.max(reaches_mean(flows)?);
        half = half.min(flows.get(flows.len().div_ceil(2))?.start_us);
    }
    Some(WarmUp {
        end_us: end.min(half),
        // If the number of flows only grows, the number reaches its mean in the middle of the arrivals.
        is_steady: end < half,
    })
}

/// Returns the first time, in microseconds, at which the number of unfinished flows reaches its mean over the arrivals.
/// Returns `None` without flows.
fn reaches_mean(flows: &[Flow]) -> Option<f64> {
    let (first, last) = (flows.first()?.start_us, flows.last()?.start_us);
    let end_of = |flow: &Flow| flow.start_us + flow.fct_us;
    let time_in_system = |flow: &Flow| end_of(flow).min(last) - flow.start_us;
    let span = (last - first).max(f64::MIN_POSITIVE);
    let mean = flows.iter().map(time_in_system).sum::<f64>() / span;
    let mut ends: Vec<f64> = flows.iter().map(end_of).collect();
    ends.sort_unstable_by(f64::total_cmp);
    let mut ended = 0;
    for (started, flow) in flows.iter().enumerate() {
        while ends[ended] <= flow.start_us {
            ended += 1;
        }
        if (started + 1 - ended) as f64 >= mean {
            return Some(flow.start_us);
        }
    }
    Some(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waited_timer::WaitedTimer;

    fn flow(start_us: f64, fct_us: f64) -> Flow {
        Flow {
            start_us,
            fct_us,
            bytes: 1_000,
            slowdown: 1.0,
            number: 0,
            class: 0,
            sent: 1_000,
            wasted: 0,
            waited: WaitedTimer::No,
        }
    }

    /// Returns flows that start every microsecond. `fct_us` returns the completion time of a flow from its start time.
    fn every_microsecond(count: u32, fct_us: impl Fn(f64) -> f64) -> Vec<Flow> {
        let starts = (0..count).map(f64::from);
        starts.map(|start| flow(start, fct_us(start))).collect()
    }

    /// Returns the end of the warm-up in microseconds, and whether the runs are steady.
    fn cut_of(runs: &[&[Flow]]) -> (f64, bool) {
        let warm_up = warm_up(runs.iter().copied()).expect("flows");
        (warm_up.end_us, warm_up.is_steady)
    }

    #[test]
    fn the_warm_up_ends_when_the_mean_number_of_flows_is_in_the_system() {
        // Each flow takes 10 us, so 10 flows are in the system after 10 us.
        let flows = every_microsecond(1_000, |_| 9.5);
        let (cut, is_steady) = cut_of(&[&flows]);
        assert!((8.0..=10.0).contains(&cut), "{cut}");
        assert!(is_steady);
    }

    #[test]
    fn all_runs_have_the_latest_cut() {
        let (fast, slow) = (
            every_microsecond(1_000, |_| 9.5),
            every_microsecond(1_000, |_| 99.5),
        );
        let (cut, is_steady) = cut_of(&[&fast, &slow]);
        assert!((90.0..=100.0).contains(&cut), "{cut}");
        assert!(is_steady);
    }

    #[test]
    fn a_number_of_flows_that_grows_without_end_is_not_steady_and_half_is_measured() {
        // Flows after the warm-up take longer, and the last flows never end.
        let flows = every_microsecond(1_000, |start| start * start);
        let (cut, is_steady) = cut_of(&[&flows]);
        assert!(!is_steady);
        assert_eq!(cut, 500.0);
        let never = every_microsecond(1_000, |_| f64::INFINITY);
        let (cut, _) = cut_of(&[&never]);
        assert!(cut <= 500.0, "{cut}");
    }

    #[test]
    fn an_end_of_the_warm_up_leaves_half_of_the_flows_of_every_run() {
        // In the first run, most flows start before its middle. The second run reaches its mean late.
        let early = (0..1_000).map(|number| match number < 900 {
            true => flow(f64::from(number) / 10.0, 5.0),
            false => flow(f64::from(number), 5.0),
        });
        let early: Vec<Flow> = early.collect();
        let late = every_microsecond(1_000, |start| start * start);
        let (cut, is_steady) = cut_of(&[&early, &late]);
        assert_eq!((cut, is_steady), (50.0, false));
    }

    #[test]
    fn arrivals_that_begin_late_have_the_same_warm_up_later() {
        let late: Vec<Flow> = every_microsecond(1_000, |_| 9.5)
            .into_iter()
            .map(|flow| Flow {
                start_us: flow.start_us + 10_000.0,
                ..flow
            })
            .collect();
        let (cut, is_steady) = cut_of(&[&late]);
        assert!((10_008.0..=10_010.0).contains(&cut), "{cut}");
        assert!(is_steady);
    }

    #[test]
    fn a_run_without_flows_has_no_warm_up() {
        let none: [&[Flow]; 1] = [&[]];
        assert_eq!(warm_up(none.into_iter()), None);
    }
}
