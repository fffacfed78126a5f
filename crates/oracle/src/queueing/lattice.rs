//! The distribution of the M/G/1 wait, between two bounds.
//!
//! The wait is a geometric sum (Benes; Kleinrock volume 1, section 5.12): W = R_1 + ... + R_N with
//! P(N = n) = (1 - rho) rho^n and independent residual services R. Rounding every R down to a
//! multiple of a step gives a wait that is never larger, rounding up one that is never smaller, and
//! on a lattice Panjer's recursion ("Recursive evaluation of a family of compound distributions",
//! ASTIN Bulletin 12, 1981) gives both exactly. So every figure comes as an interval that holds the
//! true one and shrinks with the step; nothing is approximated without saying by how much.

use super::load::stable_load;
use super::{Service, mg1};

/// An interval that holds the exact figure, save for the rounding of floating-point numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    /// The figure is at least this.
    pub lower: f64,
    /// The figure is at most this.
    pub upper: f64,
}

impl Bounds {
    /// Whether `value` lies between the bounds.
    pub fn contains(&self, value: f64) -> bool {
        (self.lower..=self.upper).contains(&value)
    }

    /// The point halfway.
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.lower, self.upper)
    }
}

/// The distribution of a wait, or of a sum of independent waits, up to a horizon.
#[derive(Clone, Debug)]
pub struct Waits {
    step: f64,
    /// The exact mean, by Pollaczek and Khinchine.
    mean: f64,
    /// The probability of each multiple of the step for the wait rounded down, and for the one
    /// rounded up; what lies beyond the horizon is missing.
    down: Vec<f64>,
    up: Vec<f64>,
}

impl Waits {
    /// The wait of an M/G/1 queue up to the horizon `step * cells`, in time proportional to the
    /// square of `cells`. A step well under the mean service and a horizon that the wait seldom
    /// exceeds make the bounds tight.
    ///
    /// # Panics
    /// When the queue is overloaded, or the step or the number of cells is zero.
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

    /// The sum of `terms` independent waits of this distribution, within the same horizon.
    ///
    /// # Panics
    /// When there are no terms.
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

    /// The exact mean.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// P(W > w).
    ///
    /// # Panics
    /// When `w` is beyond the horizon.
    pub fn exceeds(&self, w: f64) -> Bounds {
        let cell = (w / self.step).floor() as usize;
        assert!(cell < self.down.len(), "beyond the horizon");
        let tail = |pmf: &[f64]| 1.0 - pmf[..=cell].iter().sum::<f64>();
        Bounds {
            lower: tail(&self.down).max(0.0),
            upper: tail(&self.up).min(1.0),
        }
    }

    /// The wait that the share `p` of all stays within.
    ///
    /// # Panics
    /// When it lies beyond the horizon.
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

    /// The mean of the smaller of two independent waits: the integral of P(W > w)^2.
    ///
    /// Up to the horizon T it is summed; beyond, it is at most P(W > T) times what the exact mean
    /// leaves for there.
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

/// Areas under the tail of a lattice distribution, up to the horizon.
struct Areas {
    /// The integral of P(W > w).
    plain: f64,
    /// The integral of P(W > w)^2.
    squared: f64,
    /// P(W > horizon).
    beyond: f64,
}

/// The distribution of a sum of a geometric number of steps (Panjer's recursion).
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

/// The distribution of the sum of two independent variables, up to the horizon.
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
