//! Tables to and from CSV: a header line, commas, an empty field for null.

use crate::row::Heading;
use crate::table::{Column, Data, Table, push_text};
use std::io::{self, Read, Write};

/// A file that gets its rows some at a time.
pub(crate) struct Writer<W: Write>(csv::Writer<W>);

impl<W: Write> Writer<W> {
    /// A file of tables with the columns of this one.
    pub fn new(table: &Table, to: W) -> csv::Result<Self> {
        let mut writer = csv::Writer::from_writer(to);
        writer.write_record(table.columns.iter().map(|column| &*column.name))?;
        Ok(Self(writer))
    }

    /// Writes the table's rows.
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

    /// Ends the file, and gives back what it was written to.
    pub fn finish(self) -> io::Result<W> {
        self.0.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

/// Writes a number, or an empty field.
fn field(writer: &mut csv::Writer<impl Write>, value: Option<impl ToString>) -> csv::Result<()> {
    writer.write_field(value.map(|value| value.to_string()).unwrap_or_default())
}

/// Reads the columns of `headings`, which may be in any order and among others, and gives their rows to
/// `each`, at most `at_once` at a time.
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

/// Appends `field`; `None` where it is not of the column's type.
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
