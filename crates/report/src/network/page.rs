//! Network section of the page: the drawing, its controls, and the table of the most loaded links.

use super::drawing::{Drawing, busy_texts};
use super::edge_failures::Symbol;
use super::heat::{self, BUSY, FULL, WAITING};
use super::{Network, tables};
use crate::markup::show_table;
use crate::study::Study;
use maud::{Markup, PreEscaped, html};
use serde_json::json;

/// Returns the section of `setting`, or `None` if links were not sampled there.
pub(crate) fn section(study: &Study, setting: usize) -> Option<Markup> {
    let network = Network::of(study, setting)?;
    let drawn = network.graph.can_be_drawn();
    Some(html! {
        @if drawn { (drawing(study, &network)) } @else {
            p class="note" { "The network has too many links for a drawing." }
        }
        @for table in tables(study, setting) { (show_table(&table)) }
    })
}

fn drawing(study: &Study, network: &Network) -> Markup {
    let drawing = Drawing::of(&network.graph, &network.failures);
    let film = &network.film;
    let Some(first) = film.designs.first() else {
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
                @if film.designs.len() > 1 {
                    fieldset {
                        legend { "Design" }
                        @for (index, design_film) in film.designs.iter().enumerate() {
                            label {
                                input type="radio" name={ (id) "-design" } value=(index) checked[index == 0];
                                span { (design_film.design) }
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
            @if !network.failures.is_empty() {
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
    let mut text = "Each link has two lines, one per direction. Traffic is on the right side, so that the right \
                    line goes up. A line's colour and width show how busy the link was. The mark at its \
                    beginning shows the longest sampled queue of the port that feeds it. The time axis ends when \
                    every design had carried 99 % of its bytes, or at twice the time of the fastest design."
        .to_owned();
    if network.graph.is_folded() {
        text.push_str(
            " Hosts of one switch are drawn as one node, with the values of their busiest link.",
        );
    }
    if film.intervals > 1 {
        let (frames, intervals) = (film.frames, film.intervals);
        text.push_str(&format!(
            " Each of the {frames} pictures covers {intervals} sample intervals."
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

/// Returns the data for the script: path and name of each direction, and a character for each direction and frame.
fn data(network: &Network, drawing: &Drawing<'_>) -> String {
    let (graph, film) = (&network.graph, &network.film);
    let designs = film.designs.iter().map(|design_film| {
        let frames = || 0..film.frames;
        json!({
            "design": design_film.design,
            "seed": design_film.seed,
            "busiest": design_film.busiest,
            "busy": heat::text(frames().flat_map(|frame| film.busy_levels(design_film, frame))),
            "waiting": heat::text(frames().flat_map(|frame| film.waiting_levels(design_film, frame))),
        })
    });
    let directions = 0..graph.directions();
    let failures = drawing.failures.iter().map(|(trouble, mark)| {
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
        "takes": designs.collect::<Vec<_>>(),
        "troubles": failures.collect::<Vec<_>>(),
    });
    crate::markup::script_json(&data)
}

/// Returns the name of a direction, such as `s0 → s4, 10 Gb/s`, with the number of links if it is above one.
fn name(network: &Network, direction: usize) -> String {
    let graph = &network.graph;
    let (from, to) = graph.ends(direction);
    let rate = graph.edges[direction / 2].rate;
    match graph.ports(direction).len() {
        0 | 1 => format!("{from} → {to}, {rate}"),
        links => format!("{from} → {to}, {rate}, the busiest of {links} links"),
    }
}
