//! Shorter version of a run.

use std::sync::Arc;
use tailcut_scenario::sim::workload::SizeDistribution;
use tailcut_scenario::sim::{FlowsSpec, Limits, RunConfig};
use tailcut_scenario::units::{Duration, Time};

/// Returns the same run with about `share` of its transfers. `share` is above 0 and at most 1.
/// A burst keeps its number of flows: each flow has `share` of its bytes.
/// The run of a burst has `share` of its drain time.
pub fn shortened(config: &RunConfig, share: f64) -> RunConfig {
    let mut short = config.clone();
    if share >= 1.0 {
        return short;
    }
    for part in &mut short.workload.parts {
        match &mut part.flows {
            FlowsSpec::Trace(trace) => {
                let flows = (trace.flows().len() as f64 * share).ceil() as usize;
                *trace = Arc::new((**trace).clone().until(Time::MAX, flows.max(1)));
            }
            FlowsSpec::Coflows(trace) => {
                let coflows = (trace.len() as f64 * share).ceil() as usize;
                *trace = Arc::new((**trace).clone().until(Time::MAX, coflows.max(1)));
            }
            FlowsSpec::Burst(spec) => {
                let bytes = (spec.sizes.mean() * share).ceil().max(1.0) as u64;
                spec.sizes = Arc::new(SizeDistribution::fixed(bytes));
                short.drain = part_of(config.drain, share);
            }
            others => {
                if let Some(limits) = others.limits() {
                    let fewer = |most: u64| (most as f64 * share).ceil().max(1.0) as u64;
                    others.set_limits(Limits {
                        until: limits.from + part_of(limits.span(), share),
                        at_most: limits.at_most.map(fewer),
                        ..limits
                    });
                }
            }
        }
    }
    short
}

fn part_of(span: Duration, share: f64) -> Duration {
    Duration::from_secs_f64(span.as_secs_f64() * share)
}
