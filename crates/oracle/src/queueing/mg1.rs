//! M/G/1 queue, first come first served.

use super::Service;
use super::load::stable_load;

/// Returns the mean wait by Pollaczek and Khinchine: lambda `E[S^2]` / (2 (1 - rho)).
pub fn mean_wait(arrivals: f64, service: &Service) -> f64 {
    let load = stable_load(arrivals, service.mean());
    arrivals * service.moment(2) / (2.0 * (1.0 - load))
}

/// Returns the variance of the wait by Takacs' recursion: `E[W]^2` + lambda `E[S^3]` / (3 (1 - rho)).
pub fn variance_of_wait(arrivals: f64, service: &Service) -> f64 {
    let load = stable_load(arrivals, service.mean());
    mean_wait(arrivals, service).powi(2) + arrivals * service.moment(3) / (3.0 * (1.0 - load))
}

/// Returns the mean number of customers, including the customer in service: lambda (`E[W]` + `E[S]`), by Little's law.
pub fn mean_number(arrivals: f64, service: &Service) -> f64 {
    arrivals * (mean_wait(arrivals, service) + service.mean())
}
