//! The network on the page: the drawing, its controls, and the table of its hottest links.

use super::drawing::{Drawing, busy_texts};
use super::heat::{self, BUSY, FULL, WAITING};
use super::trouble::Symbol;
use super::{Network, tables};
use crate::markup::show_table;
use crate::study::Study;
use maud::{Markup, PreEscaped, html};
use serde_json::json;

/// The network of `setting`; `None` where links were not sampled there.
pub(crate) fn section(study: &Study, setting: usize) -> Option<Markup> {
    let network = Network::of(study, setting)?;
    let drawn = network.graph.can_be_drawn();
    Some(html! {
        @if drawn { (drawing(study, &network)) } @else {
            p class="note" { "The network has too many links to tell them apart in a drawing." }
        }
        @for table in tables(study, setting) { (show_table(&table)) }
    })
}

fn drawing(study: &Study, network: &Network) -> Markup {
    let drawing = Drawing::of(&network.graph, &network.troubles);
    let film = &network.film;
    let Some(first) = film.takes.first() else {
        return html! {};
    };
    let (width, height) = (drawing.layout.width, drawing.layout.height);
    let at = study.analysis().setting_name(network.setting);
    let id = format!("network-{}", network.setting);
    html! {
        div class="network" id=(id) {
            h3 { "Links and queues over time, " (at) }
            p { (caption(network)) }
            div class="controls" hidden {
                button type="button" class="play" aria-pressed="false" { "Play" }
                input type="range" class="time" min="0" max=(film.frames - 1) step="1" value=(first.busiest)
                    aria-label="Time" aria-valuetext=(film.when(first.busiest));
                button type="button" class="hottest" { "Busiest time" }
                @if film.takes.len() > 1 {
                    fieldset {
                        legend { "Design" }
                        @for (index, take) in film.takes.iter().enumerate() {
                            label {
                                input type="radio" name={ (id) "-design" } value=(index) checked[index == 0];
                                span { (take.design) }
                            }
                        }
                    }
                }
            }
            p class="when" {
                b { (first.design) } ", seed " (first.seed) ", " span { (film.when(first.busiest)) }
            }
            div class="scroll" {
                svg viewBox=(format!("0 0 {width:.0} {height:.0}")) font-size=(super::layout::FONT)
                    style=(format!("min-width:{:.0}px;max-width:{:.0}px;--thickness:{:.2}",
                        width * 0.9, width * 1.4, drawing.layout.thickness))
                    tabindex="0" role="img"
                    aria-label="The network's links by how busy they were, and its ports by their queues. \
                                Arrow keys read the links out, the fullest queue first." {
                    (drawing.body(film, first, first.busiest))
                    path class="chosen" visibility="hidden" {}
                }
            }
            (legend("Link busy", 'b', 0, &busy_texts()))
            (legend("Queue of the port that feeds it", 'w', 1, &film.waiting_texts()))
            @if !network.troubles.is_empty() {
                div class="scale" {
                    span { "Link in trouble:" }
                    @for symbol in Symbol::ALL {
                        span {
                            svg viewBox="0 -6 18 12" aria-hidden="true" { (symbol.drawing()) }
                            (symbol.word())
                        }
                    }
                }
            }
            div class="tip" role="status" hidden {}
            script type="application/json" { (PreEscaped(data(network, &drawing))) }
        }
    }
}

fn caption(network: &Network) -> String {
    let film = &network.film;
    let mut text = "Each link is two lines, one a direction; traffic keeps to the right, so the right line goes \
                    up. A line's colour and width say how busy the link was; the mark at its beginning is the \
                    queue of the port that feeds it, the longest of its samples. It ends when 99 % of the bytes \
                    had been carried with every design, or at twice the time that this took the first."
        .to_owned();
    if network.graph.is_folded() {
        text.push_str(
            " Hosts of one switch are drawn as one: of their links the busiest is shown.",
        );
    }
    if film.intervals > 1 {
        let (frames, intervals) = (film.frames, film.intervals);
        text.push_str(&format!(
            " The samples are thinned to {frames} pictures of {intervals} intervals each."
        ));
    }
    text
}

fn legend(name: &str, letter: char, first: usize, texts: &[String]) -> Markup {
    html! {
        div class="scale" {
            span { (name) ":" }
            @for (step, text) in texts.iter().enumerate().skip(first) {
                span {
                    svg class="heat" viewBox="0 -5 18 10" aria-hidden="true" { path class={ (letter) (step) } d="M0 0h18" {} }
                    (text)
                }
            }
        }
    }
}

/// What the script needs: every direction's path and name, and a character a direction and frame.
fn data(network: &Network, drawing: &Drawing<'_>) -> String {
    let (graph, film) = (&network.graph, &network.film);
    let takes = film.takes.iter().map(|take| {
        let frames = || 0..film.frames;
        json!({
            "design": take.design,
            "seed": take.seed,
            "busiest": take.busiest,
            "busy": heat::text(frames().flat_map(|frame| film.busy_levels(take, frame))),
            "waiting": heat::text(frames().flat_map(|frame| film.waiting_levels(take, frame))),
        })
    });
    let directions = 0..graph.directions();
    let troubles = drawing.troubles.iter().map(|(trouble, mark)| {
        let frames = trouble.frames(film);
        json!({
            "edge": trouble.edge,
            "mark": mark,
            "symbol": trouble.symbol().word(),
            "line": trouble.symbol().line(),
            "from": frames.start,
            "until": frames.end,
            "words": trouble.words(),
        })
    });
    let data = json!({
        "lines": drawing.lines,
        "ports": drawing.ports,
        "names": directions.map(|index| name(network, index)).collect::<Vec<_>>(),
        "frames": (0..film.frames).map(|frame| film.when(frame)).collect::<Vec<_>>(),
        "alphabet": heat::alphabet(),
        "busySteps": BUSY,
        "waitingSteps": WAITING,
        "backlogs": (0..=FULL).map(|level| film.waiting_text(level)).collect::<Vec<_>>(),
        "takes": takes.collect::<Vec<_>>(),
        "troubles": troubles.collect::<Vec<_>>(),
    });
    crate::markup::script_json(&data)
}

/// `s0 → s4, 10 Gb/s`, and of how many links.
fn name(network: &Network, direction: usize) -> String {
    let graph = &network.graph;
    let (from, to) = graph.ends(direction);
    let rate = graph.edges[direction / 2].rate;
    match graph.ports(direction).len() {
        0 | 1 => format!("{from} → {to}, {rate}"),
        links => format!("{from} → {to}, {rate}, the busiest of {links} links"),
    }
}
