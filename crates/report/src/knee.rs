//! Up to which value of a swept key the network keeps up with what it is offered.

use crate::answer::list_of_designs;
use crate::axes::Axis;
use crate::load::{GROWTH_TO_WARN_OF, growth, is_overloaded};
use crate::study::Study;

/// The share of flows and sessions without an end from which on a design does not keep up.
const UNFINISHED: f64 = 0.01;

/// For each axis of numbers over which a design stops keeping up: up to where it does.
pub(crate) fn sentences(study: &Study, headline: usize) -> Vec<String> {
    let axes = study.analysis().axes(headline);
    let numeric = axes.iter().filter(|axis| axis.is_numeric());
    numeric
        .filter_map(|axis| sentence(study, headline, axis))
        .collect()
}

fn sentence(study: &Study, headline: usize, axis: &Axis) -> Option<String> {
    let along = study.analysis().along(headline, axis);
    let designs = study.designs();
    // By design the last place at which it and all before keep up; none where the first does not.
    let mut last: Vec<(&str, Option<usize>)> = Vec::new();
    for design in designs {
        let mut kept_up = None;
        for &(place, setting) in &along {
            if !keeps_up(study, setting, design) {
                break;
            }
            kept_up = Some(place);
        }
        last.push((design, kept_up));
    }
    let end = along.last()?.0;
    if along.len() < 2 || last.iter().all(|(_, kept_up)| *kept_up == Some(end)) {
        return None;
    }
    let mut told: Vec<(Option<usize>, Vec<&str>)> = Vec::new();
    for (design, kept_up) in last {
        match told.iter_mut().find(|(place, _)| *place == kept_up) {
            Some((_, designs)) => designs.push(design),
            None => told.push((kept_up, vec![design])),
        }
    }
    let told = told.iter().map(|(place, designs)| {
        let designs = list_of_designs(designs);
        match place {
            Some(place) if *place == end => format!("up to the last value with {designs}"),
            Some(place) => {
                let (kept, failed) = (&axis.values[*place].text, &axis.values[place + 1].text);
                format!("up to {kept} and not at {failed} with {designs}")
            }
            None => format!(
                "not even at {} with {designs}",
                axis.values[along[0].0].text
            ),
        }
    });
    let told: Vec<String> = told.collect();
    Some(format!(
        "Over {} the network keeps up {}. Where it does not, unfinished bytes grow by more than {:.0} % from \
         the middle to the last third of the arrivals, more than {:.0} % do not end, or links are offered more \
         than they carry.",
        axis.name(),
        told.join("; "),
        GROWTH_TO_WARN_OF * 100.0,
        UNFINISHED * 100.0,
    ))
}

/// Whether the network keeps up with a design in a setting.
fn keeps_up(study: &Study, setting: usize, design: &str) -> bool {
    let analysis = study.analysis();
    let cells = study.cells();
    let grows = growth(&cells[setting], design).is_some_and(|growth| growth > GROWTH_TO_WARN_OF);
    let rows = analysis.rows.iter();
    let here = rows.filter(|row| row.setting == setting && row.design == design);
    let left = here.map(|row| row.unfinished as f64 / row.flows.max(1) as f64);
    !grows && !is_overloaded(study, setting) && left.fold(0.0, f64::max) <= UNFINISHED
}
