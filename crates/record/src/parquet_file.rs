//! Tables to and from Parquet: one row group, Snappy, dictionaries where they help.

use crate::table::{Column, Data, Same, Schema, Table};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::sync::Arc;

/// The file's bytes.
pub(crate) fn encode(table: &Table) -> Result<Vec<u8>> {
    let fields = table
        .columns
        .iter()
        .map(|column| Ok(Arc::new(field(column)?)))
        .collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder("schema")
        .with_fields(fields)
        .build()?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(concat!("tailcut ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for column in &table.columns {
        let mut writer = group
            .next_column()?
            .ok_or_else(|| ParquetError::General("fewer columns than fields".into()))?;
        write_column(writer.untyped(), &column.data)?;
        writer.close()?;
    }
    group.close()?;
    file.into_inner()
}

fn field(column: &Column) -> Result<Type> {
    let (physical, logical, repetition) = match &column.data {
        Data::Integer(_) | Data::Same(Same::Integer(_), _) => {
            (Physical::INT64, None, Repetition::REQUIRED)
        }
        Data::Optional(_) => (Physical::INT64, None, Repetition::OPTIONAL),
        Data::Real(_) => (Physical::DOUBLE, None, Repetition::REQUIRED),
        Data::Same(Same::Real(_), _) => (Physical::DOUBLE, None, Repetition::OPTIONAL),
        Data::Text(_) | Data::Same(Same::Text(_), _) => (
            Physical::BYTE_ARRAY,
            Some(LogicalType::String),
            Repetition::REQUIRED,
        ),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
}

/// Rows of a column with one value that are written at a time.
const SAME_AT_ONCE: usize = 1_024;

fn write_column(writer: &mut ColumnWriter<'_>, data: &Data) -> Result<()> {
    if let Data::Same(value, rows) = data {
        return write_same(writer, value, *rows);
    }
    match (writer, data) {
        (ColumnWriter::Int64ColumnWriter(writer), Data::Integer(values)) => {
            writer.write_batch(values, None, None)?;
        }
        (ColumnWriter::Int64ColumnWriter(writer), Data::Optional(values)) => {
            let present: Vec<i64> = values.iter().flatten().copied().collect();
            let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
            writer.write_batch(&present, Some(&levels), None)?;
        }
        (ColumnWriter::DoubleColumnWriter(writer), Data::Real(values)) => {
            writer.write_batch(values, None, None)?;
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Data::Text(values)) => {
            writer.write_batch(&byte_arrays(values), None, None)?;
        }
        _ => return Err(ParquetError::General("column of another type".into())),
    }
    Ok(())
}

/// Writes one value in every row; its dictionary makes it a few bytes.
fn write_same(writer: &mut ColumnWriter<'_>, value: &Same, rows: usize) -> Result<()> {
    let chunks = (0..rows).step_by(SAME_AT_ONCE);
    let mut chunks = chunks.map(|start| (rows - start).min(SAME_AT_ONCE));
    match (writer, value) {
        (ColumnWriter::Int64ColumnWriter(writer), Same::Integer(value)) => {
            let values = [*value; SAME_AT_ONCE];
            chunks.try_for_each(|n| writer.write_batch(&values[..n], None, None).map(|_| ()))
        }
        (ColumnWriter::DoubleColumnWriter(writer), Same::Real(value)) => {
            let values: &[f64] = &value.map_or_else(Vec::new, |value| vec![value; SAME_AT_ONCE]);
            let levels = [i16::from(value.is_some()); SAME_AT_ONCE];
            chunks.try_for_each(|n| {
                let values = &values[..values.len().min(n)];
                writer
                    .write_batch(values, Some(&levels[..n]), None)
                    .map(|_| ())
            })
        }
        (ColumnWriter::ByteArrayColumnWriter(writer), Same::Text(text)) => {
            let values = vec![ByteArray::from(&**text); SAME_AT_ONCE.min(rows)];
            chunks.try_for_each(|n| writer.write_batch(&values[..n], None, None).map(|_| ()))
        }
        _ => Err(ParquetError::General("column of another type".into())),
    }
}

/// Neighbours that share a string share its bytes.
fn byte_arrays(values: &[Arc<str>]) -> Vec<ByteArray> {
    let mut arrays: Vec<ByteArray> = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        let shared = index > 0 && Arc::ptr_eq(value, &values[index - 1]);
        let array = if shared {
            arrays[index - 1].clone()
        } else {
            ByteArray::from(&**value)
        };
        arrays.push(array);
    }
    arrays
}

/// Reads the columns of `schema`, which may be in any order and among others.
pub(crate) fn decode(bytes: Vec<u8>, schema: &Schema) -> Result<Table> {
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes))?;
    let mut table = Table {
        columns: schema
            .iter()
            .map(|&(name, kind)| Column {
                name: name.into(),
                data: Data::empty(kind),
            })
            .collect(),
    };
    for group_index in 0..file.num_row_groups() {
        let group = file.get_row_group(group_index)?;
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| ParquetError::General("a negative number of rows".into()))?;
        for column in &mut table.columns {
            let index = (0..group.num_columns())
                .find(|&i| group.metadata().column(i).column_path().string() == column.name)
                .ok_or_else(|| ParquetError::General(format!("no column {}", column.name)))?;
            let before = column.data.len();
            read_column(group.get_column_reader(index)?, rows, &mut column.data)?;
            if column.data.len() - before != rows {
                return Err(ParquetError::General(format!(
                    "column {} is shorter than its {rows} rows",
                    column.name
                )));
            }
        }
    }
    Ok(table)
}

fn read_column(reader: ColumnReader, rows: usize, data: &mut Data) -> Result<()> {
    match (reader, data) {
        (ColumnReader::Int64ColumnReader(mut reader), Data::Integer(values)) => {
            reader.read_records(rows, None, None, values)?;
        }
        (ColumnReader::Int64ColumnReader(mut reader), Data::Optional(values)) => {
            let (mut present, mut levels) = (Vec::new(), Vec::new());
            reader.read_records(rows, Some(&mut levels), None, &mut present)?;
            let mut present = present.into_iter();
            values.extend(
                levels
                    .iter()
                    .map(|&level| if level == 1 { present.next() } else { None }),
            );
        }
        (ColumnReader::DoubleColumnReader(mut reader), Data::Real(values)) => {
            reader.read_records(rows, None, None, values)?;
        }
        (ColumnReader::ByteArrayColumnReader(mut reader), Data::Text(values)) => {
            let mut arrays = Vec::new();
            reader.read_records(rows, None, None, &mut arrays)?;
            let mut last: Option<Arc<str>> = None;
            for array in &arrays {
                let text = array.as_utf8()?;
                let shared = match last.take() {
                    Some(shared) if *shared == *text => shared,
                    _ => Arc::from(text),
                };
                values.push(Arc::clone(&shared));
                last = Some(shared);
            }
        }
        _ => return Err(ParquetError::General("a column of another type".into())),
    }
    Ok(())
}
