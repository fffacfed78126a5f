//! Parquet reader and writer of tables, with Snappy compression and dictionaries.

use crate::row::Heading;
use crate::table::{Column, Data, Table, push_text};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::io::Write;
use std::sync::Arc;

/// Parquet file that is written in pieces. Each piece becomes a row group.
pub(crate) struct Writer<W: Write + Send>(SerializedFileWriter<W>);

impl<W: Write + Send> Writer<W> {
    /// Writes the schema with the columns of `table`, but no row.
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

    /// Writes the rows of a table as one row group.
    pub fn write(&mut self, table: &Table) -> Result<()> {
        let mut group = self.0.next_row_group()?;
        for column in &table.columns {
            let mut writer = group
                .next_column()?
                .ok_or_else(|| ParquetError::General("fewer columns than fields".into()))?;
            write_column(&mut writer, column)?;
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Completes the file and returns the underlying writer.
    pub fn finish(self) -> Result<W> {
        self.0.into_inner()
    }
}

fn field(column: &Column) -> Result<Type> {
    let (physical, logical) = match &column.data {
        Data::Integer(_) => (Physical::INT64, None),
        Data::Real(_) => (Physical::DOUBLE, None),
        Data::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = match column.is_optional {
        true => Repetition::OPTIONAL,
        false => Repetition::REQUIRED,
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_logical_type(logical)
        .with_repetition(repetition)
        .build()
}

fn write_column(writer: &mut SerializedColumnWriter<'_>, column: &Column) -> Result<()> {
    fn write<T: DataType>(
        writer: &mut SerializedColumnWriter<'_>,
        present: Vec<T::T>,
        levels: Option<Vec<i16>>,
    ) -> Result<()> {
        let writer = writer.typed::<T>();
        writer
            .write_batch(&present, levels.as_deref(), None)
            .map(drop)
    }
    fn levels<T>(column: &Column, values: &[Option<T>]) -> Option<Vec<i16>> {
        let level = |value: &Option<T>| i16::from(value.is_some());
        column
            .is_optional
            .then(|| values.iter().map(level).collect())
    }
    match &column.data {
        Data::Integer(values) => {
            let present = values.iter().flatten().copied().collect();
            write::<Int64Type>(writer, present, levels(column, values))
        }
        Data::Real(values) => {
            let present = values.iter().flatten().copied().collect();
            write::<DoubleType>(writer, present, levels(column, values))
        }
        Data::Text(values) => {
            write::<ByteArrayType>(writer, byte_arrays(values), levels(column, values))
        }
    }
}

/// Converts texts to byte arrays. Consecutive rows with the same `Arc` share one array.
fn byte_arrays(values: &[Option<Arc<str>>]) -> Vec<ByteArray> {
    let mut last: Option<(&Arc<str>, ByteArray)> = None;
    let array_of = |value| match &last {
        Some((known, array)) if Arc::ptr_eq(known, value) => array.clone(),
        _ => last.insert((value, ByteArray::from(&**value))).1.clone(),
    };
    values.iter().flatten().map(array_of).collect()
}

/// Reads the columns of `headings` and passes their rows to `each`, at most `at_once` rows per call.
/// The file may contain further columns, and its columns may be in any order.
pub(crate) fn read(
    file: impl ChunkReader + 'static,
    headings: &[Heading],
    at_once: usize,
    mut each: impl FnMut(&Table) -> std::result::Result<(), String>,
) -> Result<()> {
    let file = SerializedFileReader::new(file)?;
    for group_index in 0..file.num_row_groups() {
        let group = file.get_row_group(group_index)?;
        let mut left = usize::try_from(group.metadata().num_rows())
            .map_err(|_| ParquetError::General("a negative number of rows".into()))?;
        let mut readers = Vec::new();
        for Heading { name, .. } in headings {
            let index = (0..group.num_columns())
                .find(|&i| group.metadata().column(i).column_path().string() == *name)
                .ok_or_else(|| ParquetError::General(format!("no column {name}")))?;
            check_range(name, group.metadata().column(index))?;
            readers.push(group.get_column_reader(index)?);
        }
        while left > 0 {
            let rows = left.min(at_once);
            let mut table = Table::of(headings);
            for (reader, column) in readers.iter_mut().zip(&mut table.columns) {
                read_column(reader, rows, &mut column.data)?;
                if column.data.len() != rows {
                    return Err(ParquetError::General(format!(
                        "column {} has fewer values than rows",
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

/// Checks the position of a column in the file. If the position is negative, the Parquet library panics.
fn check_range(name: &str, column: &ColumnChunkMetaData) -> Result<()> {
    let start = column
        .dictionary_page_offset()
        .unwrap_or(column.data_page_offset());
    let length = column.compressed_size();
    if start >= 0 && length >= 0 {
        return Ok(());
    }
    Err(ParquetError::General(format!(
        "column {name} starts at {start} and has {length} bytes"
    )))
}

fn read_column(reader: &mut ColumnReader, rows: usize, data: &mut Data) -> Result<()> {
    match (reader, data) {
        (ColumnReader::Int64ColumnReader(reader), Data::Integer(values)) => {
            values.extend(read_values(reader, rows)?);
        }
        (ColumnReader::DoubleColumnReader(reader), Data::Real(values)) => {
            values.extend(read_values(reader, rows)?);
        }
        (ColumnReader::ByteArrayColumnReader(reader), Data::Text(values)) => {
            for array in read_values(reader, rows)? {
                match array {
                    Some(array) => push_text(values, array.as_utf8()?),
                    None => values.push(None),
                }
            }
        }
        _ => return Err(ParquetError::General("a column of another type".into())),
    }
    Ok(())
}

fn read_values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
) -> Result<Vec<Option<T::T>>> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    reader.read_records(rows, Some(&mut levels), None, &mut present)?;
    // A required column has no definition levels. Level 1 marks a present value, so all its rows get level 1.
    levels.resize(levels.len().max(present.len()), 1);
    let mut present = present.into_iter();
    let value = |level| if level == 1 { present.next() } else { None };
    Ok(levels.into_iter().map(value).collect())
}
