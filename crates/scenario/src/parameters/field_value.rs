//! Conversion between the fields of parameters and the values of keys.

use crate::value::{Kind, Value};
use std::num::NonZeroU32;
use tailcut_sim::DecodeCores;
use tailcut_sim::fabric::queue::Limit;
use tailcut_sim::transport::scdp::DecodeSpeed;
use tailcut_sim::transport::tcp::{HyStartClock, InitialWindow};
use tailcut_units::{Bytes, Duration, Rate};

/// Type of a field that a key sets.
pub trait FieldValue: Sized {
    /// Values that a key of this type allows, if the type alone determines them.
    const KIND: Option<Kind> = None;

    /// Words of the type, if they do not depend on the key.
    const WORDS: &'static [&'static str] = &[];

    /// Converts a value. Returns `None` for a value that no key of this type has.
    fn from_value(value: &Value) -> Option<Self>;

    /// Returns the content of the field if the key has no value, or `None` if the type requires a value.
    fn if_missing() -> Option<Self> {
        None
    }

    /// Converts the content of the field to a value of a key with the given kind and words.
    /// Returns `None` if no value of the key stands for the content.
    fn value(&self, kind: Kind, words: &[&'static str]) -> Option<Value>;
}

/// Returns the word that stands for the content of the field, or `None` if no word does.
fn word<T: FieldValue + PartialEq>(field: &T, words: &[&'static str]) -> Option<Value> {
    let words = words.iter().map(|word| Value::Word(word));
    let mut words = words.filter(|word| T::from_value(word).as_ref() == Some(field));
    words.next()
}

/// Implements [`FieldValue`] for whole numbers. The word `unlimited` means the largest number.
/// Other words, such as `off`, mean zero.
macro_rules! whole_numbers {
    ($($number:ty),*) => {
        $(impl FieldValue for $number {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::Count(count) | Value::Bytes(Bytes(count)) => {
                        Some(Self::try_from(*count).unwrap_or(Self::MAX))
                    }
                    Value::Word("unlimited") => Some(Self::MAX),
                    Value::Word(_) => Some(0),
                    _ => None,
                }
            }

            fn value(&self, kind: Kind, words: &[&'static str]) -> Option<Value> {
                let count = u64::from(*self);
                word(self, words).or(Some(match kind {
                    Kind::Bytes { .. } => Value::Bytes(Bytes(count)),
                    _ => Value::Count(count),
                }))
            }
        })*
    };
}

whole_numbers!(u8, u16, u32, u64);

impl FieldValue for Bytes {
    fn from_value(value: &Value) -> Option<Self> {
        u64::from_value(value).map(Self)
    }

    fn value(&self, kind: Kind, words: &[&'static str]) -> Option<Value> {
        self.0.value(kind, words)
    }
}

impl FieldValue for NonZeroU32 {
    fn from_value(value: &Value) -> Option<Self> {
        u32::from_value(value).and_then(Self::new)
    }

    fn value(&self, kind: Kind, words: &[&'static str]) -> Option<Value> {
        self.get().value(kind, words)
    }
}

impl FieldValue for f64 {
    /// A word, such as `off`, means zero.
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(*number),
            Value::Word(_) => Some(0.0),
            _ => None,
        }
    }

    fn value(&self, _: Kind, words: &[&'static str]) -> Option<Value> {
        word(self, words).or(Some(Value::Number(*self)))
    }
}

/// Implements [`FieldValue`] for types whose values all have the same form.
/// Some types whose values have one form also set the kind of their key.
macro_rules! forms {
    ($($field:ty $([$kind:expr])?: $form:ident($value:ident) => $of:expr, $from:ident => $to:expr;)*) => {
        $(impl FieldValue for $field {
            $(const KIND: Option<Kind> = Some($kind);)?

            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::$form($value) => $of,
                    _ => None,
                }
            }

            fn value(&self, _: Kind, _: &[&'static str]) -> Option<Value> {
                let $from = self;
                Some(Value::$form($to))
            }
        })*
    };
}

forms! {
    bool [Kind::Flag]: Flag(flag) => Some(*flag), field => *field;
    Duration: Duration(span) => Some(*span), field => *field;
    Rate [Kind::Rate]: Rate(rate) => Some(*rate), field => *field;
    DecodeSpeed [Kind::RateBySize]: Rates(points) => Self::new(points.clone()), field => field.points().to_vec();
    [f64; 3] [Kind::Probabilities { count: 3 }]:
        Numbers(numbers) => numbers.as_slice().try_into().ok(), field => field.to_vec();
    Vec<u64>: Sizes(sizes) => Some(sizes.iter().map(|size| size.0).collect()),
        field => field.iter().copied().map(Bytes).collect();
}

/// A word, such as `auto` or `off`, means `None`.
impl<T: FieldValue> FieldValue for Option<T> {
    const KIND: Option<Kind> = T::KIND;

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Word(_) => Some(None),
            value => T::from_value(value).map(Some),
        }
    }

    fn if_missing() -> Option<Self> {
        Some(None)
    }

    fn value(&self, kind: Kind, words: &[&'static str]) -> Option<Value> {
        match self {
            Some(field) => field.value(kind, &[]),
            None => words.first().map(|word| Value::Word(word)),
        }
    }
}

/// Implements [`FieldValue`] for amounts in bytes, or in a second unit such as packets.
macro_rules! counted_or_bytes {
    ($field:ty, $counted:ident) => {
        impl FieldValue for $field {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::Bytes(bytes) => Some(Self::Bytes(bytes.0)),
                    Value::Count(_) => u32::from_value(value).map(Self::$counted),
                    _ => None,
                }
            }

            fn value(&self, _: Kind, _: &[&'static str]) -> Option<Value> {
                Some(match self {
                    Self::Bytes(bytes) => Value::Bytes(Bytes(*bytes)),
                    Self::$counted(count) => Value::Count((*count).into()),
                })
            }
        }
    };
}

counted_or_bytes!(Limit, Packets);
counted_or_bytes!(InitialWindow, Segments);

impl FieldValue for Option<HyStartClock> {
    const WORDS: &'static [&'static str] = &["off", "microseconds"];

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Word("microseconds") => Some(Some(HyStartClock::Microseconds)),
            Value::Word(_) => Some(None),
            value => Duration::from_value(value).map(|tick| Some(HyStartClock::Ticks(tick))),
        }
    }

    fn value(&self, _: Kind, _: &[&'static str]) -> Option<Value> {
        Some(match self {
            None => Value::Word("off"),
            Some(HyStartClock::Microseconds) => Value::Word("microseconds"),
            Some(HyStartClock::Ticks(tick)) => Value::Duration(*tick),
        })
    }
}

impl FieldValue for DecodeCores {
    const WORDS: &'static [&'static str] = &["auto", "unlimited"];

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Word("auto") => Some(Self::Auto),
            Value::Word("unlimited") => Some(Self::Unlimited),
            value => u32::from_value(value).map(Self::Count),
        }
    }

    fn value(&self, kind: Kind, _: &[&'static str]) -> Option<Value> {
        match self {
            Self::Auto => Some(Value::Word("auto")),
            Self::Unlimited => Some(Value::Word("unlimited")),
            Self::Count(cores) => cores.value(kind, &[]),
        }
    }
}
