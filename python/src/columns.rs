//! The tables of runs as Arrow columns. Names, order and units are those of `docs/output.md`;
//! before them stand the columns that tell runs apart.

use crate::record::Finished;
use crate::summary;
use crate::swept::Swept;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, Field, Schema};
use std::sync::Arc;
use tailcut_scenario::record::{Column, Data, RunKey, RunRecord, Table, TableKind};

/// A table that a study has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A row for each run.
    Runs,
    /// A table of each run.
    Of(TableKind),
}

impl Kind {
    /// The table called `name`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "runs" => Some(Self::Runs),
            name => TableKind::named(name).map(Self::Of),
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Of(table) => table.name(),
        }
    }

    /// The number of rows of a run.
    pub fn rows(self, run: &RunRecord) -> usize {
        match self {
            Self::Runs => 1,
            Self::Of(table) => table.of(run).rows,
        }
    }

    /// The columns of a run that is the study's number `index`, in pieces.
    ///
    /// # Errors
    /// None where all columns have as many rows.
    pub fn batches(
        self,
        index: usize,
        run: &Finished,
        swept: &[Swept],
    ) -> Result<Vec<RecordBatch>, ArrowError> {
        let pieces: Vec<Table> = match self {
            Self::Runs => vec![summary::table(&run.summary)],
            Self::Of(table) => table.of(&run.record).collect(),
        };
        let pieces = pieces.into_iter();
        pieces
            .map(|piece| batch(index, &run.record.key, swept, piece))
            .collect()
    }

    /// The columns of this table, whatever the runs.
    pub fn schema(self, swept: &[Swept]) -> Arc<Schema> {
        let run = RunRecord::new(RunKey::default());
        let table = match self {
            Self::Runs => summary::table(&run.summary()),
            Self::Of(table) => table.of(&run).empty(),
        };
        let batch = batch(0, &run.key, swept, table);
        batch.map_or_else(|_| Arc::new(Schema::empty()), |batch| batch.schema())
    }
}

/// A table of a run behind the columns that tell the runs of a study apart.
fn batch(
    index: usize,
    key: &RunKey,
    swept: &[Swept],
    table: Table,
) -> Result<RecordBatch, ArrowError> {
    let rows = table.rows();
    let first = [
        Column::same("run", &(index as u64), rows),
        Column::same("design", &key.design, rows),
        Column::same("topology", &key.topology, rows),
        Column::same("workload", &key.workload, rows),
        Column::same("load", &key.load, rows),
        Column::same("seed", &key.seed, rows),
    ];
    let swept = swept.iter().map(|swept| swept.column(key, rows));
    let columns = first.into_iter().chain(swept).chain(table.columns);
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.map(in_arrow).unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

fn in_arrow(column: Column) -> (Field, ArrayRef) {
    let array: ArrayRef = match column.data {
        Data::Integer(values) => Arc::new(Int64Array::from(values)),
        Data::Real(values) => Arc::new(Float64Array::from(values)),
        Data::Text(values) => Arc::new(StringArray::from_iter(values)),
    };
    let kind = array.data_type().clone();
    (Field::new(column.name, kind, column.is_optional), array)
}
