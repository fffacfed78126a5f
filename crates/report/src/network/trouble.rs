//! Links that were slow or down, as the drawing and its table show them.

use super::film::Film;
use super::graph::Graph;
use super::layout::Point;
use crate::format::Quantity;
use crate::run::Run;
use crate::study::Study;
use crate::table::{Cell, Table};
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use tailcut_record::{LinkFailure, LinkTrouble};
use tailcut_units::Time;

/// Where a mark is on its link, from the lower end: in the middle, marks of links that cross would lie
/// upon one another.
const PLACE: f64 = 1.0 / 3.0;

/// Half a mark's size.
const HALF: f64 = 4.5;

/// The names of links that a row of the table has at most.
const NAMES: usize = 6;

/// What a link in trouble looks like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Symbol {
    /// Broken lines, and a cross.
    Down,
    /// Dotted lines, and a diamond.
    Slow,
    /// Dotted lines, and a triangle.
    Lossy,
}

impl Symbol {
    pub const ALL: [Self; 3] = [Self::Down, Self::Slow, Self::Lossy];

    /// The word in legends, and the class of the mark.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Slow => "slow",
            Self::Lossy => "lossy",
        }
    }

    /// The class of its lines.
    pub const fn line(self) -> &'static str {
        match self {
            Self::Down => "cut",
            Self::Slow | Self::Lossy => "worn",
        }
    }

    /// The mark around a point, as a path.
    fn mark(self, x: f64, y: f64) -> String {
        let (left, top, whole) = (x - HALF, y - HALF, 2.0 * HALF);
        match self {
            Self::Down => {
                format!("M{left:.1} {top:.1}l{whole} {whole}m0 -{whole}l-{whole} {whole}")
            }
            Self::Slow => {
                format!("M{x:.1} {top:.1}l{HALF} {HALF}l-{HALF} {HALF}l-{HALF} -{HALF}z")
            }
            Self::Lossy => {
                format!("M{x:.1} {top:.1}l{HALF} {whole}h-{whole}z")
            }
        }
    }

    /// A short link with the mark, to the right of the origin.
    pub fn drawing(self) -> Markup {
        html! {
            g class="trouble" {
                path class=(self.line()) d="M0 0h18" {}
                path class=(self.word()) d=(self.mark(9.0, 0.0)) {}
            }
        }
    }
}

/// What is wrong, and when.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Kind {
    trouble: LinkTrouble,
    from: Time,
    until: Option<Time>,
}

/// Trouble on an edge of the drawing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Trouble {
    /// The edge.
    pub edge: usize,
    kind: Kind,
    /// Links of the edge that have it, of so many.
    links: (usize, usize),
}

impl From<&LinkFailure> for Kind {
    fn from(failure: &LinkFailure) -> Self {
        Self {
            trouble: failure.trouble,
            from: failure.from,
            until: failure.until,
        }
    }
}

impl Kind {
    fn what(&self) -> String {
        match self.trouble {
            LinkTrouble::Down => "down".to_owned(),
            LinkTrouble::Slow(rate) => format!("slowed to {rate}"),
            LinkTrouble::Lossy(billionths) => {
                format!("loses {} % of packets", f64::from(billionths) / 1e7)
            }
        }
    }

    /// `down since 2 ms, until 5 ms`.
    fn words(&self) -> String {
        let Self { from, until, .. } = *self;
        let mut words = self.what();
        match from {
            Time::ZERO if until.is_none() => words.push_str(" all the time"),
            Time::ZERO => words.push_str(" from the start"),
            from => {
                let _ = write!(words, " since {}", time(from));
            }
        }
        if let Some(until) = until {
            let _ = write!(words, ", until {}", time(until));
        }
        words
    }
}

fn time(at: Time) -> String {
    Quantity::Time.text(at.as_ps() as f64 / 1e6)
}

impl Trouble {
    /// The troubles of a network, by edge. Failures are of both directions.
    pub fn all(graph: &Graph, failures: &[LinkFailure]) -> Vec<Self> {
        let mut by_port: BTreeMap<u32, Vec<Kind>> = BTreeMap::new();
        for failure in failures {
            by_port
                .entry(failure.link)
                .or_default()
                .push(failure.into());
        }
        let mut troubles = Vec::new();
        for (edge, ends) in graph.edges.iter().enumerate() {
            let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
            for kind in ends
                .up
                .iter()
                .filter_map(|port| by_port.get(port))
                .flatten()
            {
                *kinds.entry(*kind).or_default() += 1;
            }
            troubles.extend(kinds.into_iter().map(|(kind, links)| Self {
                edge,
                kind,
                links: (links, ends.up.len()),
            }));
        }
        troubles
    }

    /// What it looks like.
    pub fn symbol(&self) -> Symbol {
        match self.kind.trouble {
            LinkTrouble::Down => Symbol::Down,
            LinkTrouble::Slow(_) => Symbol::Slow,
            LinkTrouble::Lossy(_) => Symbol::Lossy,
        }
    }

    /// The pictures of a film in which it is, if only for a part of their time.
    pub fn frames(&self, film: &Film) -> Range<usize> {
        let frame = film.frame.as_ps().max(1);
        let first = self.kind.from.as_ps() / frame;
        let after = |until: Time| usize::try_from(until.as_ps().div_ceil(frame)).ok();
        let after = self.kind.until.and_then(after).unwrap_or(film.frames);
        usize::try_from(first)
            .unwrap_or(film.frames)
            .min(film.frames)..after.min(film.frames)
    }

    /// `down since 2 ms, until 5 ms`.
    pub fn words(&self) -> String {
        let mut words = match self.links {
            (links, of) if links < of => format!("{links} of {of} links "),
            _ => String::new(),
        };
        words.push_str(&self.kind.words());
        words
    }

    /// The mark on the edge's lines, its first direction's and its second's.
    pub fn mark(&self, up: &[Point], down: &[Point]) -> String {
        // The lines have opposite directions.
        let (a, b) = (along(up, PLACE), along(down, 1.0 - PLACE));
        self.symbol().mark((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0)
    }
}

/// The point at a share of a line's length.
fn along(line: &[Point], share: f64) -> Point {
    let length = |pair: &[Point]| (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1);
    let mut left = share * line.windows(2).map(length).sum::<f64>();
    for pair in line.windows(2) {
        let its = length(pair);
        if left <= its && its > 0.0 {
            let share = left / its;
            let between = |from: f64, to: f64| from + (to - from) * share;
            return (between(pair[0].0, pair[1].0), between(pair[0].1, pair[1].1));
        }
        left -= its;
    }
    line.last().copied().unwrap_or_default()
}

/// The names of a run's links in trouble, by what is wrong with them.
fn names(run: &Run) -> BTreeMap<Kind, Vec<String>> {
    let mut links: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    for failure in &run.failures {
        let Some(link) = run.topology.get(failure.link as usize) else {
            continue;
        };
        // Both directions of a link have a row each.
        let names = links.entry(failure.into()).or_default();
        if !names.contains(&format!("{} – {}", link.to, link.from)) {
            names.push(format!("{} – {}", link.from, link.to));
        }
    }
    links
}

/// The first names, and how many more there are.
fn first_of(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMES);
    let mut shown = names[..names.len() - more].join(", ");
    if more > 0 {
        let _ = write!(shown, " and {more} more");
    }
    shown
}

/// What there is to say of links in trouble, with their names; `None` without any.
pub(crate) fn sentence(study: &Study, setting: usize) -> Option<String> {
    let cells = study.cells();
    let designs = cells.get(setting)?.designs.iter();
    let mut runs = designs.flat_map(|(_, runs)| runs);
    let run = runs.find(|run| !run.failures.is_empty())?;
    let troubles = names(run).into_iter();
    let troubles = troubles.map(|(kind, names)| format!("{} {}", first_of(&names), kind.words()));
    let troubles: Vec<String> = troubles.collect();
    (!troubles.is_empty()).then(|| format!("Links in trouble: {}.", troubles.join("; ")))
}

/// The links in trouble of `run`, those with the same in one row; `None` without any.
pub(super) fn table(study: &Study, setting: usize, run: &Run) -> Option<Table> {
    let rows = names(run).into_iter().map(|(kind, names)| {
        let shown = first_of(&names);
        let from = match kind.from {
            Time::ZERO => "the start".to_owned(),
            from => time(from),
        };
        let until = kind.until.map_or_else(|| "the end".to_owned(), time);
        let of_one = [Cell::text(shown), Cell::text(kind.what())];
        of_one
            .into_iter()
            .chain([from, until].map(Cell::text))
            .collect()
    });
    let rows: Vec<Vec<Cell>> = rows.collect();
    (!rows.is_empty()).then(|| Table {
        id: format!("failures-{setting}"),
        title: format!(
            "Links in trouble, {}",
            study.analysis().setting_name(setting)
        ),
        caption: "Both directions of each link. What is sent into a link that is down is lost."
            .to_owned(),
        columns: ["links", "what", "from", "until"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    })
}
