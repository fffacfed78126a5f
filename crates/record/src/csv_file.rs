//! Tables to and from CSV: a header line, commas, an empty field for null.

use crate::table::{Data, Same, Schema, Table};
use std::io::{self, Read, Write};
use std::sync::Arc;

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
                    Data::Integer(values) => writer.write_field(values[row].to_string())?,
                    Data::Optional(values) => {
                        writer
                            .write_field(values[row].map(|v| v.to_string()).unwrap_or_default())?;
                    }
                    Data::Real(values) => writer.write_field(values[row].to_string())?,
                    Data::Text(values) => writer.write_field(&*values[row])?,
                    Data::Same(Same::Integer(value), _) => {
                        writer.write_field(value.to_string())?;
                    }
                    Data::Same(Same::Real(value), _) => {
                        writer.write_field(value.map(|v| v.to_string()).unwrap_or_default())?;
                    }
                    Data::Same(Same::Text(text), _) => writer.write_field(&**text)?,
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

/// Reads the columns of `schema`, which may be in any order and among others, and gives their rows to
/// `each`, at most `at_once` at a time.
pub(crate) fn read(
    file: impl Read,
    schema: &Schema,
    at_once: usize,
    mut each: impl FnMut(&Table) -> Result<(), String>,
) -> Result<(), String> {
    let mut reader = csv::Reader::from_reader(file);
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let mut positions = Vec::new();
    for (name, _) in schema {
        let position = header
            .iter()
            .position(|found| found == *name)
            .ok_or_else(|| format!("no column {name}"))?;
        positions.push(position);
    }
    let mut table = Table::of(schema);
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|error| error.to_string())?;
        for (column, &position) in table.columns.iter_mut().zip(&positions) {
            let field = record.get(position).unwrap_or_default();
            push(&mut column.data, field).ok_or_else(|| {
                let (line, name) = (row + 2, &column.name);
                format!("line {line}: column {name} is \"{field}\", not a number")
            })?;
        }
        if table.rows() >= at_once {
            each(&std::mem::replace(&mut table, Table::of(schema)))?;
        }
    }
    match table.rows() {
        0 => Ok(()),
        _ => each(&table),
    }
}

/// Appends `field`; `None` where it is not of the column's type.
fn push(data: &mut Data, field: &str) -> Option<()> {
    match data {
        Data::Integer(values) => values.push(field.parse().ok()?),
        Data::Optional(values) if field.is_empty() => values.push(None),
        Data::Optional(values) => values.push(Some(field.parse().ok()?)),
        Data::Real(values) => values.push(field.parse().ok()?),
        Data::Text(values) => values.push(match values.last() {
            Some(last) if **last == *field => Arc::clone(last),
            _ => Arc::from(field),
        }),
        Data::Same(..) => return None,
    }
    Some(())
}
