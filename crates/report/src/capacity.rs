//! Capacity of the network: the values of a swept key at which the network keeps up with the offered traffic.

use crate::axes::Axis;
use crate::caveat::Caveat;
use crate::format::list;
use crate::load::{self, GROWTH_TO_WARN_OF, growth, is_overloaded};
use crate::study::Study;

/// Share of unfinished flows and sessions above which the network does not keep up with a design.
pub(crate) const UNFINISHED: f64 = 0.01;

/// Returns a sentence for each numeric axis, with the values at which the network keeps up with each design.
/// The list contains no sentence for an axis over which the result does not change.
pub(crate) fn sentences(study: &Study, headline: usize) -> Vec<String> {
    let axes = study.analysis().axes(headline);
    let numeric = axes.iter().filter(|axis| axis.is_numeric());
    numeric
        .filter_map(|axis| sentence(study, headline, axis))
        .collect()
}

fn sentence(study: &Study, headline: usize, axis: &Axis) -> Option<String> {
    let along = study.analysis().along(headline, axis);
    // A network has a capacity only for a load that continues, and not for a burst, a trace or a closed loop.
    if along
        .iter()
        .any(|&(_, setting)| !load::is_sustained(study, setting))
    {
        return None;
    }
    let mut by_outcome: Vec<(Vec<bool>, Vec<&str>)> = Vec::new();
    for design in study.designs() {
        let here = along
            .iter()
            .map(|&(_, setting)| keeps_up(study, setting, design));
        let here: Vec<bool> = here.collect();
        match by_outcome.iter_mut().find(|(known, _)| *known == here) {
            Some((_, designs)) => designs.push(design),
            None => by_outcome.push((here, vec![design])),
        }
    }
    // If the result is the same over the whole axis for all designs, the sentence would contain no information.
    let differs = |kept: &[bool]| kept.windows(2).any(|pair| pair[0] != pair[1]);
    if !by_outcome.iter().any(|(kept, _)| differs(kept)) {
        return None;
    }
    let values: Vec<&str> = along
        .iter()
        .map(|&(place, _)| axis.values[place].text.as_str())
        .collect();
    let by_outcome = by_outcome
        .iter()
        .map(|(kept, designs)| format!("{} with {}", where_kept(kept, &values), list_of(designs)));
    let by_outcome: Vec<String> = by_outcome.collect();
    Some(format!(
        "Capacity over {}: the network keeps up {}.{}",
        axis.name(),
        by_outcome.join("; "),
        Caveat::Capacity.see()
    ))
}

/// Returns the values at which the network keeps up with a design, as text.
fn where_kept(kept: &[bool], values: &[&str]) -> String {
    let changes = kept.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let first_other = kept.iter().position(|one| *one != kept[0]).unwrap_or(0);
    match (changes, kept.first() == Some(&true)) {
        (0, true) => "at every value".to_owned(),
        (0, false) => "at no value".to_owned(),
        (1, true) => format!(
            "up to {} but not at {}",
            values[first_other - 1],
            values[first_other]
        ),
        (1, false) => format!(
            "at {} and above but not at {}",
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

/// Returns whether the network keeps up with a design in a setting.
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
        let text = |kept: &[bool]| where_kept(kept, &["1", "2", "4", "8"][..kept.len()]);
        assert_eq!(text(&[true, true, false, false]), "up to 2 but not at 4");
        assert_eq!(text(&[false, true, true]), "at 2 and above but not at 1");
        assert_eq!(text(&[true, false, true, false]), "at 1 and 4 only");
        assert_eq!(text(&[true, true]), "at every value");
        assert_eq!(text(&[false, false]), "at no value");
    }
}
