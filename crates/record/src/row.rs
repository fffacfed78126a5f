//! Definition of a table's row. All other forms of a row follow from this definition.
//! The definition of a row also defines files, hashes, the log of flows, and columns in other programs.

use crate::cell::{Cell, Kind, Value};

/// Time unit of files in picoseconds.
pub(crate) const NS: u64 = 1_000;

/// Name and type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heading {
    /// Name of the column, with the unit at its end.
    pub name: &'static str,
    /// Type of the column.
    pub kind: Kind,
    /// Whether rows may have no value.
    pub is_optional: bool,
}

impl Heading {
    pub(crate) const fn of<C: Cell<T>, T>(name: &'static str) -> Self {
        Self {
            name,
            kind: C::KIND,
            is_optional: C::IS_OPTIONAL,
        }
    }
}

/// Row of a table. The macro `table!` implements this trait.
pub trait Row: Sized {
    /// Columns of the table, in the order in which a file has them.
    const COLUMNS: &'static [Heading];

    /// Passes the values of the row to `put`, column by column. Times are multiples of `ps` picoseconds.
    fn each<'a>(&'a self, ps: u64, put: impl FnMut(Value<'a>));

    /// Returns the row with the values that `next` returns, column by column.
    /// Returns `None` at the first value that is missing or out of range.
    fn read<'a>(ps: u64, next: impl FnMut() -> Option<Value<'a>>) -> Option<Self>;

    /// Returns the row with the precision of files: times are rounded down to nanoseconds.
    fn rounded(&self) -> Option<Self> {
        let mut values = Vec::with_capacity(Self::COLUMNS.len());
        self.each(NS, |value| values.push(value));
        let mut values = values.into_iter();
        Self::read(NS, || values.next())
    }
}

/// Defines a table.
/// Each line is a column: its name in files, and its field.
/// A line also has a conversion (`as`), unless the type of the field determines the conversion.
/// `hash` lists the fields in the order in which the hash of a run includes them.
macro_rules! table {
    (
        $(#[$meta:meta])* $vis:vis struct $row:ident {
            $($(#[$doc:meta])* $name:literal $field:ident: $type:ty $(as $cell:ty)?,)*
        }
        $(hash: $($hashed:ident)*)?
    ) => {
        $(#[$meta])*
        $vis struct $row {
            $($(#[$doc])* $vis $field: $type,)*
        }

        impl $crate::row::Row for $row {
            const COLUMNS: &'static [$crate::row::Heading] = &[
                $($crate::row::Heading::of::<$crate::row::table!(@ $type $(, $cell)?), $type>($name),)*
            ];

            fn each<'a>(&'a self, ps: u64, mut put: impl FnMut($crate::cell::Value<'a>)) {
                use $crate::cell::Cell;
                $(put(<$crate::row::table!(@ $type $(, $cell)?) as Cell<$type>>::value(&self.$field, ps));)*
            }

            fn read<'a>(
                ps: u64,
                mut next: impl FnMut() -> Option<$crate::cell::Value<'a>>,
            ) -> Option<Self> {
                use $crate::cell::Cell;
                Some(Self {
                    $($field: <$crate::row::table!(@ $type $(, $cell)?) as Cell<$type>>::field(next()?, ps)?,)*
                })
            }
        }

        $(impl $crate::fields::Hashed for $row {
            fn hash(&self, hash: &mut $crate::fields::Fields) {
                let Self { $($hashed),* } = self;
                $(hash.field($hashed);)*
            }
        })?
    };
    (@ $type:ty) => { $type };
    (@ $type:ty, $cell:ty) => { $cell };
}

pub(crate) use table;
