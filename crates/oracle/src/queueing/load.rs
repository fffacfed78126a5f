//! The load of a queue.

/// The load of a queue: `arrivals` per unit of time, of `mean_service` each.
///
/// # Panics
/// Unless the load is within 0 to below 1.
pub(super) fn stable_load(arrivals: f64, mean_service: f64) -> f64 {
    let load = arrivals * mean_service;
    assert!(
        (0.0..1.0).contains(&load),
        "a queue at load {load} has no steady state"
    );
    load
}
