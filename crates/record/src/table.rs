//! Tables of named columns. Parquet files, CSV files and columns in other programs use this form.

use crate::cell::{Cell, Kind, Value};
use crate::row::{Heading, NS, Row};
use std::borrow::Cow;
use std::sync::Arc;

/// Maximum number of rows in a piece of a table. Writers and readers hold one piece in memory.
pub(crate) const AT_ONCE: usize = 1 << 17;

/// Table in memory. All columns have the same length.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Table {
    /// Columns.
    pub columns: Vec<Column>,
}

/// Named column.
#[derive(Clone, PartialEq, Debug)]
pub struct Column {
    /// Name, with the unit at its end.
    pub name: Cow<'static, str>,
    /// Whether rows may have no value: null in Parquet, an empty field in CSV.
    pub is_optional: bool,
    /// Values, one for each row.
    pub data: Data,
}

/// Values of a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// Whole numbers. A number above the largest signed 64-bit integer is stored as that integer.
    Integer(Vec<Option<i64>>),
    /// Numbers.
    Real(Vec<Option<f64>>),
    /// Column of texts.
    Text(Vec<Option<Arc<str>>>),
}

impl Data {
    fn empty(kind: Kind) -> Self {
        match kind {
            Kind::Integer => Self::Integer(Vec::new()),
            Kind::Real => Self::Real(Vec::new()),
            Kind::Text | Kind::Class => Self::Text(Vec::new()),
        }
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Integer(values) => values.len(),
            Self::Real(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    pub(crate) fn push(&mut self, value: Value<'_>, classes: &[Arc<str>]) {
        match (self, value) {
            (Self::Integer(values), Value::Integer(number)) => {
                values.push(Some(i64::try_from(number).unwrap_or(i64::MAX)));
            }
            (Self::Real(values), Value::Real(number)) => values.push(Some(number)),
            (Self::Text(values), Value::Text(text)) => push_text(values, text),
            (Self::Text(values), Value::Class(class)) => match classes.get(usize::from(class)) {
                Some(name) => values.push(Some(Arc::clone(name))),
                None => push_text(values, &format!("class{class}")),
            },
            (Self::Integer(values), _) => values.push(None),
            (Self::Real(values), _) => values.push(None),
            (Self::Text(values), _) => values.push(None),
        }
    }

    /// Returns the value of a row, or `None` if it is a negative whole number.
    fn value(&self, row: usize) -> Option<Value<'_>> {
        match self {
            Self::Integer(values) => values[row].map_or(Some(Value::Null), |number| {
                u64::try_from(number).ok().map(Value::Integer)
            }),
            Self::Real(values) => Some(values[row].map_or(Value::Null, Value::Real)),
            Self::Text(values) => Some(values[row].as_deref().map_or(Value::Null, Value::Text)),
        }
    }

    fn shown(&self, row: usize) -> String {
        match self {
            Self::Integer(values) => values[row].map(|number| number.to_string()),
            Self::Real(values) => values[row].map(|number| number.to_string()),
            Self::Text(values) => values[row].as_ref().map(|text| format!("\"{text}\"")),
        }
        .unwrap_or_else(|| "null".to_owned())
    }
}

/// Appends text. Consecutive rows with equal text share one allocation.
pub(crate) fn push_text(values: &mut Vec<Option<Arc<str>>>, text: &str) {
    let last = values.last().and_then(Option::as_ref);
    let shared = last.filter(|last| &***last == text).cloned();
    values.push(Some(shared.unwrap_or_else(|| text.into())));
}

impl Column {
    /// Creates a column with the same value in all rows.
    pub fn same<T: Cell>(name: impl Into<Cow<'static, str>>, value: &T, rows: usize) -> Self {
        let mut data = Data::empty(T::KIND);
        (0..rows).for_each(|_| data.push(T::value(value, NS), &[]));
        Self {
            name: name.into(),
            is_optional: T::IS_OPTIONAL,
            data,
        }
    }
}

impl Table {
    /// Creates a table without rows.
    pub(crate) fn of(headings: &[Heading]) -> Self {
        let columns = headings.iter().map(|heading| Column {
            name: heading.name.into(),
            is_optional: heading.is_optional,
            data: Data::empty(heading.kind),
        });
        Self {
            columns: columns.collect(),
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.data.len())
    }

    /// Appends a row. `classes` contains the names of the classes.
    pub(crate) fn push(&mut self, row: &impl Row, classes: &[Arc<str>]) {
        let mut columns = self.columns.iter_mut();
        row.each(NS, |value| {
            if let Some(column) = columns.next() {
                column.data.push(value, classes);
            }
        });
    }

    /// Returns row number `row`. A class that is missing in `classes` is added to it.
    ///
    /// # Errors
    /// A text that names the column and the value that is out of range.
    pub(crate) fn row<R: Row>(&self, row: usize, classes: &mut Vec<String>) -> Result<R, String> {
        let mut columns = self.columns.iter().zip(R::COLUMNS);
        let mut last = None;
        let read = R::read(NS, || {
            let (column, heading) = columns.next()?;
            last = Some(column);
            match (heading.kind, column.data.value(row)?) {
                (Kind::Class, Value::Text(name)) => class_number(name, classes).map(Value::Class),
                (_, value) => Some(value),
            }
        });
        read.ok_or_else(|| match last {
            Some(Column { name, data, .. }) => {
                format!("row {row}: {name} is {}, out of range", data.shown(row))
            }
            None => format!("row {row}: without columns"),
        })
    }
}

/// Returns the number of the class `name`, 0 to 255. A class that is missing in `classes` is added to this list.
fn class_number(name: &str, classes: &mut Vec<String>) -> Option<u8> {
    let known = classes.iter().position(|class| class == name);
    let number = known.unwrap_or_else(|| {
        classes.push(name.to_owned());
        classes.len() - 1
    });
    u8::try_from(number).ok()
}
