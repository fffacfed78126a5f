//! Sensitivity of the designs' order: whether it changes with other timers and buffers.

use crate::format::Quantity;
use crate::format::list;
use crate::headline::headline_group;
use crate::load;
use crate::sample::{Metric, Statistic};
use crate::study::Study;
use crate::table::{Cell, Table};
use crate::variant::{Ranked, Variant};

/// Returns the designs of a study in the order of the tail that the answer compares. The shortest tail is first.
pub fn order(study: &Study) -> Vec<Ranked> {
    let analysis = study.analysis();
    let Some(setting) = analysis.headline() else {
        return Vec::new();
    };
    let group = headline_group(analysis, setting);
    let rows = analysis.rows(setting, &group);
    let mut order: Vec<Ranked> = rows
        .map(|row| {
            let p99 = row.estimate(Metric::Fct, Statistic::P99);
            Ranked {
                design: row.design.clone(),
                p99_us: p99.map(|p99| p99.value).filter(|value| value.is_finite()),
                interval_us: p99.and_then(|p99| p99.interval),
            }
        })
        .collect();
    let p99 = |ranked: &Ranked| ranked.p99_us.unwrap_or(f64::INFINITY);
    order.sort_by(|a, b| p99(a).total_cmp(&p99(b)));
    order
}

/// Returns whether two designs are distinguishable.
/// Two designs with intervals are distinguishable if the intervals do not overlap.
/// Two designs without intervals are distinguishable if their values differ.
fn apart(a: &Ranked, b: &Ranked) -> bool {
    match (a.interval_us, b.interval_us) {
        (Some(a), Some(b)) => a.1 < b.0 || b.1 < a.0,
        _ => a.p99_us != b.p99_us,
    }
}

/// Returns whether two designs change their order. At least one of the two orders must distinguish the designs.
fn changes(usual: &[Ranked], other: &[Ranked]) -> bool {
    let place = |design: &str| other.iter().position(|ranked| ranked.design == design);
    usual.iter().enumerate().any(|(index, before)| {
        usual[index + 1..].iter().any(|behind| {
            let (Some(a), Some(b)) = (place(&before.design), place(&behind.design)) else {
                return false;
            };
            a > b && (apart(before, behind) || apart(&other[a], &other[b]))
        })
    })
}

fn names(order: &[Ranked]) -> String {
    let names: Vec<&str> = order.iter().map(|ranked| ranked.design.as_str()).collect();
    names.join(", ")
}

/// Returns a sentence that says whether the order of the designs stays the same if timers and buffers change.
/// Returns `None` if the study has no runs with changed timers or buffers, or if the order has no meaning.
pub(crate) fn sentence(study: &Study) -> Option<String> {
    let usual = order(study);
    let setting = study.analysis().headline()?;
    if study.sensitivity.is_empty() || usual.len() < 2 || load::is_overloaded(study, setting) {
        return None;
    }
    let (changed, held): (Vec<&Variant>, Vec<&Variant>) = study
        .sensitivity
        .iter()
        .partition(|variant| changes(&usual, &variant.order));
    let what = |variants: &[&Variant]| {
        let names: Vec<String> = variants
            .iter()
            .map(|variant| variant.what.clone())
            .collect();
        list(&names)
    };
    if changed.is_empty() {
        return Some(format!(
            "The order of the designs by this p99, {}, holds with {}, for all significant differences.",
            names(&usual),
            what(&held)
        ));
    }
    let others = changed
        .iter()
        .map(|variant| format!("{} with {}", names(&variant.order), variant.what));
    let others: Vec<String> = others.collect();
    let held = match held.is_empty() {
        true => String::new(),
        false => format!("; it holds with {}", what(&held)),
    };
    Some(format!(
        "The order of the designs by this p99, {}, does not hold: it is {}{held}.",
        names(&usual),
        list(&others)
    ))
}

/// Returns the table of the tails with other timers and buffers.
pub(crate) fn table(study: &Study) -> Option<Table> {
    let usual = Variant {
        what: "unchanged".to_owned(),
        order: order(study),
    };
    let variants = std::iter::once(&usual).chain(&study.sensitivity);
    let rows = variants.flat_map(|variant| {
        variant.order.iter().map(|ranked| {
            let text = match ranked.p99_us {
                Some(value) => Quantity::Time.with_interval(value, ranked.interval_us),
                None => "unfinished".to_owned(),
            };
            vec![
                Cell::text(&variant.what),
                Cell::text(&ranked.design),
                Cell::new(text, (ranked.p99_us, ranked.interval_us)),
            ]
        })
    });
    (!study.sensitivity.is_empty()).then(|| Table {
        id: "sensitivity".to_owned(),
        title: "Other timers and buffers".to_owned(),
        caption: "The p99 of the answer, the shortest first. Timers are retransmission timeouts and delayed \
                  acknowledgement timers. Buffers are the buffers of switches."
            .to_owned(),
        columns: ["timers and buffers", "design", "p99"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranked(design: &str, p99_us: f64, half: f64) -> Ranked {
        Ranked {
            design: design.to_owned(),
            p99_us: Some(p99_us),
            interval_us: Some((p99_us - half, p99_us + half)),
        }
    }

    #[test]
    fn designs_that_change_places_within_their_intervals_keep_the_order() {
        let usual = [ranked("a", 10.0, 2.0), ranked("b", 11.0, 2.0)];
        let near = [ranked("b", 10.0, 2.0), ranked("a", 11.0, 2.0)];
        let far = [ranked("b", 10.0, 2.0), ranked("a", 20.0, 2.0)];
        assert!(!changes(&usual, &usual));
        assert!(!changes(&usual, &near));
        assert!(changes(&usual, &far));
    }
}
