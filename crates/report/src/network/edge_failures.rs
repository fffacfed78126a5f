//! Links that were slow, lossy or down: their marks in the drawing, and their table.

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
use tailcut_record::{LinkFailure, LinkTrouble, link_numbers};
use tailcut_units::Time;

/// Position of a mark on its link, as a share of the length from the lower end.
/// Marks in the middle of crossing links would cover each other.
const PLACE: f64 = 1.0 / 3.0;

/// Half of the width of a mark.
const HALF: f64 = 4.5;

/// Maximum number of names of links in one row of the table.
const NAMES: usize = 6;

/// Symbol of a link that failed or was impaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Symbol {
    /// The link is down: broken lines and a cross.
    Down,
    /// The link is slow: dotted lines and a diamond.
    Slow,
    /// The link is lossy: dotted lines and a triangle.
    Lossy,
}

impl Symbol {
    pub const ALL: [Self; 3] = [Self::Down, Self::Slow, Self::Lossy];

    /// Returns the word for the symbol in legends. The word is also the class of the mark.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Slow => "slow",
            Self::Lossy => "lossy",
        }
    }

    /// Returns the CSS class of the link's lines.
    pub const fn line(self) -> &'static str {
        match self {
            Self::Down => "cut",
            Self::Slow | Self::Lossy => "worn",
        }
    }

    /// Returns the shape of the mark around a point, as an SVG path.
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

    /// Returns a drawing of a short link with its mark, for legends.
    /// The link starts at the origin and extends to the right.
    pub fn drawing(self) -> Markup {
        html! {
            g class="trouble" {
                path class=(self.line()) d="M0 0h18" {}
                path class=(self.word()) d=(self.mark(9.0, 0.0)) {}
            }
        }
    }
}

/// Kind of failure or impairment, with its time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Kind {
    trouble: LinkTrouble,
    from: Time,
    until: Option<Time>,
}

/// Failure or impairment of an edge of the drawing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct EdgeFailure {
    /// Index of the edge in the graph.
    pub edge: usize,
    kind: Kind,
    /// Number of the edge's links that are affected, and number of all links of the edge.
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

    /// Returns a text about the kind and the time, such as `down since 2 ms, until 5 ms`.
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

impl EdgeFailure {
    /// Returns the failures and impairments of a network, by edge. Each affects both directions of a link.
    pub fn all(graph: &Graph, failures: &[LinkFailure]) -> Vec<Self> {
        let mut by_port: BTreeMap<u32, Vec<Kind>> = BTreeMap::new();
        for failure in failures {
            by_port
                .entry(failure.link)
                .or_default()
                .push(failure.into());
        }
        let mut failures = Vec::new();
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
            failures.extend(kinds.into_iter().map(|(kind, links)| Self {
                edge,
                kind,
                links: (links, ends.up.len()),
            }));
        }
        failures
    }

    /// Returns the symbol for this failure or impairment.
    pub fn symbol(&self) -> Symbol {
        match self.kind.trouble {
            LinkTrouble::Down => Symbol::Down,
            LinkTrouble::Slow(_) => Symbol::Slow,
            LinkTrouble::Lossy(_) => Symbol::Lossy,
        }
    }

    /// Returns the frames of a film during which the failure or impairment exists, at least for a part of the frame.
    pub fn frames(&self, film: &Film) -> Range<usize> {
        let frame = film.frame.as_ps().max(1);
        let first = self.kind.from.as_ps() / frame;
        let after = |until: Time| usize::try_from(until.as_ps().div_ceil(frame)).ok();
        let after = self.kind.until.and_then(after).unwrap_or(film.frames);
        usize::try_from(first)
            .unwrap_or(film.frames)
            .min(film.frames)..after.min(film.frames)
    }

    /// Returns a text about the kind and the time, such as `down since 2 ms, until 5 ms`.
    pub fn words(&self) -> String {
        let mut words = match self.links {
            (links, of) if links < of => format!("{links} of {of} links "),
            _ => String::new(),
        };
        words.push_str(&self.kind.words());
        words
    }

    /// Returns the mark as an SVG path.
    /// `up` is the line of the edge's first direction, and `down` is the line of its second direction.
    pub fn mark(&self, up: &[Point], down: &[Point]) -> String {
        // The two lines have opposite directions.
        let (a, b) = (along(up, PLACE), along(down, 1.0 - PLACE));
        self.symbol().mark((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0)
    }
}

/// Returns the point at a share of a line's length.
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

/// Returns the names of the links of a run that failed or were impaired, by kind.
fn names(run: &Run) -> BTreeMap<Kind, Vec<String>> {
    let mut links: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    let numbers = link_numbers(&run.topology);
    for failure in &run.failures {
        let port = failure.link as usize;
        let (Some(link), Some(number)) = (run.topology.get(port), numbers.get(port)) else {
            continue;
        };
        // The record has one row for each direction of an affected link.
        let names = links.entry(failure.into()).or_default();
        if !names.contains(&format!("{} – {}{number}", link.to, link.from)) {
            names.push(format!("{} – {}{number}", link.from, link.to));
        }
    }
    links
}

/// Returns the first names of a list, and the number of further names, as text.
fn first_of(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMES);
    let mut shown = names[..names.len() - more].join(", ");
    if more > 0 {
        let _ = write!(shown, " and {more} more");
    }
    shown
}

/// Returns the sentence that names links that failed or were impaired. Returns `None` if there are no such links.
pub(crate) fn sentence(study: &Study, setting: usize) -> Option<String> {
    let cells = study.cells();
    let designs = cells.get(setting)?.designs.iter();
    let mut runs = designs.flat_map(|(_, runs)| runs);
    let run = runs.find(|run| !run.failures.is_empty())?;
    let failures = names(run).into_iter();
    let failures = failures.map(|(kind, names)| format!("{} {}", first_of(&names), kind.words()));
    let failures: Vec<String> = failures.collect();
    (!failures.is_empty()).then(|| format!("Links in trouble: {}.", failures.join("; ")))
}

/// Returns the table of the links of `run` that failed or were impaired. Links of the same kind share a row.
/// Returns `None` if no link failed or was impaired.
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
        caption: "Both directions of each link. Packets sent into a link that is down are lost."
            .to_owned(),
        columns: ["links", "what", "from", "until"]
            .map(str::to_owned)
            .to_vec(),
        rows,
    })
}
