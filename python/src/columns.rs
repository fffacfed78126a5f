//! Tables of runs as Arrow columns. The first columns identify the run. `docs/output.md` lists names, order and units.

use crate::record::Finished;
use crate::summary;
use crate::swept::Swept;
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::sync::Arc;
use tailcut_report::Run;
use tailcut_scenario::record::{Column, Data, RunKey, RunRecord, Table, TableKind};

/// Table of a study.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Table with one row for each run.
    Runs,
    /// Table that each run writes, such as its flows.
    Of(TableKind),
}

impl Kind {
    /// Returns the table with this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "runs" => Some(Self::Runs),
            name => TableKind::named(name).map(Self::Of),
        }
    }

    /// Name of the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Of(table) => table.name(),
        }
    }

    /// Number of rows that a run has in this table.
    pub fn rows(self, run: &RunRecord) -> usize {
        match self {
            Self::Runs => 1,
            Self::Of(table) => table.of(run).rows,
        }
    }

    /// Returns whether rows have the column [`MEASURED`].
    pub fn has_measured(self) -> bool {
        self == Self::Of(TableKind::Flows)
    }

    /// Returns the columns of the study's run `index`, in batches. `reported` is the same run in the form for reports.
    /// Only tables with the column [`MEASURED`] need it.
    ///
    /// # Errors
    /// No error occurs if all columns have the same number of rows.
    pub fn batches(
        self,
        index: usize,
        run: &Finished,
        reported: Option<&Run>,
        swept: &[Swept],
    ) -> Result<Vec<RecordBatch>, ArrowError> {
        let pieces: Vec<Table> = match self {
            Self::Runs => vec![summary::table(&run.summary)],
            Self::Of(table) => table.of(&run.record).collect(),
        };
        let pieces = pieces.into_iter();
        pieces
            .map(|piece| {
                let measured = reported.map(|run| measured(&piece, run));
                batch(index, &run.record.key, swept, piece, measured)
            })
            .collect()
    }

    /// Returns the names and types of the columns, which are the same for all runs.
    pub fn schema(self, swept: &[Swept]) -> Arc<Schema> {
        let run = RunRecord::new(RunKey::default());
        let table = match self {
            Self::Runs => summary::table(&run.summary()),
            Self::Of(table) => table.of(&run).empty(),
        };
        let measured = self
            .has_measured()
            .then(|| BooleanArray::from(Vec::<bool>::new()));
        let batch = batch(0, &run.key, swept, table, measured);
        batch.map_or_else(|_| Arc::new(Schema::empty()), |batch| batch.schema())
    }
}

/// Name of the last column of the table of flows. The column contains whether the answer measures the flow.
const MEASURED: &str = "measured";

/// Returns, for each flow of a table, whether the answer measures the flow.
/// Flows that are only background load are not measured.
fn measured(flows: &Table, run: &Run) -> BooleanArray {
    let numbers = |name| {
        let column = flows.columns.iter().find(|column| column.name == name)?;
        match &column.data {
            Data::Integer(numbers) => Some(numbers),
            _ => None,
        }
    };
    let (Some(starts), Some(load_only)) = (numbers("start_ns"), numbers("load_only")) else {
        return BooleanArray::new_null(flows.rows());
    };
    let rows = starts.iter().zip(load_only).map(|(start, load_only)| {
        let is_counted = *load_only == Some(0);
        start.map(|ns| is_counted && run.measures(ns as u64))
    });
    rows.collect()
}

/// Returns a table of a run. The columns that identify the run come first.
fn batch(
    index: usize,
    key: &RunKey,
    swept: &[Swept],
    table: Table,
    measured: Option<BooleanArray>,
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
    let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = columns.map(in_arrow).unzip();
    if let Some(measured) = measured {
        fields.push(Field::new(MEASURED, DataType::Boolean, false));
        arrays.push(Arc::new(measured));
    }
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
