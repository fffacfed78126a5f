//! Colours of a heat map's cells: blue if a design is faster, orange if it is slower.

use super::model::Series;
use std::fmt::Write;

/// Colours of the levels on a light background.
pub(super) const LIGHT: [&str; 7] = [
    "#2166ac", "#67a9cf", "#d1e5f0", "#f0f0ee", "#fdd9bd", "#f4a05f", "#d1590f",
];
/// Colours of the levels on a dark background.
const DARK: [&str; 7] = [
    "#7fbdf5", "#3f7fb8", "#24435f", "#2c3036", "#5f3a22", "#a85a22", "#f08c3c",
];
/// Colours of the text inside cells.
pub(super) const LIGHT_TEXT: [&str; 7] = [
    "#ffffff", "#10141a", "#10141a", "#10141a", "#10141a", "#10141a", "#ffffff",
];
const DARK_TEXT: [&str; 7] = [
    "#10141a", "#ffffff", "#ffffff", "#ffffff", "#ffffff", "#ffffff", "#10141a",
];

/// Returns the colours for a light background as CSS custom properties.
pub(crate) fn light_cells() -> String {
    properties(&LIGHT, &LIGHT_TEXT)
}

/// Returns the colours for a dark background as CSS custom properties.
pub(crate) fn dark_cells() -> String {
    properties(&DARK, &DARK_TEXT)
}

fn properties(fills: &[&str], texts: &[&str]) -> String {
    let mut css = String::new();
    for (level, (fill, text)) in fills.iter().zip(texts).enumerate() {
        let _ = write!(css, "--cell-{level}:{fill};--cell-text-{level}:{text};");
    }
    css
}

/// Returns the CSS rules of the page for the cells of all levels.
pub(crate) fn cell_rules() -> String {
    let mut css = String::new();
    for level in 0..LIGHT.len() {
        let _ = write!(
            css,
            ".cell{level}{{fill:var(--cell-{level})}}.in{level}{{fill:var(--cell-text-{level})!important}}"
        );
    }
    css
}

/// Returns the CSS rules for the cells of one level in a separate file.
pub(super) fn file_rules(series: &Series) -> String {
    let level = level(series);
    let (fill, text) = (LIGHT[level], LIGHT_TEXT[level]);
    format!(".cell{level}{{fill:{fill}}}.in{level}{{fill:{text}}}")
}

/// Returns the level of a series of cells.
pub(super) fn level(series: &Series) -> usize {
    series.colour.min(LIGHT.len() - 1)
}
