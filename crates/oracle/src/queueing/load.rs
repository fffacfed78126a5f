//! Load of a queue.

/// Returns the load of a queue: `arrivals` customers per unit of time, multiplied by the mean service time.
///
/// # Panics
/// The load is negative, or 1 or more.
pub(super) fn stable_load(arrivals: f64, mean_service: f64) -> f64 {
    let load = arrivals * mean_service;
    assert!(
        (0.0..1.0).contains(&load),
        "a queue at load {load} has no steady state"
    );
    load
}
