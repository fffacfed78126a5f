//! Where a value of a configuration stands, and what is wrong with it there: every error names the place, the
//! key, what was found and what is allowed.

use crate::endpoint::Endpoint;
use anyhow::{Result, bail};
use serde_json::{Map, Value};
use std::ops::RangeInclusive;
use std::time::Duration;

/// A place of a configuration: a file (or the command line), and the path of a table in it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The file.
    pub file: &'a str,
    /// What keys stand behind, such as `routes[0].`.
    pub before: &'a str,
}

impl<'a> Place<'a> {
    /// The top of a file.
    pub const fn top(file: &'a str) -> Self {
        Self { file, before: "" }
    }

    /// A table in the same file.
    pub const fn table(&self, before: &'a str) -> Self {
        Self { before, ..*self }
    }

    /// # Errors
    /// Always: what was found under a key, and what is allowed.
    pub fn refuse<T>(&self, key: &str, found: Option<&Value>, allowed: &str) -> Result<T> {
        let found = found.map_or_else(|| "absent".to_owned(), Value::to_string);
        let Self { file, before } = self;
        bail!("{file}: \"{before}{key}\" is {found}; allowed: {allowed}")
    }

    /// A table.
    ///
    /// # Errors
    /// Anything else.
    pub fn fields<'v>(&self, key: &str, found: &'v Value) -> Result<&'v Map<String, Value>> {
        match found.as_object() {
            Some(fields) => Ok(fields),
            None => self.refuse(key, Some(found), "a table"),
        }
    }

    /// Only these keys are there.
    ///
    /// # Errors
    /// Another one.
    pub fn only(&self, fields: &Map<String, Value>, known: &[&str]) -> Result<()> {
        let Self { file, before } = self;
        match fields.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => bail!(
                "{file}: \"{before}{key}\" is not a key here; allowed: {}",
                known.join(", ")
            ),
            None => Ok(()),
        }
    }

    /// A list with at least one entry.
    ///
    /// # Errors
    /// Anything else.
    pub fn list<'v>(&self, key: &str, found: Option<&'v Value>, of: &str) -> Result<&'v [Value]> {
        match found.and_then(Value::as_array) {
            Some(list) if !list.is_empty() => Ok(list),
            _ => self.refuse(key, found, &format!("a list of at least one {of}")),
        }
    }

    /// Text that is not empty.
    ///
    /// # Errors
    /// Anything else.
    pub fn text<'v>(&self, key: &str, found: Option<&'v Value>, allowed: &str) -> Result<&'v str> {
        match found.and_then(Value::as_str) {
            Some(text) if !text.is_empty() => Ok(text),
            _ => self.refuse(key, found, allowed),
        }
    }

    /// A name that needs no escape anywhere: 1 to 64 characters of `A-Z a-z 0-9 _ . -`.
    ///
    /// # Errors
    /// Anything else.
    pub fn name<'v>(&self, key: &str, found: Option<&'v Value>) -> Result<&'v str> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        match found.and_then(Value::as_str) {
            Some(name) if (1..=64).contains(&name.len()) && name.chars().all(is_plain) => Ok(name),
            _ => self.refuse(key, found, "1 to 64 characters of A-Z a-z 0-9 _ . -"),
        }
    }

    /// An address; a number is a port.
    ///
    /// # Errors
    /// Anything else.
    pub fn endpoint(
        &self,
        key: &str,
        found: Option<&Value>,
        ports: RangeInclusive<u16>,
    ) -> Result<Endpoint> {
        let text = match found {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(port)) => port.to_string(),
            _ => String::new(),
        };
        match Endpoint::parse(&text, &ports) {
            Ok(endpoint) => Ok(endpoint),
            Err(allowed) => self.refuse(key, found, &allowed),
        }
    }

    /// An integer.
    ///
    /// # Errors
    /// Anything else.
    pub fn number(&self, key: &str, found: &Value, range: RangeInclusive<u64>) -> Result<u64> {
        match found.as_u64().filter(|number| range.contains(number)) {
            Some(number) => Ok(number),
            None => {
                let allowed = format!("an integer from {} to {}", range.start(), range.end());
                self.refuse(key, Some(found), &allowed)
            }
        }
    }

    /// An integer, or `None` for "Infinity".
    ///
    /// # Errors
    /// Anything else.
    pub fn number_or_endless(
        &self,
        key: &str,
        found: &Value,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>> {
        if found == "Infinity" {
            return Ok(None);
        }
        match found.as_u64().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                let (least, most) = (range.start(), range.end());
                let allowed = format!("an integer from {least} to {most}, or \"Infinity\"");
                self.refuse(key, Some(found), &allowed)
            }
        }
    }

    /// A time such as "250ms", "10s" or "2m".
    ///
    /// # Errors
    /// Anything else.
    pub fn time(
        &self,
        key: &str,
        found: &Value,
        range: RangeInclusive<Duration>,
    ) -> Result<Duration> {
        let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
        let read = found.as_str().and_then(|text| scaled(text, &units));
        match read.map(Duration::from_millis) {
            Some(time) if range.contains(&time) => Ok(time),
            _ => {
                let [least, most] = [range.start(), range.end()].map(|time| span(*time));
                let allowed =
                    format!("a time such as \"250ms\", \"10s\" or \"2m\", from {least} to {most}");
                self.refuse(key, Some(found), &allowed)
            }
        }
    }

    /// A size in bytes: a number, or text such as "64KiB" or "1MiB".
    ///
    /// # Errors
    /// Anything else.
    pub fn size(&self, key: &str, found: &Value, range: RangeInclusive<u64>) -> Result<u64> {
        let units = [
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
            ("B", 1),
        ];
        let read = match found {
            Value::String(text) => scaled(text, &units),
            _ => found.as_u64(),
        };
        match read.filter(|size| range.contains(size)) {
            Some(size) => Ok(size),
            None => {
                let (least, most) = (range.start(), range.end());
                let allowed = format!(
                    "bytes, or a size such as \"64KiB\" or \"1MiB\", from {least} to {most}"
                );
                self.refuse(key, Some(found), &allowed)
            }
        }
    }

    /// One of some words.
    ///
    /// # Errors
    /// Anything else.
    pub fn word<T: Copy>(&self, key: &str, found: &Value, words: &[(&str, T)]) -> Result<T> {
        match words.iter().find(|(word, _)| found == word) {
            Some((_, value)) => Ok(*value),
            None => {
                let words: Vec<String> = words
                    .iter()
                    .map(|(word, _)| format!("\"{word}\""))
                    .collect();
                self.refuse(key, Some(found), &words.join(", "))
            }
        }
    }

    /// True or false.
    ///
    /// # Errors
    /// Anything else.
    pub fn flag(&self, key: &str, found: &Value) -> Result<bool> {
        match found.as_bool() {
            Some(flag) => Ok(flag),
            None => self.refuse(key, Some(found), "true or false"),
        }
    }
}

/// An integer and its unit.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const AT: Place<'_> = Place {
        file: "a.toml",
        before: "routes[0].",
    };

    #[test]
    fn times_and_sizes_have_units_and_a_range() {
        let day = Duration::from_millis(1)..=Duration::from_secs(86_400);
        for (text, ms) in [
            ("250ms", 250),
            ("10s", 10_000),
            ("2m", 120_000),
            ("1 h", 3_600_000),
        ] {
            let time = AT.time("t", &json!(text), day.clone()).expect("a time");
            assert_eq!(time.as_millis(), ms);
        }
        assert_eq!(span(Duration::from_secs(120)), "2m");
        for (value, bytes) in [(json!(7), 7), (json!("64KiB"), 65_536), (json!("2 B"), 2)] {
            assert_eq!(AT.size("s", &value, 0..=1 << 20).expect("a size"), bytes);
        }
        for wrong in [
            json!("10"),
            json!(10),
            json!("s"),
            json!("0ms"),
            json!("2d"),
            json!("99999999999h"),
        ] {
            assert!(AT.time("t", &wrong, day.clone()).is_err(), "{wrong}");
        }
        let refused = AT
            .size("s", &json!("2MiB"), 0..=1 << 20)
            .expect_err("too much");
        assert_eq!(
            refused.to_string(),
            "a.toml: \"routes[0].s\" is \"2MiB\"; allowed: bytes, or a size such as \"64KiB\" or \"1MiB\", \
             from 0 to 1048576"
        );
    }

    #[test]
    fn an_unknown_key_is_told_with_those_that_are_known() {
        let table = json!({ "name": "a", "nmae": "b" });
        let fields = AT.fields("x", &table).expect("a table");
        let refused = AT
            .only(fields, &["name", "listen"])
            .expect_err("an unknown key");
        assert_eq!(
            refused.to_string(),
            "a.toml: \"routes[0].nmae\" is not a key here; allowed: name, listen"
        );
    }
}
