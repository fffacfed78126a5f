//! Cells of tables that contain figures.

use crate::analysis::Row;
use crate::format::{Quantity, estimate};
use crate::sample::{Metric, Statistic};
use crate::table::Cell;
use serde_json::{Value, json};

/// Returns a cell with a figure and its interval.
/// If there are too few seeds, the cell contains the number of seeds that the figure needs.
pub(crate) fn figure_cell(row: &Row, metric: Metric, statistic: Statistic) -> Cell {
    let outcome = row.outcome(metric, statistic);
    let value = match outcome {
        Some(Ok(estimate)) => json!(estimate),
        Some(Err(too_few)) => json!({ "too_few": too_few }),
        None => Value::Null,
    };
    Cell::new(estimate(outcome, Quantity::of(metric)), value)
}
