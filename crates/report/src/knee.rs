//! Up to which value of a swept key the network keeps up with what it is offered.

use crate::axes::Axis;
use crate::format::list;
use crate::load::{GROWTH_TO_WARN_OF, growth, is_overloaded};
use crate::study::Study;

/// The share of flows and sessions without an end from which on a design does not keep up.
pub(crate) const UNFINISHED: f64 = 0.01;

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
    let mut told: Vec<(Vec<bool>, Vec<&str>)> = Vec::new();
    for design in study.designs() {
        let here = along
            .iter()
            .map(|&(_, setting)| keeps_up(study, setting, design));
        let here: Vec<bool> = here.collect();
        match told.iter_mut().find(|(known, _)| *known == here) {
            Some((_, designs)) => designs.push(design),
            None => told.push((here, vec![design])),
        }
    }
    // Where it is the same everywhere, the axis says nothing.
    let differs = |kept: &[bool]| kept.windows(2).any(|pair| pair[0] != pair[1]);
    if !told.iter().any(|(kept, _)| differs(kept)) {
        return None;
    }
    let values: Vec<&str> = along
        .iter()
        .map(|&(place, _)| axis.values[place].text.as_str())
        .collect();
    let told = told
        .iter()
        .map(|(kept, designs)| format!("{} with {}", where_kept(kept, &values), list_of(designs)));
    let told: Vec<String> = told.collect();
    Some(format!(
        "Over {} the network keeps pace {}. Where it does not, unfinished bytes grow by more than {:.0} % from \
         the middle to the last third of the arrivals, more than {:.0} % do not end, or links are offered more \
         than they carry.",
        axis.name(),
        told.join("; "),
        GROWTH_TO_WARN_OF * 100.0,
        UNFINISHED * 100.0,
    ))
}

/// The values at which a design keeps up, in words.
fn where_kept(kept: &[bool], values: &[&str]) -> String {
    let changes = kept.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let first_other = kept.iter().position(|one| *one != kept[0]).unwrap_or(0);
    match (changes, kept.first() == Some(&true)) {
        (0, true) => "at every value".to_owned(),
        (0, false) => "at no value".to_owned(),
        (1, true) => format!(
            "up to {} and no longer at {}",
            values[first_other - 1],
            values[first_other]
        ),
        (1, false) => format!(
            "from {} on and not yet at {}",
            values[first_other],
            values[first_other - 1]
        ),
        _ => {
            let at = kept.iter().zip(values).filter(|(kept, _)| **kept);
            let at: Vec<&str> = at.map(|(_, value)| *value).collect();
            format!("at {} only", list_of(&at))
        }
    }
}

fn list_of(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    list(&words)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_at_which_values_a_design_keeps_up() {
        let told = |kept: &[bool]| where_kept(kept, &["1", "2", "4", "8"][..kept.len()]);
        assert_eq!(
            told(&[true, true, false, false]),
            "up to 2 and no longer at 4"
        );
        assert_eq!(told(&[false, true, true]), "from 2 on and not yet at 1");
        assert_eq!(told(&[true, false, true, false]), "at 1 and 4 only");
        assert_eq!(told(&[true, true]), "at every value");
        assert_eq!(told(&[false, false]), "at no value");
    }
}
