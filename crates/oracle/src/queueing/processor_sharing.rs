//! M/G/1 with processor sharing: what fair sharing of a link by large flows comes to.
//!
//! Means do not depend on the distribution of the service beyond its mean (Kleinrock, volume 2,
//! section 4.4).

use super::load::stable_load;

/// The mean sojourn of a customer of size `size` (its service alone): size / (1 - rho).
pub fn mean_sojourn_of(size: f64, arrivals: f64, mean_service: f64) -> f64 {
    size / (1.0 - stable_load(arrivals, mean_service))
}

/// The mean sojourn over all customers: `E[S]` / (1 - rho).
pub fn mean_sojourn(arrivals: f64, mean_service: f64) -> f64 {
    mean_sojourn_of(mean_service, arrivals, mean_service)
}

/// The probability of `n` customers: (1 - rho) rho^n.
pub fn probability_of_number(n: u32, arrivals: f64, mean_service: f64) -> f64 {
    let load = stable_load(arrivals, mean_service);
    (1.0 - load) * load.powf(f64::from(n))
}
