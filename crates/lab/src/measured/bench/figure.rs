//! What a bench has measured.

use serde::Serialize;
use tailcut_units::median;

/// A figure of a bench.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Figure {
    /// What it is, with its unit.
    pub name: String,
    /// What was measured: the median of all times.
    pub measured: f64,
    /// How often it was measured.
    pub n: usize,
    /// The least of what was measured.
    pub least: f64,
    /// The largest of it.
    pub largest: f64,
    /// What a machine with nothing else to do should reach; `None` for figures that only tell.
    pub wanted: Option<Wanted>,
}

/// What a figure should be.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Wanted {
    /// The least.
    pub from: f64,
    /// The most.
    pub to: f64,
}

impl Figure {
    /// One that only tells.
    pub(super) fn told(name: impl Into<String>, measured: f64) -> Self {
        Self {
            name: name.into(),
            measured,
            n: 1,
            least: measured,
            largest: measured,
            wanted: None,
        }
    }

    /// One that should lie between two values.
    pub(super) fn wanted(name: impl Into<String>, measured: f64, from: f64, to: f64) -> Self {
        Self {
            wanted: Some(Wanted { from, to }),
            ..Self::told(name, measured)
        }
    }

    /// Whether it is as it should be.
    pub fn holds(&self) -> bool {
        let holds = |wanted: Wanted| (wanted.from..=wanted.to).contains(&self.measured);
        self.wanted.is_none_or(holds)
    }

    /// One figure of several measurements of it, of which there is at least one.
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

/// The figures of a bench that ran several times.
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
        let run = |a, b| vec![Figure::wanted("a", a, 0.0, 5.0), Figure::told("b", b)];
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
