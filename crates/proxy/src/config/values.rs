//! Types of values: numbers, times, sizes, addresses, files.

use super::read::{PATH, TIME};
use crate::endpoint::{Endpoint, PORTS};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;

/// A value without a structure.
#[derive(Clone, Copy, Debug)]
pub enum Scalar<'a> {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number, at least 0.
    Count(u64),
    /// Another number.
    Number(f64),
    /// Text, and every value of `--set`.
    Text(&'a str),
}

impl Scalar<'_> {
    /// Returns the number, if it is one.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Flag(_) => None,
            Self::Count(count) => Some(count as f64),
            Self::Number(number) => Some(number),
            Self::Text(text) => text.parse().ok(),
        }
    }

    /// Returns a count, such as 5 or "10k".
    pub fn count(self) -> Option<u64> {
        match self {
            Self::Count(count) => Some(count),
            Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// Returns bytes, such as 5 or "64KiB".
    pub fn size(self) -> Option<u64> {
        match self {
            Self::Text(text) => text.parse().ok().or_else(|| size_of(text)),
            _ => self.count(),
        }
    }

    /// Returns a time, such as "10s". A number is one of milliseconds.
    pub fn time(self) -> Option<Duration> {
        match self {
            Self::Text(text) => time_of(text),
            _ => self.count().map(Duration::from_millis),
        }
    }
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

fn size_of(text: &str) -> Option<u64> {
    let units = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("B", 1),
    ];
    scaled(text, &units)
}

fn time_of(text: &str) -> Option<Duration> {
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
    scaled(text, &units).map(Duration::from_millis)
}

struct Reading<T, A, R> {
    allowed: A,
    read: R,
    gives: PhantomData<T>,
}

impl<T, A: Display, R: Fn(Scalar<'_>) -> Option<T>> Reading<T, A, R> {
    fn take<E: de::Error>(&self, found: Scalar<'_>) -> Result<T, E> {
        let wrong = || E::custom(&self.allowed);
        (self.read)(found).ok_or_else(wrong)
    }
}

impl<T, A: Display, R: Fn(Scalar<'_>) -> Option<T>> Visitor<'_> for Reading<T, A, R> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.allowed.fmt(f)
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<T, E> {
        self.take(Scalar::Flag(flag))
    }

    fn visit_u64<E: de::Error>(self, count: u64) -> Result<T, E> {
        self.take(Scalar::Count(count))
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.take(Scalar::Number(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        self.take(Scalar::Text(text))
    }
}

const fn reading<T, A: Display, R: Fn(Scalar<'_>) -> Option<T>>(
    allowed: A,
    read: R,
) -> Reading<T, A, R> {
    Reading {
        allowed,
        read,
        gives: PhantomData,
    }
}

/// Reads a value without a structure. `allowed` says which values `read` takes.
///
/// # Errors
/// Another value.
pub fn scalar<'de, T, D: Deserializer<'de>>(
    from: D,
    allowed: impl Display,
    read: impl Fn(Scalar<'_>) -> Option<T>,
) -> Result<T, D::Error> {
    from.deserialize_any(reading(allowed, read))
}

/// `an integer` and `from 1 to 100`; a range without an end is another type's to check.
fn within(what: &str, [least, most]: [u64; 2], text: impl Fn(u64) -> String) -> String {
    match most {
        u64::MAX => what.trim_end_matches(',').to_owned(),
        _ => format!("{what} from {} to {}", text(least), text(most)),
    }
}

const SIZE: &str = "bytes, or a size such as \"64KiB\" or \"1MiB\",";
const SPAN: &str = "a time such as \"250ms\", \"10s\" or \"2m\",";

/// Reads a count within a range.
///
/// # Errors
/// Another value.
pub fn count<'de, const LEAST: u64, const MOST: u64, T, D>(from: D) -> Result<T, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    let allowed = within("an integer", [LEAST, MOST], |end| end.to_string());
    scalar(from, allowed, |found| {
        let count = found.count().filter(|count| (LEAST..=MOST).contains(count));
        count?.try_into().ok()
    })
}

/// Reads bytes within a range.
///
/// # Errors
/// Another value.
pub fn size<'de, const LEAST: u64, const MOST: u64, T, D>(from: D) -> Result<T, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    let allowed = within(SIZE, [LEAST, MOST], |end| end.to_string());
    scalar(from, allowed, |found| {
        let size = found.size().filter(|size| (LEAST..=MOST).contains(size));
        size?.try_into().ok()
    })
}

/// Reads a time within a range of milliseconds.
///
/// # Errors
/// Another value.
pub fn time<'de, const LEAST: u64, const MOST: u64, D: Deserializer<'de>>(
    from: D,
) -> Result<Duration, D::Error> {
    let [least, most] = [LEAST, MOST].map(Duration::from_millis);
    let allowed = within(SPAN, [LEAST, MOST], |end| span(Duration::from_millis(end)));
    let read = |found: Scalar<'_>| found.time().filter(|time| (least..=most).contains(time));
    from.deserialize_newtype_struct(TIME, reading(allowed, read))
}

/// Reads bytes or a count; "Infinity" is the largest number.
///
/// # Errors
/// Another value.
pub fn size_or_endless<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    scalar(from, format!("{SIZE} or {ENDLESS}"), |found| match found {
        Scalar::Text("Infinity") => Some(u64::MAX),
        found => found.size(),
    })
}

const ENDLESS: &str = "\"Infinity\"";

/// Reads a time; "Infinity" is none.
///
/// # Errors
/// Another value.
pub fn time_or_endless<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let read = |found: Scalar<'_>| match found {
        Scalar::Text("Infinity") => Some(None),
        found => found.time().map(Some),
    };
    from.deserialize_newtype_struct(TIME, reading(format!("{SPAN} or {ENDLESS}"), read))
}

/// A time as it is written in a configuration.
pub fn span(time: Duration) -> String {
    let ms = time.as_millis();
    match ms {
        _ if ms >= 3_600_000 && ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms >= 60_000 && ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms >= 1_000 && ms.is_multiple_of(1_000) => format!("{}s", ms / 1_000),
        _ => format!("{ms}ms"),
    }
}

/// Reads the address of a peer: its port is not 0.
///
/// # Errors
/// Another value.
pub fn target<'de, D: Deserializer<'de>>(from: D) -> Result<Endpoint, D::Error> {
    endpoint(from, 1)
}

fn endpoint<'de, D: Deserializer<'de>>(from: D, least: u16) -> Result<Endpoint, D::Error> {
    let ports = least..=*PORTS.end();
    scalar(from, Endpoint::allowed(&ports), |found| {
        let text = match found {
            Scalar::Count(port) => port.to_string(),
            Scalar::Text(text) => text.to_owned(),
            _ => return None,
        };
        Endpoint::parse(&text, &ports)
    })
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        endpoint(from, 0)
    }
}

/// Reads a name: 1 to 64 characters that need no escape anywhere.
///
/// # Errors
/// Another value.
pub fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let allowed = "1 to 64 characters of A-Z a-z 0-9 _ . -";
    let read = |found: Scalar<'_>| match found {
        Scalar::Text(name) if (1..=64).contains(&name.len()) && name.chars().all(is_plain) => {
            Some(name.to_owned())
        }
        _ => None,
    };
    from.deserialize_str(reading(allowed, read))
}

/// A file that a configuration names, as it was read.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    /// Path of the file.
    pub path: PathBuf,
    /// Content of the file.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The content may be a key.
        f.debug_tuple("File").field(&self.path).finish()
    }
}

struct OfFile;

impl Visitor<'_> for OfFile {
    type Value = File;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the path of a file in PEM")
    }

    fn visit_str<E: de::Error>(self, path: &str) -> Result<File, E> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(File {
                path: path.into(),
                bytes,
            }),
            Err(error) => Err(E::custom(format!(
                "the path of a file in PEM ({path}: {error})"
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for File {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_newtype_struct(PATH, OfFile)
    }
}
