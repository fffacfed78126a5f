//! The one description of a table's row, which files, the hash, the log of flows and other programs'
//! columns follow.

use crate::cell::{Cell, Kind, Value};

/// Picoseconds in the unit of time of files.
pub(crate) const NS: u64 = 1_000;

/// A column without its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heading {
    /// The name, with the unit at its end.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// Whether some rows have no value.
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

/// A row of a table, described by the macro `table!`.
pub trait Row: Sized {
    /// The columns, in the order of files.
    const COLUMNS: &'static [Heading];

    /// Gives the values to `put`, column by column, in a unit of time of `ps` picoseconds.
    fn each<'a>(&'a self, ps: u64, put: impl FnMut(Value<'a>));

    /// Returns the row with the values that `next` gives, column by column; `None` where the last one is
    /// missing or out of range.
    fn read<'a>(ps: u64, next: impl FnMut() -> Option<Value<'a>>) -> Option<Self>;

    /// Returns the row as files keep it, with times to the nanosecond, rounded down.
    fn rounded(&self) -> Option<Self> {
        let mut values = Vec::with_capacity(Self::COLUMNS.len());
        self.each(NS, |value| values.push(value));
        let mut values = values.into_iter();
        Self::read(NS, || values.next())
    }
}

/// Describes a table: each column with its name, its field, and the way it is written where that does not
/// follow from the field's type. `hash` is the order in which the hash of a run covers the fields.
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
