//! Tables of named columns: the one shape behind Parquet and CSV.

use std::borrow::Cow;
use std::sync::Arc;

/// A table in memory; all columns have the same length.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Table {
    pub columns: Vec<Column>,
}

/// A named column.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Column {
    pub name: Cow<'static, str>,
    pub data: Data,
}

/// A column's values.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Data {
    Integer(Vec<i64>),
    /// Integers with gaps: null in Parquet, an empty field in CSV.
    Optional(Vec<Option<i64>>),
    Real(Vec<f64>),
    Text(Vec<Arc<str>>),
    /// One value in so many rows. Written only.
    Same(Same, usize),
}

/// A value that a whole column has.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Same {
    Integer(i64),
    /// A number, or null.
    Real(Option<f64>),
    Text(Arc<str>),
}

/// The type of a column, without its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Integer,
    Optional,
    Real,
    Text,
}

/// The columns that a reader expects of a file.
pub(crate) type Schema = [(&'static str, Kind)];

impl Data {
    pub fn len(&self) -> usize {
        match self {
            Self::Integer(values) => values.len(),
            Self::Optional(values) => values.len(),
            Self::Real(values) => values.len(),
            Self::Text(values) => values.len(),
            Self::Same(_, rows) => *rows,
        }
    }

    pub fn empty(kind: Kind) -> Self {
        match kind {
            Kind::Integer => Self::Integer(Vec::new()),
            Kind::Optional => Self::Optional(Vec::new()),
            Kind::Real => Self::Real(Vec::new()),
            Kind::Text => Self::Text(Vec::new()),
        }
    }
}

impl Table {
    /// Without a row.
    pub fn of(schema: &Schema) -> Self {
        let columns = schema.iter().map(|&(name, kind)| Column {
            name: name.into(),
            data: Data::empty(kind),
        });
        Self {
            columns: columns.collect(),
        }
    }

    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.data.len())
    }

    fn add(&mut self, name: impl Into<Cow<'static, str>>, data: Data) {
        let name = name.into();
        self.columns.push(Column { name, data });
    }

    /// Adds a column with one value in every row.
    pub fn same(mut self, name: impl Into<Cow<'static, str>>, value: Same) -> Self {
        let rows = self.rows();
        self.add(name, Data::Same(value, rows));
        self
    }

    /// Adds a column of whole numbers; what a signed 64-bit integer cannot hold becomes its maximum.
    pub fn integer(mut self, name: &'static str, values: impl Iterator<Item = u64>) -> Self {
        let data = Data::Integer(values.map(signed).collect());
        self.add(name, data);
        self
    }

    pub fn optional(
        mut self,
        name: &'static str,
        values: impl Iterator<Item = Option<u64>>,
    ) -> Self {
        let data = Data::Optional(values.map(|value| value.map(signed)).collect());
        self.add(name, data);
        self
    }

    pub fn real(mut self, name: &'static str, values: impl Iterator<Item = f64>) -> Self {
        let data = Data::Real(values.collect());
        self.add(name, data);
        self
    }

    pub fn text(mut self, name: &'static str, values: impl Iterator<Item = Arc<str>>) -> Self {
        let data = Data::Text(values.collect());
        self.add(name, data);
        self
    }

    /// The values of column `index` as whole numbers.
    pub fn integers(&self, index: usize) -> &[i64] {
        match &self.columns[index].data {
            Data::Integer(values) => values,
            _ => &[],
        }
    }

    pub fn optionals(&self, index: usize) -> &[Option<i64>] {
        match &self.columns[index].data {
            Data::Optional(values) => values,
            _ => &[],
        }
    }

    pub fn reals(&self, index: usize) -> &[f64] {
        match &self.columns[index].data {
            Data::Real(values) => values,
            _ => &[],
        }
    }

    pub fn texts(&self, index: usize) -> &[Arc<str>] {
        match &self.columns[index].data {
            Data::Text(values) => values,
            _ => &[],
        }
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
