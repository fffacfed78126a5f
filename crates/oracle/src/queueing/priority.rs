//! M/G/1 with classes of strict priority, 0 the highest (Cobham 1954; Kleinrock, volume 2, section 3.6).

use super::Service;

/// Arrivals per unit of time and service of one class.
pub type ClassOf<'a> = (f64, &'a Service);

fn load(classes: &[ClassOf]) -> f64 {
    let load = classes.iter().map(|(rate, service)| rate * service.mean());
    let load: f64 = load.sum();
    assert!(
        (0.0..1.0).contains(&load),
        "classes at load {load} have no steady state"
    );
    load
}

/// Half the rate of second moments: the mean residual work that an arrival finds in service.
fn residual(classes: &[ClassOf]) -> f64 {
    let each = classes
        .iter()
        .map(|(rate, service)| rate * service.moment(2));
    each.sum::<f64>() / 2.0
}

/// The mean sojourn of class `k` where it interrupts those below it and what is interrupted resumes:
/// `E[S_k]` / (1 - s) + R / ((1 - s) (1 - s')), with the load s of the classes above `k`, s' with its own,
/// and R their residual, `k` included.
///
/// # Panics
/// When there is no class `k`, or no steady state down to it.
pub fn preemptive_sojourn(classes: &[ClassOf], k: usize) -> f64 {
    let above = 1.0 - load(&classes[..k]);
    let down_to = 1.0 - load(&classes[..=k]);
    classes[k].1.mean() / above + residual(&classes[..=k]) / (above * down_to)
}

/// The mean wait of class `k` where nothing is interrupted: R / ((1 - s) (1 - s')), with the residual of
/// all classes.
///
/// # Panics
/// When there is no class `k`, or no steady state of all classes.
pub fn non_preemptive_wait(classes: &[ClassOf], k: usize) -> f64 {
    load(classes);
    let above = 1.0 - load(&classes[..k]);
    let down_to = 1.0 - load(&classes[..=k]);
    residual(classes) / (above * down_to)
}
