//! M/M/1 queue, first come first served. Service times are exponential with the rate `service_rate`.

use super::load::stable_load;

/// Returns P(W > w) = rho exp(-(mu - lambda) w).
pub fn wait_exceeds(arrivals: f64, service_rate: f64, w: f64) -> f64 {
    let load = stable_load(arrivals, 1.0 / service_rate);
    load * (-(service_rate - arrivals) * w).exp()
}

/// Returns the mean wait, `E[W]` = rho / (mu - lambda).
pub fn mean_wait(arrivals: f64, service_rate: f64) -> f64 {
    stable_load(arrivals, 1.0 / service_rate) / (service_rate - arrivals)
}

/// Returns the mean sojourn time, 1 / (mu - lambda). The sojourn time is exponential.
pub fn mean_sojourn(arrivals: f64, service_rate: f64) -> f64 {
    stable_load(arrivals, 1.0 / service_rate);
    1.0 / (service_rate - arrivals)
}

/// Returns the `p`-quantile of the sojourn time, -ln(1 - p) / (mu - lambda).
/// The sojourn time of a share `p` of all customers is shorter.
pub fn sojourn_quantile(arrivals: f64, service_rate: f64, p: f64) -> f64 {
    -(-p).ln_1p() * mean_sojourn(arrivals, service_rate)
}

/// Returns the mean of the smaller of two independent waits, rho^2 / (2 (mu - lambda)).
/// The mean is the integral of P(W > w)^2.
pub fn mean_smaller_of_two_waits(arrivals: f64, service_rate: f64) -> f64 {
    let load = stable_load(arrivals, 1.0 / service_rate);
    load * load / (2.0 * (service_rate - arrivals))
}
