//! Values of rows as tables contain them.

use tailcut_units::{Bytes, Duration, FlowId, HostId, Rate, Time};

/// One value of a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// A whole number. A time is a multiple of the table's time unit.
    Integer(u64),
    /// A number.
    Real(f64),
    /// Text in a cell.
    Text(&'a str),
    /// Index into [`RunRecord::classes`](crate::RunRecord::classes). Tables contain the name of the class.
    Class(u8),
}

/// Type of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Column of whole numbers ([`Value::Integer`]).
    Integer,
    /// Column of numbers ([`Value::Real`]).
    Real,
    /// Column of texts ([`Value::Text`]).
    Text,
    /// Column of class names ([`Value::Class`]).
    Class,
}

/// Type of a row's field, or a conversion of fields of type `T`.
pub trait Cell<T = Self> {
    /// Type of the field's column.
    const KIND: Kind;
    /// Whether a row may have no value in this column.
    const IS_OPTIONAL: bool = false;

    /// Returns the value of a field. Times are multiples of `ps` picoseconds, rounded down.
    fn value(field: &T, ps: u64) -> Value<'_>;

    /// Returns the field with this value, or `None` if the value is out of range.
    fn field(value: Value<'_>, ps: u64) -> Option<T>;
}

/// Conversion of a class: rows contain its number, and tables contain its name.
pub(crate) struct Class;

macro_rules! integers {
    ($($type:ty: $number:expr, $field:expr;)*) => {$(
        impl Cell for $type {
            const KIND: Kind = Kind::Integer;

            fn value(field: &Self, ps: u64) -> Value<'_> {
                let number: fn(Self, u64) -> u64 = $number;
                Value::Integer(number(*field, ps))
            }

            fn field(value: Value<'_>, ps: u64) -> Option<Self> {
                let field: fn(u64, u64) -> Option<Self> = $field;
                match value {
                    Value::Integer(number) => field(number, ps),
                    _ => None,
                }
            }
        }
    )*};
}

integers! {
    u8: |field, _| field.into(), |number, _| number.try_into().ok();
    u32: |field, _| field.into(), |number, _| number.try_into().ok();
    u64: |field, _| field, |number, _| Some(number);
    FlowId: |field, _| field.0.into(), |number, _| number.try_into().ok().map(FlowId);
    HostId: |field, _| field.0.into(), |number, _| number.try_into().ok().map(HostId);
    Bytes: |field, _| field.0, |number, _| Some(Bytes(number));
    Rate: |field, _| field.as_bps(), |number, _| Rate::from_bps(number);
    Time: |field, ps| field.as_ps() / ps, |number, ps| Some(Time::from_ps(number.saturating_mul(ps)));
    Duration: |field, ps| field.as_ps() / ps,
        |number, ps| Some(Duration::from_ps(number.saturating_mul(ps)));
}

impl Cell for f64 {
    const KIND: Kind = Kind::Real;

    fn value(field: &Self, _ps: u64) -> Value<'_> {
        Value::Real(*field)
    }

    fn field(value: Value<'_>, _ps: u64) -> Option<Self> {
        match value {
            Value::Real(number) => Some(number),
            _ => None,
        }
    }
}

impl Cell for String {
    const KIND: Kind = Kind::Text;

    fn value(field: &Self, _ps: u64) -> Value<'_> {
        Value::Text(field)
    }

    fn field(value: Value<'_>, _ps: u64) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.to_owned()),
            _ => None,
        }
    }
}

impl Cell<u8> for Class {
    const KIND: Kind = Kind::Class;

    fn value(field: &u8, _ps: u64) -> Value<'_> {
        Value::Class(*field)
    }

    fn field(value: Value<'_>, _ps: u64) -> Option<u8> {
        match value {
            Value::Class(number) => Some(number),
            Value::Integer(number) => number.try_into().ok(),
            _ => None,
        }
    }
}

impl<T: Cell> Cell for Option<T> {
    const KIND: Kind = T::KIND;
    const IS_OPTIONAL: bool = true;

    fn value(field: &Self, ps: u64) -> Value<'_> {
        field
            .as_ref()
            .map_or(Value::Null, |field| T::value(field, ps))
    }

    fn field(value: Value<'_>, ps: u64) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::field(value, ps).map(Some),
        }
    }
}

/// Implements `ALL`, `name`, `named` and [`Cell`] for an enumeration whose variants have names in files.
macro_rules! words {
    ($type:ident: $($variant:ident = $word:literal),*) => {
        impl $type {
            /// All variants.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the name that files use for this variant.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// Returns the variant with this name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|known| known.name() == name)
            }
        }

        impl $crate::cell::Cell for $type {
            const KIND: $crate::cell::Kind = $crate::cell::Kind::Text;

            fn value(field: &Self, _ps: u64) -> $crate::cell::Value<'_> {
                $crate::cell::Value::Text(field.name())
            }

            fn field(value: $crate::cell::Value<'_>, _ps: u64) -> Option<Self> {
                match value {
                    $crate::cell::Value::Text(name) => Self::named(name),
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use words;
