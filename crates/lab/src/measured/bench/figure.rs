//! Results of a bench.

use serde::Serialize;
use tailcut_units::median;

/// Figure: one result of a bench, such as a median delay.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Figure {
    /// Name of the result, with its unit.
    pub name: String,
    /// Median of all measurements.
    pub measured: f64,
    /// Number of measurements of the result.
    pub n: usize,
    /// Smallest of all measurements.
    pub least: f64,
    /// Largest of all measurements.
    pub largest: f64,
    /// Range in which the result should be on an otherwise idle machine; `None` for results without a target.
    pub wanted: Option<Wanted>,
}

/// Target range of a result.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Wanted {
    /// Lower limit of the range.
    pub from: f64,
    /// Upper limit of the range.
    pub to: f64,
}

impl Figure {
    /// Creates a result without a target.
    pub(super) fn without_target(name: impl Into<String>, measured: f64) -> Self {
        Self {
            name: name.into(),
            measured,
            n: 1,
            least: measured,
            largest: measured,
            wanted: None,
        }
    }

    /// Creates a result with a target range.
    pub(super) fn wanted(name: impl Into<String>, measured: f64, from: f64, to: f64) -> Self {
        Self {
            wanted: Some(Wanted { from, to }),
            ..Self::without_target(name, measured)
        }
    }

    /// Returns whether the result is in its target range. Returns `true` for a result without a target.
    pub fn holds(&self) -> bool {
        let holds = |wanted: Wanted| (wanted.from..=wanted.to).contains(&self.measured);
        self.wanted.is_none_or(holds)
    }

    /// Combines several measurements of one result. Returns `None` if there are no measurements.
    fn of_all(all: &[Self]) -> Option<Self> {
        let mut measured: Vec<f64> = all.iter().map(|one| one.measured).collect();
        let median = median(&mut measured)?;
        let (least, largest) = (*measured.first()?, *measured.last()?);
        Some(Self {
            measured: median,
            n: measured.len(),
            least,
            largest,
            ..all.first()?.clone()
        })
    }
}

/// Combines the results of several runs of a bench.
pub(super) fn merge(runs: Vec<Vec<Figure>>) -> Vec<Figure> {
    let names: Vec<String> = match runs.first() {
        Some(first) => first.iter().map(|one| one.name.clone()).collect(),
        None => Vec::new(),
    };
    let all: Vec<Figure> = runs.into_iter().flatten().collect();
    let of = |name: &String| -> Vec<Figure> {
        let same = all.iter().filter(|one| one.name == *name);
        same.cloned().collect()
    };
    let merged = names.iter().filter_map(|name| Figure::of_all(&of(name)));
    merged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_several_runs_is_held_against_what_was_wanted() {
        let run = |a, b| {
            vec![
                Figure::wanted("a", a, 0.0, 5.0),
                Figure::without_target("b", b),
            ]
        };
        let merged = merge(vec![run(1.0, 10.0), run(9.0, 20.0), run(2.0, 40.0)]);
        let [a, b] = &merged[..] else {
            panic!("{merged:?}");
        };
        assert_eq!((a.measured, a.n, a.least, a.largest), (2.0, 3, 1.0, 9.0));
        assert!(a.holds());
        assert_eq!((b.name.as_str(), b.measured, b.wanted), ("b", 20.0, None));
        let merged = merge(vec![run(4.0, 0.0), run(8.0, 0.0)]);
        assert_eq!(merged[0].measured, 6.0);
        assert!(!merged[0].holds());
        assert!(merge(Vec::new()).is_empty());
    }
}
