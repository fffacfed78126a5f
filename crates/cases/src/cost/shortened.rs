//! A run that is like another one and shorter.

use std::sync::Arc;
use tailcut_scenario::sim::workload::SizeDistribution;
use tailcut_scenario::sim::{FlowsSpec, RunConfig};
use tailcut_scenario::units::{Duration, Time};

/// The same run with about this share of its transfers, above 0 to 1. A burst keeps its flows: they have
/// the share of their bytes, and the share of the time to send them.
pub fn shortened(config: &RunConfig, share: f64) -> RunConfig {
    let mut short = config.clone();
    if share >= 1.0 {
        return short;
    }
    let fewer = |most: Option<u64>| most.map(|most| (most as f64 * share).ceil().max(1.0) as u64);
    let until = |from: Duration, until: Duration| {
        let span = until.saturating_sub(from).as_secs_f64() * share;
        from + Duration::from_secs_f64(span)
    };
    for part in &mut short.workload.parts {
        match &mut part.flows {
            FlowsSpec::Trace(trace) => {
                let flows = (trace.flows().len() as f64 * share).ceil() as usize;
                *trace = Arc::new((**trace).clone().until(Time::MAX, flows.max(1)));
            }
            FlowsSpec::Open(spec) => {
                spec.until = until(spec.from, spec.until);
                spec.max_flows = fewer(spec.max_flows);
            }
            FlowsSpec::Closed(spec) => {
                spec.until = until(spec.from, spec.until);
                spec.max_flows = fewer(spec.max_flows);
            }
            FlowsSpec::Burst(spec) => {
                let bytes = (spec.sizes.mean() * share).ceil().max(1.0) as u64;
                spec.sizes = Arc::new(SizeDistribution::fixed(bytes));
                short.drain = until(Duration::ZERO, config.drain);
            }
            FlowsSpec::Requests(spec) => {
                spec.until = until(spec.from, spec.until);
                spec.max_requests = fewer(spec.max_requests);
            }
            FlowsSpec::Storage(spec) => {
                spec.until = until(spec.from, spec.until);
                spec.max_sessions = fewer(spec.max_sessions);
            }
            FlowsSpec::Application(spec) => {
                spec.until = until(spec.from, spec.until);
                spec.at_most = fewer(spec.at_most);
            }
        }
    }
    short
}
