//! The load that a workload offers the links, and whether what is unfinished grows: what a reader has to
//! know before a gain is believed.

use crate::format::list;
use crate::format::{percent_digits, signed_percent};
use crate::run::Cell as StudyCell;
use crate::study::Study;
use crate::table::{Cell, Table};
use serde_json::Value;
use tailcut_record::{OfferedLoad, TierLoad};

/// From this growth on, what is unfinished is warned of. Once a constant load has settled it does not grow in
/// the mean; where everything beyond the load waits, it grows by 67 %. Chance and the beginning of a
/// small study make 30 %.
pub(crate) const GROWTH_TO_WARN_OF: f64 = 0.5;

/// What is said in place of gains where a tier of links is offered more than it can carry: which, how
/// much, and at which load it would not be. `None` where none is, or where the runs do not say.
pub(crate) fn overload(study: &Study, setting: usize) -> Option<String> {
    let cells = study.cells();
    let cell = cells.get(setting)?;
    let offered = highest(cell)?;
    let tier = offered.overloaded()?;
    let at = cell
        .setting
        .load
        .map_or_else(|| "Here".to_owned(), |load| format!("At load {load}"));
    Some(format!(
        "{at} no gain is told: the {} are offered {} % of what they can carry, so the figures say how far \
         queues grew until the run ended. {}.",
        tier.tier,
        percent_digits(tier.load * 100.0),
        remedy(offered, cell.setting.load)
    ))
}

/// Whether a tier of links is overloaded in this setting.
pub(crate) fn is_overloaded(study: &Study, setting: usize) -> bool {
    overload(study, setting).is_some()
}

/// At which load no tier is overloaded.
fn remedy(offered: &OfferedLoad, load: Option<f64>) -> String {
    let too_high = || offered.tiers.iter().filter(|tier| tier.load > 1.0);
    let fixed = |tier: &TierLoad| tier.load - tier.in_proportion;
    if let Some(tier) = too_high().find(|tier| fixed(tier) >= 1.0) {
        // No load helps; all parts at a fraction of their rates would.
        let rest = rounded_down(1.0 / tier.load);
        return format!("At {rest} times the rate of every part of the workload they would not be");
    }
    let factors = too_high().map(|tier| (1.0 - fixed(tier)) / tier.in_proportion);
    let factor = factors.fold(f64::INFINITY, f64::min);
    match load {
        Some(load) => format!(
            "At --load {} they would not be",
            rounded_down(load * factor)
        ),
        None => format!(
            "At {} times the rate they would not be",
            rounded_down(factor)
        ),
    }
}

/// Two significant digits, rounded down.
fn rounded_down(value: f64) -> String {
    let places = (1 - value.log10().floor() as i32).clamp(0, 9);
    let scale = 10f64.powi(places);
    let value = (value * scale + 1e-9).floor() / scale;
    format!("{value}")
}

/// What there is to say of the load beside an answer.
pub(crate) fn sentences(study: &Study, setting: usize) -> Vec<String> {
    let cells = study.cells();
    let Some(cell) = cells.get(setting) else {
        return Vec::new();
    };
    let mut sentences = Vec::new();
    if let Some(offered) = highest(cell) {
        sentences.extend(tiers_sentence(offered));
        if offered.overloaded().is_none()
            && let Some(link) = offered.busiest.as_ref().filter(|link| link.load > 1.0)
        {
            sentences.push(format!(
                "Warning: the link {} alone is offered {} % of what it can carry, a hot spot of the traffic \
                 matrix.",
                link.link,
                percent_digits(link.load * 100.0)
            ));
        }
        sentences.extend(exempt_sentence(offered));
        if !offered.tiers.is_empty() {
            sentences.extend(growth_sentence(cell));
        }
    }
    sentences
}

/// What the runs of a setting are offered, where the highest tier is higher than in any other: designs
/// differ where a write is a flow a replica or one multicast, seeds where a permutation is drawn.
fn highest<'a>(cell: &StudyCell<'a>) -> Option<&'a OfferedLoad> {
    let runs = cell.designs.iter().flat_map(|(_, runs)| runs);
    let offered = runs.filter_map(|run| run.summary.offered.as_ref());
    let of = |offered: &OfferedLoad| offered.highest().map_or(0.0, |tier| tier.load);
    // Of equal ones the first.
    offered.reduce(|best, next| if of(next) > of(best) { next } else { best })
}

fn tiers_sentence(offered: &OfferedLoad) -> Option<String> {
    let tiers = offered.tiers.iter();
    let loads = tiers.map(|tier| format!("{} {} %", tier.tier, percent_digits(tier.load * 100.0)));
    let loads: Vec<String> = loads.collect();
    (!loads.is_empty()).then(|| {
        format!(
            "Offered load, with headers and without acknowledgements, copies and retransmissions: {}.",
            list(&loads)
        )
    })
}

fn exempt_sentence(offered: &OfferedLoad) -> Option<String> {
    let kinds = offered.exempt.iter().map(|kind| {
        match kind.as_str() {
            "closed" => "a closed loop (it waits for the network)",
            "burst" => "a burst (it comes once)",
            "application" => "an application (what it sends follows from what it hears)",
            _ => "a trace (it is run as it is)",
        }
        .to_owned()
    });
    let kinds: Vec<String> = kinds.collect();
    (!kinds.is_empty()).then(|| format!("No load is told of {}.", list(&kinds)))
}

/// How unfinished bytes grew from the middle to the last third of the arrivals, over all seeds of a design.
pub(crate) fn growth(cell: &StudyCell<'_>, design: &str) -> Option<f64> {
    let (mut middle, mut last) = (0.0, 0.0);
    for run in cell.runs(design) {
        if let Some(unfinished) = run.summary.unfinished_bytes {
            middle += unfinished.middle;
            last += unfinished.last;
        }
    }
    (middle > 0.0).then(|| last / middle - 1.0)
}

fn growth_sentence(cell: &StudyCell<'_>) -> Option<String> {
    let designs = cell.designs.iter();
    let mut of_designs: Vec<(&str, f64)> = designs
        .filter_map(|(design, _)| Some((*design, growth(cell, design)?)))
        .collect();
    of_designs.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (least, most) = (of_designs.first()?, of_designs.last()?);
    let of =
        |(design, growth): &(&str, f64)| format!("{} % ({design})", signed_percent(growth * 100.0));
    let range = match of_designs.len() {
        1 => of(most),
        _ => format!("{} to {}", of(least), of(most)),
    };
    let (warning, meaning) = match most.1 > GROWTH_TO_WARN_OF {
        true => (
            "Warning: ",
            "; where that is no chance, the network does not keep up, and longer runs say something else",
        ),
        false => ("", ""),
    };
    Some(format!(
        "{warning}Unfinished bytes from the middle to the last third of the arrivals: {range}{meaning}."
    ))
}

/// The load of every tier and the growth of unfinished bytes, by setting and design; `None` where the
/// runs do not say.
pub(crate) fn table(study: &Study) -> Option<Table> {
    let analysis = study.analysis();
    let cells = study.cells();
    let mut tiers: Vec<&str> = Vec::new();
    for run in study.runs() {
        for tier in run
            .summary
            .offered
            .iter()
            .flat_map(|offered| &offered.tiers)
        {
            if !tiers.contains(&tier.tier.as_str()) {
                tiers.push(&tier.tier);
            }
        }
    }
    let share = |value: Option<f64>| {
        let text = value.map(|value| format!("{} %", percent_digits(value * 100.0)));
        Cell::new(text.unwrap_or_else(|| "–".to_owned()), value)
    };
    let mut rows = Vec::new();
    for (setting, cell) in cells.iter().enumerate() {
        for (design, runs) in &cell.designs {
            let load_of = |tier: &str| {
                let offered = runs.iter().filter_map(|run| run.summary.offered.as_ref());
                let of_tier = offered.flat_map(|offered| &offered.tiers);
                let loads = of_tier.filter(|t| t.tier == tier).map(|t| t.load);
                loads.reduce(f64::max)
            };
            let growth = growth(cell, design);
            let text = growth.map(|growth| format!("{} %", signed_percent(growth * 100.0)));
            let mut row = analysis.setting_cells(setting);
            row.push(Cell::text(*design));
            row.extend(tiers.iter().map(|tier| share(load_of(tier))));
            row.push(Cell::new(text.unwrap_or_else(|| "–".to_owned()), growth));
            rows.push(row);
        }
    }
    let mut columns = analysis.setting_columns();
    columns.push("design".to_owned());
    columns.extend(tiers.iter().map(|tier| (*tier).to_owned()));
    columns.push("growth of unfinished bytes".to_owned());
    (!tiers.is_empty()).then(|| Table {
        id: "load".to_owned(),
        title: "What the workload offers the links".to_owned(),
        caption: "Data packets with headers over what the links of a tier can carry, over all shortest paths \
                  evenly; acknowledgements, handshakes, copies and retransmissions come on top. Unfinished \
                  bytes are those of flows and requests that have started and not finished, each whole \
                  until it has; their growth is from the middle to the last third of the arrivals, over \
                  all seeds."
            .to_owned(),
        columns,
        rows,
    })
}

/// The table without changes in the rows of overloaded settings: what a queue that never stops growing
/// does is no gain. `settings` are those of its rows.
pub(crate) fn without_gains(study: &Study, settings: &[usize], mut table: Table) -> Table {
    let is_change: Vec<bool> = table
        .columns
        .iter()
        .map(|name| name.contains("vs ") && !name.starts_with("bytes"))
        .collect();
    for (row, &setting) in table.rows.iter_mut().zip(settings) {
        let is_here = is_overloaded(study, setting);
        let cells = row.iter_mut().zip(&is_change);
        for (cell, _) in cells.filter(|(_, is_change)| is_here && **is_change) {
            *cell = Cell::new("–".to_owned(), Value::Null);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(load: f64, in_proportion: f64) -> TierLoad {
        TierLoad {
            tier: "leaf uplinks".to_owned(),
            load,
            in_proportion,
        }
    }

    fn remedy_of(tiers: &[TierLoad], load: Option<f64>) -> String {
        let offered = OfferedLoad {
            tiers: tiers.to_vec(),
            ..OfferedLoad::default()
        };
        remedy(&offered, load)
    }

    #[test]
    fn the_load_that_is_told_overloads_nothing() {
        let alone = remedy_of(&[tier(9.48, 9.48)], Some(3.0));
        assert_eq!(alone, "At --load 0.31 they would not be");
        let beside_another_part = remedy_of(&[tier(1.5, 1.0), tier(1.1, 0.2)], Some(0.8));
        assert_eq!(beside_another_part, "At --load 0.4 they would not be");
    }

    #[test]
    fn where_no_load_helps_the_rates_are_told() {
        let told = remedy_of(&[tier(2.0, 0.5)], Some(0.5));
        assert_eq!(
            told,
            "At 0.5 times the rate of every part of the workload they would not be"
        );
    }
}
