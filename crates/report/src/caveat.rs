//! Caveats of an answer. A caveat is one line that ends with a link to a section of `docs/caveats.md`.

use crate::estimate::SEEDS_FOR_QUANTILES;

/// Section of `docs/caveats.md` to which a caveat links.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Caveat {
    TooFew,
    Overload,
    HotSpot,
    OfferedLoad,
    Backlog,
    Capacity,
    Timers,
    Gap,
    Unfinished,
    MissingRuns,
    NotValid,
    NotSteady,
    SameRuns,
    OneTrace,
    NoEffect,
    Flowlets,
    Chunks,
    Codec,
}

impl Caveat {
    /// Returns the link to the section, as the last sentence of a line.
    pub fn see(self) -> String {
        format!(" See docs/caveats.md#{}.", self.anchor())
    }

    const fn anchor(self) -> &'static str {
        match self {
            Self::TooFew => "too-few",
            Self::Overload => "overload",
            Self::HotSpot => "hot-spot",
            Self::OfferedLoad => "offered-load",
            Self::Backlog => "backlog",
            Self::Capacity => "capacity",
            Self::Timers => "timers",
            Self::Gap => "gap",
            Self::Unfinished => "unfinished",
            Self::MissingRuns => "missing-runs",
            Self::NotValid => "not-valid",
            Self::NotSteady => "not-steady",
            Self::SameRuns => "same-runs",
            Self::OneTrace => "one-trace",
            Self::NoEffect => "no-effect",
            Self::Flowlets => "flowlets",
            Self::Chunks => "chunks",
            Self::Codec => "codec",
        }
    }
}

/// Number of flows over all seeds that a p99 needs, so that ten flows are beyond it.
const FLOWS_FOR_P99: u64 = 1_000;

/// Returns a sentence about figures that a study cannot have, because the study has too few seeds or flows.
/// `flows` is the maximum number of flows in a run. The sentence names the flag that adds seeds or flows.
pub fn missing_figures(seeds: usize, flows: Option<u64>) -> Option<String> {
    let see = Caveat::TooFew.see();
    let gives = match seeds {
        1 => "1 seed gives".to_owned(),
        _ => format!("{seeds} seeds give"),
    };
    if seeds < SEEDS_FOR_QUANTILES {
        return Some(format!(
            "{gives} no p99, which needs {SEEDS_FOR_QUANTILES}: add --seeds {SEEDS_FOR_QUANTILES}.{see}"
        ));
    }
    let flows = flows.filter(|flows| flows * (seeds as u64) < FLOWS_FOR_P99)?;
    let enough = FLOWS_FOR_P99.div_ceil(seeds as u64);
    Some(format!(
        "{flows} flows and {gives} no p99, which needs 1,000 flows in all: add --flows {enough}.{see}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Caveat; 18] = [
        Caveat::TooFew,
        Caveat::Overload,
        Caveat::HotSpot,
        Caveat::OfferedLoad,
        Caveat::Backlog,
        Caveat::Capacity,
        Caveat::Timers,
        Caveat::Gap,
        Caveat::Unfinished,
        Caveat::MissingRuns,
        Caveat::NotValid,
        Caveat::NotSteady,
        Caveat::SameRuns,
        Caveat::OneTrace,
        Caveat::NoEffect,
        Caveat::Flowlets,
        Caveat::Chunks,
        Caveat::Codec,
    ];

    #[test]
    fn every_link_leads_to_a_section_and_every_section_has_a_link() {
        let page = include_str!("../../../docs/caveats.md");
        let titles = page.lines().filter_map(|line| line.strip_prefix("## "));
        let titles: Vec<String> = titles
            .map(|title| title.to_lowercase().replace(' ', "-"))
            .collect();
        let anchors = ALL.map(Caveat::anchor);
        assert_eq!(titles, anchors);
    }
}
