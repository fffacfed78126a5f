//! Tables to and from CSV: a header line, commas, an empty field for null.

use crate::table::{Column, Data, Same, Schema, Table};
use std::sync::Arc;

/// The file's bytes.
pub(crate) fn encode(table: &Table) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(table.columns.iter().map(|column| &*column.name))?;
    for row in 0..table.rows() {
        for column in &table.columns {
            match &column.data {
                Data::Integer(values) => writer.write_field(values[row].to_string())?,
                Data::Optional(values) => {
                    writer.write_field(values[row].map(|v| v.to_string()).unwrap_or_default())?;
                }
                Data::Real(values) => writer.write_field(values[row].to_string())?,
                Data::Text(values) => writer.write_field(&*values[row])?,
                Data::Same(Same::Integer(value), _) => writer.write_field(value.to_string())?,
                Data::Same(Same::Real(value), _) => {
                    writer.write_field(value.map(|v| v.to_string()).unwrap_or_default())?;
                }
                Data::Same(Same::Text(text), _) => writer.write_field(&**text)?,
            }
        }
        writer.write_record(None::<&[u8]>)?;
    }
    writer
        .into_inner()
        .map_err(|error| error.into_error().into())
}

/// Reads the columns of `schema`, which may be in any order and among others.
pub(crate) fn decode(bytes: &[u8], schema: &Schema) -> Result<Table, String> {
    let mut reader = csv::Reader::from_reader(bytes);
    let header = reader.headers().map_err(|error| error.to_string())?.clone();
    let mut positions = Vec::new();
    let mut table = Table::default();
    for &(name, kind) in schema {
        let position = header
            .iter()
            .position(|found| found == name)
            .ok_or_else(|| format!("no column {name}"))?;
        positions.push(position);
        table.columns.push(Column {
            name: name.into(),
            data: Data::empty(kind),
        });
    }
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(|error| error.to_string())?;
        for (column, &position) in table.columns.iter_mut().zip(&positions) {
            let field = record.get(position).unwrap_or_default();
            push(&mut column.data, field).ok_or_else(|| {
                let (line, name) = (row + 2, &column.name);
                format!("line {line}: column {name} is \"{field}\", not a number")
            })?;
        }
    }
    Ok(table)
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
