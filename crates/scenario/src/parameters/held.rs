//! What fields hold, and the values of keys that stand for it.

use crate::value::{Kind, Value};
use std::num::NonZeroU32;
use tailcut_sim::DecodeCores;
use tailcut_sim::fabric::queue::Limit;
use tailcut_sim::transport::scdp::DecodeSpeed;
use tailcut_sim::transport::tcp::InitialWindow;
use tailcut_units::{Bytes, Duration, Rate};

/// The type of a field that a key sets.
pub trait Held: Sized {
    /// What a key of it allows, where its type alone says so.
    const KIND: Option<Kind> = None;

    /// The words that stand for what it holds, where they do not depend on the key.
    const WORDS: &'static [&'static str] = &[];

    /// What a value stands for; `None` for a value that no key of such a field has.
    fn of(value: &Value) -> Option<Self>;

    /// What stands for no value, if anything does.
    fn absent() -> Option<Self> {
        None
    }

    /// The value that stands for what is held, of a key of this kind with these words; `None` where none
    /// does.
    fn value(&self, kind: Kind, words: &[&'static str]) -> Option<Value>;
}

/// The word of a key that stands for what is held, if one does.
fn word<T: Held + PartialEq>(held: &T, words: &[&'static str]) -> Option<Value> {
    let words = words.iter().map(|word| Value::Word(word));
    let mut words = words.filter(|word| T::of(word).as_ref() == Some(held));
    words.next()
}

/// `unlimited` is the most that a number can be; other words, such as `off`, are nothing.
macro_rules! whole_numbers {
    ($($number:ty),*) => {
        $(impl Held for $number {
            fn of(value: &Value) -> Option<Self> {
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

impl Held for Bytes {
    fn of(value: &Value) -> Option<Self> {
        u64::of(value).map(Self)
    }

    fn value(&self, kind: Kind, words: &[&'static str]) -> Option<Value> {
        self.0.value(kind, words)
    }
}

impl Held for NonZeroU32 {
    fn of(value: &Value) -> Option<Self> {
        u32::of(value).and_then(Self::new)
    }

    fn value(&self, kind: Kind, words: &[&'static str]) -> Option<Value> {
        self.get().value(kind, words)
    }
}

impl Held for f64 {
    /// A word, such as `off`, is nothing.
    fn of(value: &Value) -> Option<Self> {
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

/// Types that values of one form stand for, some with a kind of key of their own.
macro_rules! forms {
    ($($held:ty $([$kind:expr])?: $form:ident($value:ident) => $of:expr, $from:ident => $to:expr;)*) => {
        $(impl Held for $held {
            $(const KIND: Option<Kind> = Some($kind);)?

            fn of(value: &Value) -> Option<Self> {
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
    bool [Kind::Flag]: Flag(flag) => Some(*flag), held => *held;
    Duration: Duration(span) => Some(*span), held => *held;
    Rate [Kind::Rate]: Rate(rate) => Some(*rate), held => *held;
    DecodeSpeed [Kind::RateBySize]: Rates(points) => Self::new(points.clone()), held => held.points().to_vec();
    [f64; 3] [Kind::Probabilities { count: 3 }]:
        Numbers(numbers) => numbers.as_slice().try_into().ok(), held => held.to_vec();
    Vec<u64>: Sizes(sizes) => Some(sizes.iter().map(|size| size.0).collect()),
        held => held.iter().copied().map(Bytes).collect();
}

/// A word, such as `auto` or `off`, is none.
impl<T: Held> Held for Option<T> {
    const KIND: Option<Kind> = T::KIND;

    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Word(_) => Some(None),
            value => T::of(value).map(Some),
        }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn value(&self, kind: Kind, words: &[&'static str]) -> Option<Value> {
        match self {
            Some(held) => held.value(kind, &[]),
            None => words.first().map(|word| Value::Word(word)),
        }
    }
}

/// Bytes, or a number of something else.
macro_rules! counted_or_bytes {
    ($held:ty, $counted:ident) => {
        impl Held for $held {
            fn of(value: &Value) -> Option<Self> {
                match value {
                    Value::Bytes(bytes) => Some(Self::Bytes(bytes.0)),
                    Value::Count(_) => u32::of(value).map(Self::$counted),
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

impl Held for DecodeCores {
    const WORDS: &'static [&'static str] = &["auto", "unlimited"];

    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Word("auto") => Some(Self::Auto),
            Value::Word("unlimited") => Some(Self::Unlimited),
            value => u32::of(value).map(Self::Count),
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
