//! Readers of configuration values: numbers, times, sizes, addresses and files.

use super::read::{PATH, TIME};
use crate::address::Address;
use crate::endpoint::{Endpoint, PORTS};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use std::fmt::{self, Display};
use std::fs;
use std::io::Read;
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;

use tailcut_units::quantity::{Quantity, allowed};
use tailcut_units::{Bytes, Duration as Span};

/// Value that is neither a table nor a list.
#[derive(Clone, Copy, Debug)]
pub enum Scalar<'a> {
    /// `true` or `false`.
    Flag(bool),
    /// Whole number, at least 0.
    Count(u64),
    /// Number that is negative or not whole.
    Number(f64),
    /// Text, or any value of `--set`.
    Text(&'a str),
}

impl Scalar<'_> {
    /// Returns the value as a quantity if it is within the range. `of` converts a number without a unit.
    pub fn quantity<Q: Quantity>(self, range: &RangeInclusive<Q>, of: fn(u64) -> Q) -> Option<Q> {
        let found = match self {
            Self::Text(text) => Q::read(text)?,
            Self::Count(count) => of(count),
            _ => return None,
        };
        range.contains(&found).then_some(found)
    }

    /// Returns the value as a number. The text `50%` gives 0.5.
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Flag(_) => None,
            Self::Count(count) => Some(count as f64),
            Self::Number(number) => Some(number),
            Self::Text(text) => f64::read(text),
        }
    }
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

/// Reads a scalar. `allowed` is the description of the values that `read` accepts.
///
/// # Errors
/// The value is not allowed.
pub fn scalar<'de, T, D: Deserializer<'de>>(
    from: D,
    allowed: impl Display,
    read: impl Fn(Scalar<'_>) -> Option<T>,
) -> Result<T, D::Error> {
    from.deserialize_any(reading(allowed, read))
}

/// Reads a whole number within a range.
///
/// # Errors
/// The value is not allowed.
pub fn count<'de, const LEAST: u64, const MOST: u64, T, D>(from: D) -> Result<T, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    let range = LEAST..=MOST;
    scalar(from, allowed(&range), |found| {
        found.quantity(&range, |count| count)?.try_into().ok()
    })
}

/// Reads a size in bytes within a range.
///
/// # Errors
/// The value is not allowed.
pub fn size<'de, const LEAST: u64, const MOST: u64, T, D>(from: D) -> Result<T, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    let range = Bytes(LEAST)..=Bytes(MOST);
    scalar(from, allowed(&range), |found| {
        found.quantity(&range, Bytes)?.0.try_into().ok()
    })
}

/// Reads a time within a range of milliseconds.
///
/// # Errors
/// The value is not allowed.
pub fn time<'de, const LEAST: u64, const MOST: u64, D: Deserializer<'de>>(
    from: D,
) -> Result<Duration, D::Error> {
    let range = Span::from_ms(LEAST)..=Span::from_ms(MOST);
    let words = allowed(&range);
    let read = |found: Scalar<'_>| found.quantity(&range, Span::from_ms).map(Duration::from);
    from.deserialize_newtype_struct(TIME, reading(words, read))
}

fn or_endless<Q: Quantity>(range: &RangeInclusive<Q>) -> String {
    format!("{}; or \"Infinity\"", allowed(range))
}

/// Reads a size in bytes or a whole number. "Infinity" gives the largest number.
///
/// # Errors
/// The value is not allowed.
pub fn size_or_endless<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let range = Bytes(0)..=Bytes::MOST;
    scalar(from, or_endless(&range), |found| match found {
        Scalar::Text("Infinity") => Some(u64::MAX),
        found => Some(found.quantity(&range, Bytes)?.0),
    })
}

/// Reads a time. "Infinity" gives `None`.
///
/// # Errors
/// The value is not allowed.
pub fn time_or_endless<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let range = Span::from_ms(1)..=Span::MOST;
    let read = |found: Scalar<'_>| match found {
        Scalar::Text("Infinity") => Some(None),
        found => Some(Some(Duration::from(found.quantity(&range, Span::from_ms)?))),
    };
    from.deserialize_newtype_struct(TIME, reading(or_endless(&range), read))
}

/// Reads the address of a peer, whose port must not be 0.
///
/// # Errors
/// The value is not allowed.
pub fn target<'de, D: Deserializer<'de>>(from: D) -> Result<Endpoint, D::Error> {
    endpoint(from, 1)
}

/// Reads the address of a peer: a TCP address whose port is not 0, or a Unix socket.
///
/// # Errors
/// The value is not allowed.
pub fn server<'de, D: Deserializer<'de>>(from: D) -> Result<Address, D::Error> {
    address(from, 1)
}

fn address<'de, D: Deserializer<'de>>(from: D, least: u16) -> Result<Address, D::Error> {
    let ports = least..=*PORTS.end();
    scalar(from, Address::allowed(&ports), |found| match found {
        Scalar::Count(port) => Address::parse(&port.to_string(), &ports),
        Scalar::Text(text) => Address::parse(text, &ports),
        _ => None,
    })
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        address(from, 0)
    }
}

/// Reads the mode of the file of a Unix socket: an octal number from 600 to 666.
///
/// # Errors
/// The value is not allowed.
pub fn socket_mode<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let allowed = "an octal mode as text, such as \"600\", \"660\" or \"666\"";
    scalar(from, allowed, |found| {
        let Scalar::Text(text) = found else {
            return None;
        };
        let mode = u32::from_str_radix(text, 8).ok()?;
        // Files of sockets need no other permissions. The user of the program needs both permissions.
        (mode & !0o666 == 0 && mode & 0o600 == 0o600).then_some(mode)
    })
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

/// Reads a name: 1 to 64 characters that need no escaping in URLs, labels and log lines.
///
/// # Errors
/// The value is not allowed.
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

/// Contents of a file that a configuration names.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    /// Path of the file, relative to the working directory or absolute.
    pub path: PathBuf,
    /// Contents at the time of reading.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The file may contain a private key, which must not appear in logs.
        f.debug_tuple("File").field(&self.path).finish()
    }
}

/// Contents of a file with a private key. Other users cannot use the file, and its group cannot change it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyFile(pub File);

/// Largest size of a file in PEM. Bundles of all public authorities have about 250 kB.
const LARGEST_PEM: u64 = 4 << 20;

/// Permissions that a key file must not have.
/// The file's group may read it, because services often get their keys through a group.
const NOT_OF_KEYS: u32 = 0o027;

/// Reader of the path of a file. Its field says whether the file contains a private key.
struct OfFile {
    is_key: bool,
}

impl Visitor<'_> for OfFile {
    type Value = File;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the path of a file in PEM")
    }

    fn visit_str<E: de::Error>(self, path: &str) -> Result<File, E> {
        let refused = |cause: String| {
            E::custom(format!(
                "the path of a file in PEM ({}: {cause})",
                path.escape_debug()
            ))
        };
        let mut bytes = Vec::new();
        let mut read = || {
            let file = fs::File::open(path)?;
            // The mode is read from the open file, because another file may take its path.
            let mode = file.metadata()?.permissions().mode() & 0o777;
            // One byte beyond the limit is read, so that a file that is too long is noticed.
            file.take(LARGEST_PEM + 1).read_to_end(&mut bytes)?;
            Ok::<_, std::io::Error>(mode)
        };
        let mode = read().map_err(|error| refused(error.to_string()))?;
        if bytes.len() as u64 > LARGEST_PEM {
            return Err(refused("it has more than 4 MiB".to_owned()));
        }
        if self.is_key && mode & NOT_OF_KEYS != 0 {
            return Err(refused(format!(
                "its mode is {mode:03o}, so that other users can use the key; chmod 600 or 640"
            )));
        }
        let path = path.into();
        Ok(File { path, bytes })
    }
}

impl<'de> Deserialize<'de> for File {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_newtype_struct(PATH, OfFile { is_key: false })
    }
}

impl<'de> Deserialize<'de> for KeyFile {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let file = from.deserialize_newtype_struct(PATH, OfFile { is_key: true });
        file.map(Self)
    }
}
