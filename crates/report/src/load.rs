//! Offered load of the links, and growth of the unfinished bytes. Both values show whether a gain is meaningful.

use crate::caveat::Caveat;
use crate::format::list;
use crate::format::{percent_digits, signed_percent};
use crate::run::Cell as StudyCell;
use crate::study::Study;
use crate::table::{Cell, Table};
use serde_json::Value;
use tailcut_record::{OfferedLoad, ParameterValue, TierLoad};

/// Growth of unfinished bytes above which the report warns (docs/caveats.md).
/// If the network can carry a constant load, the mean of the unfinished bytes does not grow.
/// If all traffic above the capacity waits, the mean grows by 67 %.
/// Chance and the start of a small study can cause a growth of 30 %.
pub(crate) const GROWTH_TO_WARN_OF: f64 = 0.5;

/// Returns a sentence that replaces the gains if a tier of links is overloaded.
/// The sentence contains the tier, its load, and the load at which the tier is not overloaded.
/// Returns `None` if no tier is overloaded, or if the runs do not contain their offered load.
pub(crate) fn overload(study: &Study, setting: usize) -> Option<String> {
    let cells = study.cells();
    let cell = cells.get(setting)?;
    let offered = highest(cell)?;
    let tier = offered.overloaded()?;
    let at = cell
        .setting
        .load
        .map_or_else(String::new, |load| format!(" at load {load}"));
    Some(format!(
        "Overload{at}: the {} are offered {} % of their capacity, so no design has a gain. {}.{}",
        tier.tier,
        percent_digits(tier.load * 100.0),
        sustainable_load(offered, cell.setting.load),
        Caveat::Overload.see()
    ))
}

/// Returns whether a tier of links is overloaded in this setting.
pub(crate) fn is_overloaded(study: &Study, setting: usize) -> bool {
    overload(study, setting).is_some()
}

/// Returns whether the workload of a setting offers a load during all arrivals.
/// A workload offers load during all arrivals if some flows arrive at random times, independent of the network.
pub(crate) fn is_sustained(study: &Study, setting: usize) -> bool {
    let cells = study.cells();
    let offered = cells.get(setting).and_then(highest);
    offered.is_some_and(|offered| !offered.tiers.is_empty())
}

/// Returns a text with the load at which no tier is overloaded.
fn sustainable_load(offered: &OfferedLoad, load: Option<f64>) -> String {
    let too_high = || offered.tiers.iter().filter(|tier| tier.load > 1.0);
    let fixed = |tier: &TierLoad| tier.load - tier.in_proportion;
    if let Some(tier) = too_high().find(|tier| fixed(tier) >= 1.0) {
        // The traffic that does not depend on the load already exceeds the capacity of the tier.
        // Only lower rates of all parts help.
        let rest = rounded_down(1.0 / tier.load);
        return format!("Try {rest} times the rate of every part of the workload");
    }
    let factors = too_high().map(|tier| (1.0 - fixed(tier)) / tier.in_proportion);
    let factor = factors.fold(f64::INFINITY, f64::min);
    match load {
        Some(load) => format!("Try --load {}", rounded_down(load * factor)),
        None => format!("Try {} times the rate", rounded_down(factor)),
    }
}

/// Returns a number as text with two significant digits, rounded down.
fn rounded_down(value: f64) -> String {
    let places = (1 - value.log10().floor() as i32).clamp(0, 9);
    let scale = 10f64.powi(places);
    let value = (value * scale + 1e-9).floor() / scale;
    format!("{value}")
}

/// Returns the sentences about the load that an answer contains.
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
                "Hot spot: the link {} is offered {} % of its capacity.{}",
                link.link,
                percent_digits(link.load * 100.0),
                Caveat::HotSpot.see()
            ));
        }
        sentences.extend(continued_sentence(study, setting, offered));
        sentences.extend(exempt_sentence(offered));
        if !offered.tiers.is_empty() {
            sentences.extend(growth_sentence(cell));
        }
    }
    sentences
}

/// Returns the offered load of the run whose most loaded tier has the largest load.
/// The offered loads of designs differ if a write is one flow to each replica with one design but not with another.
/// The offered loads of seeds differ if a permutation is random.
fn highest<'a>(cell: &StudyCell<'a>) -> Option<&'a OfferedLoad> {
    let runs = cell.designs.iter().flat_map(|(_, runs)| runs);
    let offered = runs.filter_map(|run| run.summary.offered.as_ref());
    let of = |offered: &OfferedLoad| offered.highest().map_or(0.0, |tier| tier.load);
    // If several runs have the same load, the first one is returned.
    offered.reduce(|best, next| if of(next) > of(best) { next } else { best })
}

fn tiers_sentence(offered: &OfferedLoad) -> Option<String> {
    let tiers = offered.tiers.iter();
    let loads = tiers.map(|tier| format!("{} {} %", tier.tier, percent_digits(tier.load * 100.0)));
    let loads: Vec<String> = loads.collect();
    (!loads.is_empty()).then(|| {
        format!(
            "Offered load: {}.{}",
            list(&loads),
            Caveat::OfferedLoad.see()
        )
    })
}

/// Returns a warning if new flows keep arriving until all recorded flows have finished, and links are overloaded.
/// On overloaded links, the recorded flows may never finish.
fn continued_sentence(study: &Study, setting: usize, offered: &OfferedLoad) -> Option<String> {
    let key = "measure.continue_load";
    let cells = study.cells();
    let swept = cells.get(setting)?.setting.parameter(key);
    let continues = match swept.map(|parameter| &parameter.value) {
        Some(value) => matches!(value, ParameterValue::Text(text) if text == "true"),
        None => study.manifest().config["measure"]["continue_load"] == true,
    };
    let tier = offered.highest().filter(|tier| tier.load >= 1.0);
    let link = offered.busiest.as_ref().filter(|link| link.load >= 1.0);
    let (links, load) = match (tier, link) {
        (Some(tier), _) => (format!("the {} are", tier.tier), tier.load),
        (None, Some(link)) => (format!("the link {} is", link.link), link.load),
        (None, None) => return None,
    };
    continues.then(|| {
        format!(
            "Warning: {key} is true, and {links} offered {} % of the capacity: flows keep arriving until all recorded \
             flows have ended, which may not happen before drain ends the run.",
            percent_digits(load * 100.0)
        )
    })
}

fn exempt_sentence(offered: &OfferedLoad) -> Option<String> {
    let kinds = offered.exempt.iter().map(|kind| {
        match kind.as_str() {
            "closed" => "a closed loop (it waits for the network)",
            "burst" => "a burst (it happens once)",
            "queries" => "queries (each waits for the answers to an earlier one)",
            "coflows" => "coflows of a file (they are fixed)",
            "application" => "an application (its packets depend on the packets that it receives)",
            _ => "a trace (its flows are fixed)",
        }
        .to_owned()
    });
    let kinds: Vec<String> = kinds.collect();
    (!kinds.is_empty()).then(|| format!("No offered load is known for {}.", list(&kinds)))
}

/// Returns the growth of unfinished bytes from the middle third to the last third of the arrivals.
/// The growth is computed over all seeds of a design. Returns `None` if the load does not continue during all arrivals.
pub(crate) fn growth(cell: &StudyCell<'_>, design: &str) -> Option<f64> {
    let (mut middle, mut last) = (0.0, 0.0);
    for run in cell.runs(design) {
        if let Some(unfinished) = run.unfinished_bytes() {
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
    (most.1 > GROWTH_TO_WARN_OF).then(|| {
        format!(
            "Backlog: unfinished bytes grow by {range} during the arrivals, so the network may not keep up.{}",
            Caveat::Backlog.see()
        )
    })
}

/// Returns the table of the load of each tier and of the growth of unfinished bytes, by setting and design.
/// Returns `None` if the runs contain neither loads nor unfinished bytes.
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
        title: "Offered load of the links".to_owned(),
        caption: "Rate of the data packets with headers, spread evenly over all shortest paths, divided by the \
                  capacity of a tier's links. Acknowledgements, handshakes, copies and retransmissions are not \
                  included. Unfinished bytes are all bytes of the flows and requests that have started and not \
                  finished. Their growth is from the middle third to the last third of the arrivals, over all \
                  seeds."
            .to_owned(),
        columns,
        rows,
    })
}

/// Removes the changes from the rows of overloaded settings.
/// In a queue that grows without end, a difference is not a gain. `settings` contains the setting of each row.
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

    fn sustainable_load_of(tiers: &[TierLoad], load: Option<f64>) -> String {
        let offered = OfferedLoad {
            tiers: tiers.to_vec(),
            ..OfferedLoad::default()
        };
        sustainable_load(&offered, load)
    }

    #[test]
    fn the_load_that_is_told_overloads_nothing() {
        let alone = sustainable_load_of(&[tier(9.48, 9.48)], Some(3.0));
        assert_eq!(alone, "Try --load 0.31");
        let beside_another_part = sustainable_load_of(&[tier(1.5, 1.0), tier(1.1, 0.2)], Some(0.8));
        assert_eq!(beside_another_part, "Try --load 0.4");
    }

    #[test]
    fn where_no_load_helps_the_rates_are_told() {
        let text = sustainable_load_of(&[tier(2.0, 0.5)], Some(0.5));
        assert_eq!(text, "Try 0.5 times the rate of every part of the workload");
    }
}
