//! Short form of sets of seeds.
//! For each run, the short form contains the number of mice, the sum of their times, and the times of the slowest mice.
//! The short form of a run is sufficient for means and tail percentiles.

use crate::measure::{Mice, SET, Seed, Truth};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Number of sets in the short form.
const SETS: usize = 40;

/// Percentage of the mice of a run whose times are stored.
const SLOWEST: usize = 4;

/// Writes the short form of the first sets of `seeds`, with the true values.
pub fn write(file: &Path, seeds: &[Seed], truths: &BTreeMap<String, Truth>) -> anyhow::Result<()> {
    let mut text = String::new();
    for (name, truth) in truths.iter().filter(|(name, _)| !name.contains("p50")) {
        let on_gap = if truth.on_gap { " gap" } else { "" };
        writeln!(text, "truth|{name}|{}{on_gap}", truth.value)?;
    }
    for seed in &seeds[..SETS * SET] {
        for mice in seed {
            let mut sorted = mice.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let (short, slowest) = sorted.split_at(sorted.len() - sorted.len() * SLOWEST / 100);
            let tail: Vec<String> = slowest.iter().map(|us| format!("{us:.0}")).collect();
            let mean = short.iter().sum::<f64>() / short.len() as f64;
            writeln!(text, "{} {mean:.2} {}", short.len(), tail.join(" "))?;
        }
    }
    std::fs::write(file, text)?;
    Ok(())
}

/// Reads the sets and the true values from a short form.
/// All mice except the slowest ones get their mean time.
pub fn read(text: &str) -> Option<(Vec<Seed>, BTreeMap<String, Truth>)> {
    let mut truths = BTreeMap::new();
    let mut runs: Vec<Mice> = Vec::new();
    for line in text.lines() {
        if let Some(truth) = line.strip_prefix("truth|") {
            let (name, value) = truth.split_once('|')?;
            let (value, on_gap) = match value.strip_suffix(" gap") {
                Some(value) => (value, true),
                None => (value, false),
            };
            let value = value.parse().ok()?;
            truths.insert(name.to_owned(), Truth { value, on_gap });
            continue;
        }
        let mut words = line.split(' ');
        let short: usize = words.next()?.parse().ok()?;
        let mut mice = vec![words.next()?.parse().ok()?; short];
        for word in words {
            mice.push(word.parse().ok()?);
        }
        runs.push(mice);
    }
    let seeds = runs
        .chunks_exact(3)
        .filter_map(|runs| runs.to_vec().try_into().ok());
    Some((seeds.collect(), truths))
}
