//! Distribution of the wait in an M/G/1 queue, computed as a lower and an upper bound.
//!
//! The wait is a geometric sum (Benes; Kleinrock volume 1, section 5.12): W = R_1 + ... + R_N.
//! The probability of N = n is (1 - rho) rho^n. The terms R_1 to R_N are independent residual service times.
//!
//! The computation rounds every R to a multiple of a step.
//! If every R is rounded down, the sum is a lower bound of the wait.
//! If every R is rounded up, the sum is an upper bound.
//! Panjer's recursion computes both sums exactly.
//! Source: "Recursive evaluation of a family of compound distributions", ASTIN Bulletin 12, 1981.
//! Each result of this module is an interval that contains the true value.
//! A smaller step makes the interval narrower.

use super::load::stable_load;
use super::{Service, mg1};

/// Interval that contains the exact result, apart from the rounding of floating-point numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    /// Lower bound.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
}

impl Bounds {
    /// Returns whether `value` is between the bounds.
    pub fn contains(&self, value: f64) -> bool {
        (self.lower..=self.upper).contains(&value)
    }

    /// Returns the middle of the interval.
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.lower, self.upper)
    }
}

/// Distribution of a wait, or of a sum of independent waits.
/// The distribution is known up to a largest wait, the horizon.
#[derive(Clone, Debug)]
pub struct WaitDistribution {
    step: f64,
    /// Exact mean, from the formula of Pollaczek and Khinchine.
    mean: f64,
    /// Probabilities of the wait rounded down. Entry k is the probability of k steps.
    down: Vec<f64>,
    /// Probabilities of the wait rounded up. Entry k is the probability of k steps.
    up: Vec<f64>,
}

impl WaitDistribution {
    /// Returns the distribution of the wait in an M/G/1 queue up to the horizon `step * cells`.
    /// The bounds are close if the step is much shorter than the mean service, and waits beyond the horizon are rare.
    /// The computing time is proportional to the square of `cells`.
    ///
    /// # Panics
    /// The queue is overloaded, or the step or the number of cells is zero.
    pub fn mg1(arrivals: f64, service: &Service, step: f64, cells: usize) -> Self {
        assert!(step > 0.0 && cells > 0, "a lattice has steps");
        let load = stable_load(arrivals, service.mean());
        let within: Vec<f64> = (0..cells)
            .map(|j| {
                let from = j as f64 * step;
                service.residual_cdf(from + step) - service.residual_cdf(from)
            })
            .collect();
        let rounded_up: Vec<f64> = std::iter::once(0.0)
            .chain(within.iter().copied())
            .take(cells)
            .collect();
        Self {
            step,
            mean: mg1::mean_wait(arrivals, service),
            down: geometric_sum(load, &within),
            up: geometric_sum(load, &rounded_up),
        }
    }

    /// Returns the distribution of the sum of `terms` independent waits, up to the same horizon.
    ///
    /// # Panics
    /// There are no terms.
    pub fn sum(&self, terms: u32) -> Self {
        assert!(terms > 0, "a sum has terms");
        let mut sum = self.clone();
        for _ in 1..terms {
            sum.down = convolve(&sum.down, &self.down);
            sum.up = convolve(&sum.up, &self.up);
        }
        sum.mean = self.mean * f64::from(terms);
        sum
    }

    /// Returns the exact mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Returns P(W > w).
    ///
    /// # Panics
    /// `w` is beyond the horizon.
    pub fn exceeds(&self, w: f64) -> Bounds {
        let cell = (w / self.step).floor() as usize;
        assert!(cell < self.down.len(), "beyond the horizon");
        let tail = |pmf: &[f64]| 1.0 - pmf[..=cell].iter().sum::<f64>();
        Bounds {
            lower: tail(&self.down).max(0.0),
            upper: tail(&self.up).min(1.0),
        }
    }

    /// Returns the `p`-quantile of the wait: the wait that a share `p` of all customers do not exceed.
    ///
    /// # Panics
    /// The quantile is beyond the horizon.
    pub fn quantile(&self, p: f64) -> Bounds {
        let cell = |pmf: &[f64]| {
            let mut cumulative = 0.0;
            pmf.iter()
                .position(|mass| {
                    cumulative += mass;
                    cumulative >= p
                })
                .expect("a quantile within the horizon") as f64
        };
        Bounds {
            lower: cell(&self.down) * self.step,
            upper: cell(&self.up) * self.step,
        }
    }

    /// Returns the mean of the smaller of two independent waits: the integral of P(W > w)^2.
    ///
    /// Up to the horizon T, the integral is a sum.
    /// The part beyond T is at most P(W > T) multiplied by the integral of P(W > w) beyond T.
    /// The integral of P(W > w) beyond T is the exact mean minus the integral up to T.
    pub fn mean_of_smaller_of_two(&self) -> Bounds {
        let down = self.areas(&self.down);
        let up = self.areas(&self.up);
        Bounds {
            lower: down.squared,
            upper: up.squared + up.beyond * (self.mean - down.plain).max(0.0),
        }
    }

    fn areas(&self, pmf: &[f64]) -> Areas {
        let mut areas = Areas {
            plain: 0.0,
            squared: 0.0,
            beyond: 1.0,
        };
        for mass in pmf {
            areas.beyond = f64::max(areas.beyond - mass, 0.0);
            areas.plain += areas.beyond * self.step;
            areas.squared += areas.beyond * areas.beyond * self.step;
        }
        areas
    }
}

/// Integrals of a lattice distribution's tail up to the horizon, and the probability beyond the horizon.
struct Areas {
    /// Integral of P(W > w).
    plain: f64,
    /// Integral of P(W > w)^2.
    squared: f64,
    /// P(W > horizon).
    beyond: f64,
}

/// Returns the distribution of a sum with a geometric number of terms, by Panjer's recursion.
/// `step` is the distribution of a term.
fn geometric_sum(load: f64, step: &[f64]) -> Vec<f64> {
    let scale = 1.0 / (1.0 - load * step[0]);
    let mut sum = Vec::with_capacity(step.len());
    sum.push((1.0 - load) * scale);
    for n in 1..step.len() {
        let mixed: f64 = step[1..=n]
            .iter()
            .zip(sum.iter().rev())
            .map(|(f, g)| f * g)
            .sum();
        sum.push(load * scale * mixed);
    }
    sum
}

/// Returns the distribution of the sum of two independent variables, up to the horizon.
fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    (0..a.len())
        .map(|n| {
            a[..=n]
                .iter()
                .zip(b[..=n].iter().rev())
                .map(|(x, y)| x * y)
                .sum()
        })
        .collect()
}
