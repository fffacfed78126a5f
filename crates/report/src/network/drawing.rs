//! Drawing of a network as SVG at one frame of a film.
//! The drawing shows the utilisation of links and the backlog of ports.

use super::edge_failures::{EdgeFailure, Symbol};
use super::film::{DesignFilm, Film};
use super::graph::Graph;
use super::heat::{self, BUSY, Steps, WAITING};
use super::layout::{BOX, FONT, Layout, Point, text_width};
use crate::format::Quantity;
use crate::plot::Size;
use maud::{Markup, PreEscaped, html};
use std::fmt::Write;

/// Colours of utilisation on a light background, from idle to full. Busier links are darker and wider.
/// The scale has only one hue, so its order is visible with every kind of colour vision and in print.
const BUSY_LIGHT: [&str; 7] = [
    "#d3d8de", "#a9c9e6", "#74abd6", "#3f8bc4", "#1b65a6", "#0b3f78", "#061d3d",
];
/// Colours of utilisation on a dark background, where busier links are lighter.
const BUSY_DARK: [&str; 7] = [
    "#3a424d", "#1f4d78", "#2a6ca8", "#3f91d8", "#79bbf2", "#b8dcfb", "#ffffff",
];
/// Colours of backlogs on a light background, from empty to full. Their hue differs from the hue of utilisation.
const WAITING_LIGHT: [&str; 5] = ["none", "#f2b78a", "#e5813f", "#c2410c", "#7a1d02"];
const WAITING_DARK: [&str; 5] = ["none", "#8a4a22", "#c9672b", "#ff9a5c", "#ffe0c2"];
/// Line widths of the steps of utilisation.
const BUSY_WIDTHS: [f64; 7] = [0.8, 1.1, 1.5, 2.0, 2.6, 3.3, 4.0];
const WAITING_WIDTHS: [f64; 5] = [0.0, 4.0, 5.5, 7.0, 9.0];

/// Length of a port's mark along its link.
const PORT: f64 = 11.0;

/// Graph with its layout and the paths of its links.
pub(super) struct Drawing<'a> {
    pub graph: &'a Graph,
    pub layout: Layout,
    /// Line of each link as an SVG path, by direction.
    pub lines: Vec<String>,
    /// Port of each link as an SVG path, by direction. A port is drawn at the beginning of its link's line.
    pub ports: Vec<String>,
    /// Links that fail or are impaired, each with its mark.
    pub failures: Vec<(&'a EdgeFailure, String)>,
}

/// CSS classes of links that fail or are impaired: the classes of their lines before the classes of their marks.
const TROUBLE: [&str; 5] = ["cut", "worn", "down", "slow", "lossy"];

/// Colour of links that fail or are impaired. No other element has this hue. Printed pages use the same colour.
const TROUBLE_LIGHT: &str = "#a3188f";
const TROUBLE_DARK: &str = "#ff8ae8";

/// Returns the colours of both scales on a light background, as CSS custom properties.
pub(crate) fn light_heat() -> String {
    format!(
        "{}--trouble:{TROUBLE_LIGHT};",
        properties(&BUSY_LIGHT, &WAITING_LIGHT)
    )
}

/// Returns the colours of both scales on a dark background, as CSS custom properties.
pub(crate) fn dark_heat() -> String {
    format!(
        "{}--trouble:{TROUBLE_DARK};",
        properties(&BUSY_DARK, &WAITING_DARK)
    )
}

fn properties(busy: &[&str], waiting: &[&str]) -> String {
    let mut css = String::new();
    for (name, colours) in [("busy", busy), ("waiting", waiting)] {
        for (step, colour) in colours.iter().enumerate() {
            let _ = write!(css, "--{name}-{step}:{colour};");
        }
    }
    css
}

/// Returns the CSS rules for the classes of both scales.
/// `stroke` receives the name of a scale, a step, and the full width of the step. It returns the colour and the width.
fn rules(stroke: impl Fn(&str, usize, f64) -> (String, String)) -> String {
    let mut css = String::new();
    for (name, letter, widths) in [
        ("busy", 'b', &BUSY_WIDTHS[..]),
        ("waiting", 'w', &WAITING_WIDTHS),
    ] {
        for (step, width) in widths.iter().enumerate() {
            let (colour, width) = stroke(name, step, *width);
            let _ = write!(
                css,
                ".{letter}{step}{{stroke:{colour};stroke-width:{width}}}"
            );
        }
    }
    css
}

/// Returns the page's CSS rules for both scales. A drawing can make its lines thinner with `--thickness`.
pub(crate) fn heat_rules() -> String {
    rules(|name, step, width| {
        let width = format!("calc({width}px * var(--thickness, 1))");
        (format!("var(--{name}-{step})"), width)
    })
}

impl<'a> Drawing<'a> {
    pub fn of(graph: &'a Graph, failures: &'a [EdgeFailure]) -> Self {
        let layout = Layout::of(graph);
        let mark = |trouble: &'a EdgeFailure| {
            let first = 2 * trouble.edge;
            (
                trouble,
                trouble.mark(&layout.lines[first], &layout.lines[first + 1]),
            )
        };
        let widest = layout.lines.iter().map(|line| path(line)).collect();
        let ports = layout
            .lines
            .iter()
            .map(|line| path(&beginning(line)))
            .collect();
        Self {
            graph,
            lines: widest,
            ports,
            failures: failures.iter().map(mark).collect(),
            layout,
        }
    }

    /// Returns the SVG paths of each step at `frame`: the paths of the links before the paths of the ports.
    fn at(
        &self,
        film: &Film,
        design_film: &DesignFilm,
        frame: usize,
    ) -> (Vec<String>, Vec<String>) {
        let gather = |steps: Steps, levels: &mut dyn Iterator<Item = u8>, paths: &[String]| {
            let mut gathered = vec![String::new(); steps.len()];
            for (level, path) in levels.zip(paths) {
                gathered[heat::step(steps, level)].push_str(path);
            }
            gathered
        };
        (
            gather(BUSY, &mut film.busy_levels(design_film, frame), &self.lines),
            gather(
                WAITING,
                &mut film.waiting_levels(design_film, frame),
                &self.ports,
            ),
        )
    }

    /// Returns the SVG paths of each class of [`TROUBLE`] at `frame`.
    fn troubles_at(&self, film: &Film, frame: usize) -> [String; TROUBLE.len()] {
        let mut paths: [String; TROUBLE.len()] = Default::default();
        let on = self
            .failures
            .iter()
            .filter(|(trouble, _)| trouble.frames(film).contains(&frame));
        for (trouble, mark) in on {
            let [cut, worn, down, slow, lossy] = &mut paths;
            let (line, symbol) = match trouble.symbol() {
                Symbol::Down => (cut, down),
                Symbol::Slow => (worn, slow),
                Symbol::Lossy => (worn, lossy),
            };
            let first = 2 * trouble.edge;
            line.extend([&*self.lines[first], &*self.lines[first + 1]]);
            symbol.push_str(mark);
        }
        paths
    }

    /// Returns links, ports, nodes and names at `frame`, for use within an `svg` element.
    pub fn body(&self, film: &Film, design_film: &DesignFilm, frame: usize) -> Markup {
        let (busy, waiting) = self.at(film, design_film, frame);
        let layout = &self.layout;
        html! {
            @for (y, name) in &layout.tiers {
                text class="tier" x="4" y=(format!("{:.1}", y + FONT * 0.35)) { (name) }
            }
            g class="heat" {
                @for (step, path) in busy.iter().enumerate() { path class={ "b" (step) } d=(path) {} }
                @for (step, path) in waiting.iter().enumerate().skip(1) { path class={ "w" (step) } d=(path) {} }
            }
            @if !self.failures.is_empty() {
                g class="trouble" {
                    @for (class, path) in TROUBLE.iter().zip(self.troubles_at(film, frame)) {
                        path class=(class) d=(path) {}
                    }
                }
            }
            path class="node" d=(self.boxes()) {}
            @for (index, node) in self.graph.nodes.iter().enumerate() {
                @if let Some((x, y, name)) = self.name(index, &node.name) {
                    text class="name" x=(format!("{x:.1}")) y=(format!("{y:.1}")) text-anchor="middle" { (name) }
                }
            }
        }
    }

    /// Returns the shapes of all nodes: a box for each switch, and a disc for each host.
    fn boxes(&self) -> String {
        let mut path = String::new();
        for (node, place) in self.graph.nodes.iter().zip(&self.layout.positions) {
            let (x, y, half) = (place.x, place.y, place.width / 2.0);
            let _ = match node.hosts {
                1 => write!(
                    path,
                    "M{:.1} {y:.1}a{half:.1} {half:.1} 0 1 0 {w:.1} 0a{half:.1} {half:.1} 0 1 0 -{w:.1} 0z",
                    x - half,
                    w = place.width
                ),
                _ => write!(
                    path,
                    "M{:.1} {:.1}h{w:.1}v{BOX}h-{w:.1}z",
                    x - half,
                    y - BOX / 2.0,
                    w = place.width
                ),
            };
        }
        path
    }

    /// Returns the text in a switch.
    /// The text is the name of the switch. If the names of the tier do not fit, the text is an index such as `0.1`.
    /// The name of the tier is next to its row.
    fn switch_name<'n>(&self, node: usize, name: &'n str) -> &'n str {
        let tier: Vec<usize> = self.graph.tier(self.graph.nodes[node].tier).collect();
        let of = |node: usize| self.graph.nodes[node].name.as_str();
        let fits = |node: &usize| text_width(of(*node)) + 2.0 <= self.layout.positions[*node].width;
        let Some((shared, _)) = name.split_once('[') else {
            return name;
        };
        let shares = |node: &usize| {
            of(*node)
                .split_once('[')
                .is_some_and(|(its, _)| its == shared)
        };
        match !tier.iter().all(fits) && tier.iter().all(shares) {
            true => name[shared.len()..].trim_matches(['[', ']']),
            false => name,
        }
    }

    /// Returns the name of a node and its position: inside a switch, or below a host.
    /// Returns `None` without space for the name.
    fn name(&self, node: usize, name: &str) -> Option<(f64, f64, String)> {
        let (place, hosts) = (self.layout.positions[node], self.graph.nodes[node].hosts);
        let (text, room, y) = match hosts {
            0 => (
                self.switch_name(node, name).to_owned(),
                place.width,
                place.y + FONT * 0.35,
            ),
            1 if place.room < self.layout.host_name => return None,
            1 => (name.to_owned(), place.room, place.y + FONT * 1.5),
            many => (format!("{many} hosts"), place.width, place.y + FONT * 0.35),
        };
        (text_width(&text) + 2.0 <= room).then_some((place.x, y, text))
    }

    /// Returns the busiest frame of one design as a separate SVG file.
    pub fn file(&self, title: &str, film: &Film, design_film: &DesignFilm, size: Size) -> String {
        let layout = &self.layout;
        let (font, width) = (FONT + 1.0, layout.width.max(660.0));
        let above = font * 2.7;
        let legends = if self.failures.is_empty() { 6.0 } else { 8.2 };
        let height = above + layout.height + font * legends;
        let style = format!(
            ".ground{{fill:#fff}}text{{fill:#30343a}}.heat path{{fill:none}}\
             .node{{fill:#fff;stroke:#30343a}}.trouble path{{fill:none;stroke:{TROUBLE_LIGHT};stroke-width:2}}\
             .trouble .cut{{stroke-width:1.4;stroke-dasharray:4 3}}\
             .trouble .worn{{stroke-width:1.4;stroke-dasharray:1.4 4}}.trouble .slow,.trouble .lossy{{fill:#fff}}{}",
            rules(|name, step, width| {
                let colour = match name {
                    "busy" => BUSY_LIGHT[step],
                    _ => WAITING_LIGHT[step],
                };
                (
                    colour.to_owned(),
                    format!("{:.2}", width * layout.thickness),
                )
            })
        );
        let when = film.when(design_film.busiest);
        let document = html! {
            svg xmlns="http://www.w3.org/2000/svg" width=(size.length(width, width)) height=(size.length(height, width))
                viewBox=(format!("0 0 {width} {height}")) font-size=(FONT)
                font-family="Ubuntu, 'Helvetica Neue', Arial, sans-serif" {
                title { (title) }
                style { (PreEscaped(style)) }
                rect class="ground" width=(width) height=(height) {}
                text x="4" y=(font * 1.6) { "Busiest time, " (when) ". A link's right line goes up." }
                g transform=(format!("translate(0 {above})")) { (self.body(film, design_film, design_film.busiest)) }
                g transform=(format!("translate(4 {})", above + layout.height + font)) {
                    (legend_row("Link busy", BUSY, 'b', &busy_texts()))
                    g transform=(format!("translate(0 {})", font * 2.2)) {
                        (legend_row("Port's queue", WAITING, 'w', &film.waiting_texts()))
                    }
                    @if !self.failures.is_empty() {
                        g transform=(format!("translate(0 {})", font * 4.4)) {
                            text x="0" y="4" { "In trouble" }
                            @for (symbol, x) in Symbol::ALL.into_iter().zip([78.0, 160.0, 242.0]) {
                                g transform=(format!("translate({x} 0)")) { (symbol.drawing()) }
                                text x=(x + 24.0) y="4" { (symbol.word()) }
                            }
                        }
                    }
                }
            }
        };
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}\n",
            document.into_string()
        )
    }
}

/// Returns the texts for the steps of utilisation in the legend.
pub(super) fn busy_texts() -> Vec<String> {
    let percent = |level: u8| format!("{:.0} %", (heat::share(level) * 100.0 / 5.0).round() * 5.0);
    let from = BUSY.iter().enumerate();
    from.map(|(step, &level)| match step {
        0 => "idle".to_owned(),
        1 => format!("under {}", percent(BUSY[2])),
        _ => format!("{} on", percent(level)),
    })
    .collect()
}

/// Returns the legend of one scale for an SVG file. Each step has a short line and a text.
fn legend_row(name: &str, steps: Steps, letter: char, texts: &[String]) -> Markup {
    let first = usize::from(letter == 'w');
    let width = |text: &str| 34.0 + text_width(text);
    let mut x = 78.0;
    let positions = (first..steps.len()).map(|step| {
        x += width(&texts[step]);
        (step, x - width(&texts[step]))
    });
    html! {
        text x="0" y="4" { (name) }
        @for (step, x) in positions {
            g class="heat" { path class={ (letter) (step) } d=(format!("M{x:.1} 0h14")) {} }
            text x=(format!("{:.1}", x + 18.0)) y="4" { (texts[step]) }
        }
    }
}

impl Film {
    /// Returns the levels of utilisation of the links at `frame`, by direction.
    pub(super) fn busy_levels<'a>(
        &self,
        design_film: &'a DesignFilm,
        frame: usize,
    ) -> impl Iterator<Item = u8> + use<'a> {
        let shares = design_film.shares(frame).iter();
        shares.map(|share| heat::level(f64::from(*share)))
    }

    /// Returns the levels of backlog of the ports at `frame`, by direction.
    pub(super) fn waiting_levels<'a>(
        &self,
        design_film: &'a DesignFilm,
        frame: usize,
    ) -> impl Iterator<Item = u8> + use<'a> {
        let longest = self.longest.max(1) as f64;
        let backlogs = design_film.backlogs(frame).iter();
        backlogs.map(move |bytes| heat::level(*bytes as f64 / longest))
    }

    /// Returns the backlog that a level represents, as text.
    pub(super) fn waiting_text(&self, level: u8) -> String {
        Quantity::Bytes.text(heat::share(level) * self.longest as f64)
    }

    /// Returns the texts for the steps of backlog in the legend.
    pub(super) fn waiting_texts(&self) -> Vec<String> {
        let steps = WAITING.iter().enumerate();
        steps
            .map(|(step, &level)| match step {
                0 => "none".to_owned(),
                1 => format!("under {}", self.waiting_text(WAITING[2])),
                _ => format!("{} on", self.waiting_text(level)),
            })
            .collect()
    }

    /// Returns the time of a frame, as text.
    pub(super) fn when(&self, frame: usize) -> String {
        let us = |frames: usize| Quantity::Time.text(frames as f64 * self.frame.as_us_f64());
        format!("{} to {}", us(frame), us(frame + 1))
    }
}

/// Returns a line as a path with one decimal.
fn path(line: &[Point]) -> String {
    let mut path = String::new();
    for (index, (x, y)) in line.iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        let number = |value: f64| {
            let text = format!("{value:.1}");
            text.strip_suffix(".0")
                .map_or_else(|| text.clone(), str::to_owned)
        };
        let _ = write!(path, "{command}{} {}", number(*x), number(*y));
    }
    path
}

/// Returns the first piece of a line, on which the port of the link is drawn.
fn beginning(line: &[Point]) -> [Point; 2] {
    let [from, to, ..] = line else {
        return [(0.0, 0.0); 2];
    };
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy).max(1e-9);
    let share = (PORT / length).min(0.3);
    [*from, (from.0 + dx * share, from.1 + dy * share)]
}
