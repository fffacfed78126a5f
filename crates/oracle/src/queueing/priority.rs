//! M/G/1 queue with classes of strict priority (Cobham 1954; Kleinrock, volume 2, section 3.6). Class 0 is the highest.

use super::Service;

/// Priority class: its arrivals per unit of time, and its service times.
pub type PriorityClass<'a> = (f64, &'a Service);

fn load(classes: &[PriorityClass]) -> f64 {
    let load = classes.iter().map(|(rate, service)| rate * service.mean());
    let load: f64 = load.sum();
    assert!(
        (0.0..1.0).contains(&load),
        "classes at load {load} have no steady state"
    );
    load
}

/// Returns R, the mean remaining service time of the customer in service when another customer arrives.
/// The remaining time is zero if the server is idle.
/// R is half the sum, over all classes, of the arrival rate times the second moment of the service time.
fn residual(classes: &[PriorityClass]) -> f64 {
    let each = classes
        .iter()
        .map(|(rate, service)| rate * service.moment(2));
    each.sum::<f64>() / 2.0
}

/// Returns the mean sojourn time of class `k` with preemption: `E[S_k]` / (1 - s) + R / ((1 - s) (1 - s')).
/// An interrupted service resumes where it stopped.
///
/// s is the load of the classes with higher priority than `k`, and s' is the load of `k` and the higher classes.
/// R is the residual work of `k` and the classes with higher priority.
///
/// # Panics
/// There is no class `k`, or class `k` and the classes with higher priority have no steady state.
pub fn preemptive_sojourn(classes: &[PriorityClass], k: usize) -> f64 {
    let above = 1.0 - load(&classes[..k]);
    let down_to = 1.0 - load(&classes[..=k]);
    classes[k].1.mean() / above + residual(&classes[..=k]) / (above * down_to)
}

/// Returns the mean wait of class `k` without preemption: R / ((1 - s) (1 - s')).
/// s and s' are as in [`preemptive_sojourn`]. R is the residual work of all classes.
///
/// # Panics
/// There is no class `k`, or the classes together have no steady state.
pub fn non_preemptive_wait(classes: &[PriorityClass], k: usize) -> f64 {
    // `load` panics if all classes together have no steady state.
    load(classes);
    let above = 1.0 - load(&classes[..k]);
    let down_to = 1.0 - load(&classes[..=k]);
    residual(classes) / (above * down_to)
}
