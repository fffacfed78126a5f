//! CSV reader and writer of tables. A file has a header line, commas, and an empty field for null.

use crate::row::Heading;
use crate::table::{Column, Data, Table, push_text};
use std::io::{self, Read, Write};

/// CSV file that is written in pieces.
pub(crate) struct Writer<W: Write>(csv::Writer<W>);

impl<W: Write> Writer<W> {
    /// Writes the header with the columns of `table`, but no row.
    pub fn new(table: &Table, to: W) -> csv::Result<Self> {
        let mut writer = csv::Writer::from_writer(to);
        writer.write_record(table.columns.iter().map(|column| &*column.name))?;
        Ok(Self(writer))
    }

    /// Writes the rows of a table.
    pub fn write(&mut self, table: &Table) -> csv::Result<()> {
        let writer = &mut self.0;
        for row in 0..table.rows() {
            for column in &table.columns {
                match &column.data {
                    Data::Integer(values) => field(writer, values[row])?,
                    Data::Real(values) => field(writer, values[row])?,
                    Data::Text(values) => {
                        writer.write_field(values[row].as_deref().unwrap_or_default())?;
                    }
                }
            }
            writer.write_record(None::<&[u8]>)?;
        }
        Ok(())
    }

    /// Completes the file and returns the underlying writer.
    pub fn finish(self) -> io::Result<W> {
        self.0.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

/// Writes a number, or an empty field.
fn field(writer: &mut csv::Writer<impl Write>, value: Option<impl ToString>) -> csv::Result<()> {
    writer.write_field(value.map(|value| value.to_string()).unwrap_or_default())
}

/// Reads the columns of `headings` and passes their rows to `each`, at most `at_once` rows per call.
/// The file may contain further columns, and its columns may be in any order.
pub(crate) fn read(
    file: impl Read,
    headings: &[Heading],
    at_once: usize,
    mut each: impl FnMut(&Table) -> Result<(), String>,
) -> Result<(), String> {
    let mut reader = csv::Reader::from_reader(file);
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let mut positions = Vec::new();
    for Heading { name, .. } in headings {
        let position = header
            .iter()
            .position(|found| found == *name)
            .ok_or_else(|| format!("no column {name}"))?;
        positions.push(position);
    }
    let mut table = Table::of(headings);
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|error| error.to_string())?;
        for (column, &position) in table.columns.iter_mut().zip(&positions) {
            let field = record.get(position).unwrap_or_default();
            push(column, field).ok_or_else(|| {
                // The first line is line 1. This line is the header.
                let (line, name) = (row + 2, &column.name);
                format!("line {line}: column {name} is \"{field}\", not a number")
            })?;
        }
        if table.rows() >= at_once {
            each(&std::mem::replace(&mut table, Table::of(headings)))?;
        }
    }
    match table.rows() {
        0 => Ok(()),
        _ => each(&table),
    }
}

/// Appends a field to a column. Returns `None` if the field does not have the column's type.
fn push(column: &mut Column, field: &str) -> Option<()> {
    let is_null = column.is_optional && field.is_empty();
    match &mut column.data {
        Data::Integer(values) if is_null => values.push(None),
        Data::Integer(values) => values.push(Some(field.parse().ok()?)),
        Data::Real(values) if is_null => values.push(None),
        Data::Real(values) => values.push(Some(field.parse().ok()?)),
        Data::Text(values) => push_text(values, field),
    }
    Some(())
}
