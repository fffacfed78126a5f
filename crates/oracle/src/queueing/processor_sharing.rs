//! M/G/1 queue with processor sharing. It models large flows that share a link fairly.
//!
//! The mean sojourn time depends only on the mean of the service time, and not on its distribution.
//! Source: Kleinrock, volume 2, section 4.4.

use super::load::stable_load;

/// Returns the mean sojourn time of a customer of size `size`: size / (1 - rho).
/// The size is the service time of the customer without other customers.
pub fn mean_sojourn_of(size: f64, arrivals: f64, mean_service: f64) -> f64 {
    size / (1.0 - stable_load(arrivals, mean_service))
}

/// Returns the mean sojourn time over all customers: `E[S]` / (1 - rho).
pub fn mean_sojourn(arrivals: f64, mean_service: f64) -> f64 {
    mean_sojourn_of(mean_service, arrivals, mean_service)
}

/// Returns the probability that `n` customers are in the queue: (1 - rho) rho^n.
pub fn probability_of_number(n: u32, arrivals: f64, mean_service: f64) -> f64 {
    let load = stable_load(arrivals, mean_service);
    (1.0 - load) * load.powf(f64::from(n))
}
