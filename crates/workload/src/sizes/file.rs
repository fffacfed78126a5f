//! Parser for tables of flow sizes. The number of values in a row determines the layout of a table.
//!
//! | layout | row | sizes | between two rows |
//! |---|---|---|---|
//! | CSV | `bytes,cumulative` | bytes, or with a unit | linear |
//! | HPCC's traffic generator | `bytes per-cent` | bytes | linear |
//! | ns-2, as in pFabric's scripts | `packets count cumulative` | packets of 1,460 bytes | linear |
//! | Homa's simulator | `bytes cumulative`, after a row with the mean size | bytes | none: each size is an atom |
//!
//! Cumulative probabilities end at 1, or at 100 in the layout of HPCC. A value such as `50%` is also allowed.

use super::parse::LARGEST;
use super::{Point, SizeDistribution};
use crate::error::{Error, TextError, quoted};
use crate::number;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use tailcut_units::quantity;

/// Layout of a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Csv,
    /// Two columns without a comma: the table of HPCC in per cent, or a table of shares up to 1.
    Columns,
    Ns2,
    Homa,
}

/// Bytes in a packet of the ns-2 tables.
const NS2_PACKET: u64 = 1_460;

impl Layout {
    /// Returns the layout of a table whose first row is `row`.
    fn of(row: &str) -> Option<Self> {
        match row.split_ascii_whitespace().count() {
            _ if row.contains(',') => Some(Self::Csv),
            1 => Some(Self::Homa),
            2 => Some(Self::Columns),
            3 => Some(Self::Ns2),
            _ => None,
        }
    }

    /// Returns the texts of the size and of the cumulative probability in a row.
    fn split(self, row: &str) -> Option<(&str, &str)> {
        if self == Self::Csv {
            let (bytes, cumulative) = row.split_once(',')?;
            return Some((bytes.trim(), cumulative.trim()));
        }
        let mut fields = row.split_ascii_whitespace();
        let bytes = fields.next()?;
        if self == Self::Ns2 {
            fields.next()?;
        }
        let cumulative = fields.next()?;
        fields.next().is_none().then_some((bytes, cumulative))
    }

    const fn row(self) -> &'static str {
        match self {
            Self::Csv => "a row `bytes,cumulative`",
            Self::Columns | Self::Homa => "a row `bytes cumulative`",
            Self::Ns2 => "a row `packets count cumulative`",
        }
    }
}

/// Row of a table.
struct Row<'a> {
    /// Number of the line in the file, from 1.
    line: usize,
    /// Size in the units of the table.
    size: u64,
    /// Cumulative probability from 0 to 1, or a number up to 100 in a table in per cent.
    cumulative: f64,
    text: &'a str,
}

impl SizeDistribution {
    /// Returns the distribution of a table in text. `unit` is the number of bytes in a unit of the table's sizes.
    /// With `None`, a unit is one byte, or 1,460 bytes in a table of ns-2.
    ///
    /// - The rows are in ascending order. Empty rows and comments after `#` are ignored.
    ///   A table in CSV may begin with the header `bytes,cumulative`.
    /// - The cumulative probability of the last row is 1, or 100 in a table in per cent.
    /// - A first point with a probability above zero is an atom at its size. A table without an atom starts with `0,0`.
    ///
    /// In a table of Homa's simulator, a probability may be lower than the probability of the previous row.
    /// Instead of a lower probability, the previous one is used. The published table of web search has such rows.
    ///
    /// # Errors
    /// [`Error::Text`] with the line, the text that was found, and the allowed text.
    pub fn from_table(text: &str, unit: Option<u64>) -> Result<Self, Error> {
        let mut rows = rows(text).peekable();
        let Some(&(line, first)) = rows.peek() else {
            return Err(last_row(1, "no rows".to_string()).into());
        };
        let layout = Layout::of(first).ok_or_else(|| {
            let allowed = "a row `bytes,cumulative`, or two or three columns";
            TextError::new(line, "", quoted(first), allowed)
        })?;
        let is_header = match layout {
            Layout::Csv => layout.split(first) == Some(("bytes", "cumulative")),
            Layout::Homa => first.parse::<f64>().is_ok_and(|mean| mean > 0.0),
            Layout::Columns | Layout::Ns2 => false,
        };
        if is_header {
            rows.next();
        }
        let default = if layout == Layout::Ns2 { NS2_PACKET } else { 1 };
        let unit = unit.unwrap_or(default).max(1);
        let parsed = parsed(layout, rows, unit)?;
        let last = parsed.last();
        let whole = match last {
            Some(row) if layout == Layout::Columns && row.cumulative > 1.0 => 100.0,
            _ => 1.0,
        };
        let mut points: Vec<Point> = Vec::with_capacity(parsed.len());
        for row in &parsed {
            let point = Point {
                bytes: row.size * unit,
                cumulative: row.cumulative / whole,
            };
            if layout == Layout::Homa {
                let before = points.last().map_or(0.0, |point| point.cumulative);
                points.push(Point {
                    cumulative: before,
                    ..point
                });
            }
            points.push(point);
        }
        Self::new(points).map_err(|_| {
            let (line, found) = match last {
                Some(row) => (row.line, format!("the last row `{}`", row.text)),
                None => (line, "no rows".to_string()),
            };
            last_row(line, found).into()
        })
    }
}

/// Returns the rows of a table with their line numbers. Comments are removed.
fn rows(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines());
    let rows = lines.map(|(line, text)| {
        let row = text.split('#').next().unwrap_or_default();
        (line, row.trim().trim_start_matches('\u{feff}'))
    });
    rows.filter(|(_, row)| !row.is_empty())
}

fn parsed<'a>(
    layout: Layout,
    rows: impl Iterator<Item = (usize, &'a str)>,
    unit: u64,
) -> Result<Vec<Row<'a>>, TextError> {
    let largest = LARGEST / unit;
    let whole = if layout == Layout::Columns {
        100.0
    } else {
        1.0
    };
    let mut parsed: Vec<Row<'a>> = Vec::new();
    for (line, text) in rows {
        let split = layout.split(text);
        let (bytes, share) =
            split.ok_or_else(|| TextError::new(line, "", quoted(text), layout.row()))?;
        let before = parsed
            .last()
            .map_or((0, 0.0), |row| (row.size, row.cumulative));
        let sizes = before.0..=largest;
        let size = number::size(bytes)
            .filter(|size| sizes.contains(size))
            .ok_or_else(|| {
                let allowed = format!("a size from {} (the row before) to {largest}", before.0);
                TextError::new(line, "bytes", quoted(bytes), allowed)
            })?;
        let least = if layout == Layout::Homa {
            0.0
        } else {
            before.1
        };
        let cumulative = quantity::within(share, least..=whole).map_err(|_| {
            let allowed = format!("a number from {least} (the row before) to {whole}");
            TextError::new(line, "cumulative", quoted(share), allowed)
        })?;
        if parsed.len() == SizeDistribution::MOST_POINTS {
            return Err(TextError::new(
                line,
                "",
                "another row".to_string(),
                "at most 100,000 rows",
            ));
        }
        parsed.push(Row {
            line,
            size,
            cumulative: cumulative.max(before.1),
            text,
        });
    }
    Ok(parsed)
}

fn last_row(line: usize, found: String) -> TextError {
    let allowed =
        "a last row with a size above 0 and a cumulative probability of 1 (100 in per cent)";
    TextError::new(line, "", found, allowed)
}
