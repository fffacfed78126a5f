//! Tables to and from Parquet: Snappy, dictionaries where they help.

use crate::table::{Column, Data, Same, Schema, Table};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// A file that gets its rows some at a time, each time a row group.
pub(crate) struct Writer<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> Writer<W> {
    /// A file of tables with the columns of this one.
    pub fn new(table: &Table, to: W) -> Result<Self> {
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
        let file = SerializedFileWriter::new(to, Arc::new(schema), Arc::new(properties))?;
        Ok(Self(file))
    }

    /// Writes the table's rows.
    pub fn write(&mut self, table: &Table) -> Result<()> {
        let mut group = self.0.next_row_group()?;
        for column in &table.columns {
            let mut writer = group
                .next_column()?
                .ok_or_else(|| ParquetError::General("fewer columns than fields".into()))?;
            write_column(writer.untyped(), &column.data)?;
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Ends the file, and gives back what it was written to.
    pub fn finish(self) -> Result<W> {
        self.0.into_inner()
    }
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

/// Reads the columns of `schema`, which may be in any order and among others, and gives their rows to
/// `each`, at most `at_once` at a time.
pub(crate) fn read(
    file: impl ChunkReader + 'static,
    schema: &Schema,
    at_once: usize,
    mut each: impl FnMut(&Table) -> std::result::Result<(), String>,
) -> Result<()> {
    let file = SerializedFileReader::new(file)?;
    for group_index in 0..file.num_row_groups() {
        let group = file.get_row_group(group_index)?;
        let mut left = usize::try_from(group.metadata().num_rows())
            .map_err(|_| ParquetError::General("a negative number of rows".into()))?;
        let mut readers = Vec::new();
        for (name, _) in schema {
            let index = (0..group.num_columns())
                .find(|&i| group.metadata().column(i).column_path().string() == *name)
                .ok_or_else(|| ParquetError::General(format!("no column {name}")))?;
            readers.push(group.get_column_reader(index)?);
        }
        while left > 0 {
            let rows = left.min(at_once);
            let mut table = Table::of(schema);
            for (reader, column) in readers.iter_mut().zip(&mut table.columns) {
                read_column(reader, rows, &mut column.data)?;
                if column.data.len() != rows {
                    return Err(ParquetError::General(format!(
                        "column {} is shorter than its rows",
                        column.name
                    )));
                }
            }
            each(&table).map_err(ParquetError::General)?;
            left -= rows;
        }
    }
    Ok(())
}

fn read_column(reader: &mut ColumnReader, rows: usize, data: &mut Data) -> Result<()> {
    match (reader, data) {
        (ColumnReader::Int64ColumnReader(reader), Data::Integer(values)) => {
            reader.read_records(rows, None, None, values)?;
        }
        (ColumnReader::Int64ColumnReader(reader), Data::Optional(values)) => {
            let (mut present, mut levels) = (Vec::new(), Vec::new());
            reader.read_records(rows, Some(&mut levels), None, &mut present)?;
            let mut present = present.into_iter();
            values.extend(
                levels
                    .iter()
                    .map(|&level| if level == 1 { present.next() } else { None }),
            );
        }
        (ColumnReader::DoubleColumnReader(reader), Data::Real(values)) => {
            reader.read_records(rows, None, None, values)?;
        }
        (ColumnReader::ByteArrayColumnReader(reader), Data::Text(values)) => {
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
