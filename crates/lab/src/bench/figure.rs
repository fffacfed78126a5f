//! What a bench has measured.

use serde::Serialize;

/// A figure of a bench.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Figure {
    /// What it is, with its unit.
    pub name: &'static str,
    /// What was measured.
    pub measured: f64,
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
    pub(super) const fn told(name: &'static str, measured: f64) -> Self {
        Self {
            name,
            measured,
            wanted: None,
        }
    }

    /// One that should lie between two values.
    pub(super) const fn wanted(name: &'static str, measured: f64, from: f64, to: f64) -> Self {
        Self {
            name,
            measured,
            wanted: Some(Wanted { from, to }),
        }
    }

    /// Whether it is as it should be.
    pub fn holds(&self) -> bool {
        let holds = |wanted: Wanted| (wanted.from..=wanted.to).contains(&self.measured);
        self.wanted.is_none_or(holds)
    }
}
