//! What a workload is read from: traces, tables of flow sizes and their names.

use std::str::from_utf8;
use tailcut_sim::workload::{Limits, SizeDistribution, Trace};

/// A trace.
///
/// # Panics
/// Where a flow is out of the limits, flows are not sorted by start, or the trace is another when
/// it is written and read again.
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

/// A table of flow sizes.
///
/// # Panics
/// Where the sizes that it gives are not sizes.
pub fn size_table(bytes: &[u8]) {
    let Ok(text) = from_utf8(bytes) else { return };
    sound_sizes(SizeDistribution::from_table(text));
}

/// The name of a distribution of flow sizes.
///
/// # Panics
/// Where the sizes that it gives are not sizes.
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

/// An error of one line.
fn one_line(error: &str) {
    assert!(!error.is_empty() && !error.contains('\n'), "{error}");
}
