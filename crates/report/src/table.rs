//! Tables of a report, and their conversion to Markdown and JSON.

use serde_json::{Map, Value, json};

/// Table of the report.
#[derive(Clone, Debug)]
pub struct Table {
    /// Name of the table for scripts, unique within a report.
    pub id: String,
    /// Title of the table.
    pub title: String,
    /// Explanation of the table in one or two sentences; empty without an explanation.
    pub caption: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
}

/// Cell of a table, with a text for people and a value for scripts.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    /// Text of the cell, with unit and interval.
    pub text: String,
    /// Value of the cell. `docs/output.md` lists the units of numbers.
    pub value: Value,
    /// Direction of a significant difference; `None` if the cell has no significant difference.
    pub tendency: Option<Tendency>,
}

/// Direction of a significant difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tendency {
    /// The design is faster than the baseline.
    Better,
    /// The design is slower than the baseline.
    Worse,
}

impl Cell {
    /// Creates a cell of plain text.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            value: Value::String(text.clone()),
            text,
            tendency: None,
        }
    }

    /// Creates a cell that contains a count.
    pub fn count(n: u64) -> Self {
        Self {
            text: crate::format::count(n),
            value: n.into(),
            tendency: None,
        }
    }

    /// Creates a cell with different text and value.
    pub fn new(text: String, value: impl serde::Serialize) -> Self {
        Self {
            text,
            value: serde_json::to_value(value).unwrap_or_default(),
            tendency: None,
        }
    }

    /// Returns whether the cell contains a number. Cells with numbers are aligned right.
    pub fn is_number(&self) -> bool {
        !self.value.is_string()
    }
}

impl Table {
    /// Returns the table without the columns that have no value in any row.
    /// For example, comparisons have no values in a study of only one design.
    pub(crate) fn without_empty_columns(mut self) -> Self {
        let kept: Vec<bool> = (0..self.columns.len())
            .map(|column| self.rows.iter().any(|row| !row[column].value.is_null()))
            .collect();
        let mut of_columns = kept.iter();
        self.columns.retain(|_| of_columns.next() == Some(&true));
        for row in &mut self.rows {
            let mut of_row = kept.iter();
            row.retain(|_| of_row.next() == Some(&true));
        }
        self
    }

    /// Returns the table without the column of this name.
    #[must_use]
    pub fn without(mut self, column: &str) -> Self {
        if let Some(place) = self.columns.iter().position(|name| name == column) {
            self.columns.remove(place);
            for row in &mut self.rows {
                row.remove(place);
            }
        }
        self
    }

    /// Returns the rows of the table as Markdown, without the title.
    pub fn to_markdown(&self) -> String {
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let cells = cells.map(|cell| cell.replace('|', "\\|"));
            format!("| {} |\n", cells.collect::<Vec<String>>().join(" | "))
        };
        let head = line(&mut self.columns.iter().map(String::as_str));
        let rule = format!("|{}\n", "---|".repeat(self.columns.len()));
        let rows = self.rows.iter();
        let rows = rows.map(|row| line(&mut row.iter().map(|cell| cell.text.as_str())));
        [head, rule].into_iter().chain(rows).collect()
    }

    /// Returns the rows of the table as JSON objects. The names of the columns are the keys.
    pub fn to_json(&self) -> Value {
        let rows = self.rows.iter().map(|row| {
            let fields = self.columns.iter().zip(row);
            let object: Map<String, Value> = fields
                .map(|(name, cell)| (name.clone(), cell.value.clone()))
                .collect();
            Value::Object(object)
        });
        json!({ "id": self.id, "title": self.title, "rows": rows.collect::<Vec<_>>() })
    }
}
