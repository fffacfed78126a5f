//! Targets for inputs of a workload: traces, tables of flow sizes, and names of distributions.

use std::str::from_utf8;
use tailcut_sim::workload::{
    Class, CoflowSource, CoflowTrace, Limits, SizeDistribution, Source, Trace,
};

/// Reads a trace.
///
/// # Panics
/// If a flow is outside the limits, or if flows are not sorted by start.
/// If the trace changes when it is written and read again.
pub fn trace(bytes: &[u8]) {
    let limits = Limits {
        hosts: 16,
        paths: 4,
    };
    let trace = match Trace::parse(bytes, limits) {
        Ok(trace) => trace,
        Err(error) => return one_line(&error.to_string()),
    };
    assert!(trace.flows().is_sorted_by_key(|flow| flow.start));
    for flow in trace.flows() {
        assert!(flow.src.0 < limits.hosts && flow.dst.0 < limits.hosts && flow.src != flow.dst);
        assert!(flow.path.is_none_or(|path| path < limits.paths));
        assert!(flow.bytes > 0);
    }
    let mut text = String::new();
    trace.write(&mut text).expect("a string takes everything");
    let again = Trace::parse(text.as_bytes(), limits).expect("what we write we read");
    assert_eq!(again.flows().len(), trace.flows().len());
    for (again, flow) in again.flows().iter().zip(trace.flows()) {
        assert_eq!(
            (again.start, again.src, again.dst, again.bytes, again.path),
            (flow.start, flow.src, flow.dst, flow.bytes, flow.path)
        );
    }
}

/// Reads a file of coflows.
///
/// # Panics
/// If a flow is outside the network.
pub fn coflows(bytes: &[u8]) {
    let Ok(text) = from_utf8(bytes) else { return };
    let trace = match CoflowTrace::parse(text, 16, 1.0) {
        Ok(trace) => trace,
        Err(error) => return one_line(&error.to_string()),
    };
    let mut source = CoflowSource::new(trace, Class::Foreground);
    for flow in std::iter::from_fn(|| source.next()).take(10_000) {
        assert!(flow.src.0 < 16 && flow.dst.0 < 16 && flow.src != flow.dst && flow.bytes > 0);
    }
}

/// Reads a table of flow sizes.
///
/// # Panics
/// If the table returns impossible sizes.
pub fn size_table(bytes: &[u8]) {
    let Ok(text) = from_utf8(bytes) else { return };
    sound_sizes(SizeDistribution::from_table(text, None));
}

/// Reads the name of a distribution of flow sizes.
///
/// # Panics
/// If the distribution returns impossible sizes.
pub fn size_name(bytes: &[u8]) {
    let Ok(name) = from_utf8(bytes) else { return };
    sound_sizes(SizeDistribution::named(name));
}

fn sound_sizes(sizes: Result<SizeDistribution, tailcut_sim::workload::Error>) {
    let sizes = match sizes {
        Ok(sizes) => sizes,
        Err(error) => return one_line(&error.to_string()),
    };
    let mean = sizes.mean();
    assert!(mean.is_finite() && mean >= 1.0, "a mean of {mean}");
    let (smallest, largest) = (sizes.quantile(0.0), sizes.quantile(1.0));
    assert!(1 <= smallest && smallest <= largest);
}

/// Checks that an error has one line.
fn one_line(error: &str) {
    assert!(!error.is_empty() && !error.contains('\n'), "{error}");
}
