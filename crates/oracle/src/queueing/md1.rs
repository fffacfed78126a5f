//! M/D/1 queue, first come first served. Every service takes the same time `service`.

use super::load::stable_load;

/// Returns the mean wait, `E[W]` = rho D / (2 (1 - rho)).
pub fn mean_wait(arrivals: f64, service: f64) -> f64 {
    let load = stable_load(arrivals, service);
    load * service / (2.0 * (1.0 - load))
}

/// Returns the variance of the wait, rho D^2 (4 - rho) / (12 (1 - rho)^2).
/// The formula follows from Takacs' recursion (see [`super::mg1::variance_of_wait`]) with `E[S^k]` = D^k.
pub fn variance_of_wait(arrivals: f64, service: f64) -> f64 {
    let load = stable_load(arrivals, service);
    load * service * service * (4.0 - load) / (12.0 * (1.0 - load) * (1.0 - load))
}

/// Returns P(W > w) for `w` up to 20 service times, by Erlang's formula (1909):
///
/// P(W <= w) = (1 - rho) sum over k = 0 ..= floor(w / D) of (-x)^k exp(x) / k!, x = lambda (w - k D).
///
/// The terms have alternating signs, so the result becomes less precise as w grows.
/// Up to 20 service times, the error is below 1e-6. For longer waits, use [`super::WaitDistribution`].
///
/// # Panics
/// `w` is above 20 service times.
pub fn wait_exceeds(arrivals: f64, service: f64, w: f64) -> f64 {
    let load = stable_load(arrivals, service);
    assert!(
        w <= 20.0 * service,
        "Erlang's formula is not precise above 20 service times"
    );
    if w < 0.0 {
        return 1.0;
    }
    let terms = (w / service).floor() as u32;
    let sum: f64 = (0..=terms)
        .map(|k| {
            let x = arrivals * (w - f64::from(k) * service);
            (1..=k).fold(x.exp(), |term, i| term * -x / f64::from(i))
        })
        .sum();
    1.0 - (1.0 - load) * sum
}
