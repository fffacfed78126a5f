//! Configuration of the logs: the key `log`.

use crate::config::OUTPUT;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::path::PathBuf;

/// Form of the lines of a log.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A time, then `key=value` for each field.
    #[default]
    Text,
    /// One JSON object in each line.
    Json,
}

/// Least important events that the error log contains.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Faults that an operator has to mend.
    Error,
    /// Faults of servers, too.
    Warn,
    /// Changes of state, too, such as reloads.
    #[default]
    Info,
    /// Requests that failed because of their client, too.
    Debug,
}

/// Output of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Output {
    /// There is no such log.
    Nothing,
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// File to which lines are appended. A reload opens it again, so that it can be rotated.
    File(PathBuf),
}

/// Configuration of access log and error log.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(default)]
pub struct LogConfig {
    /// Output of the access log, which has a line for each request.
    pub access: Output,
    /// Output of the error log.
    pub errors: Output,
    /// Form of the lines of both logs.
    pub format: Format,
    /// Least important events that the error log contains.
    pub level: Level,
}

impl Default for LogConfig {
    fn default() -> Self {
        Self {
            access: Output::Nothing,
            errors: Output::Stderr,
            format: Format::default(),
            level: Level::default(),
        }
    }
}

struct OfOutput;

impl Visitor<'_> for OfOutput {
    type Value = Output;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"stdout\", \"stderr\", the path of a file, or false")
    }

    fn visit_bool<E: de::Error>(self, flag: bool) -> Result<Output, E> {
        match flag {
            false => Ok(Output::Nothing),
            true => Err(E::invalid_type(de::Unexpected::Bool(flag), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Output, E> {
        match text {
            "" => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
            "stdout" => Ok(Output::Stdout),
            "stderr" => Ok(Output::Stderr),
            path => Ok(Output::File(path.into())),
        }
    }
}

impl<'de> Deserialize<'de> for Output {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_newtype_struct(OUTPUT, OfOutput)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Draft;
    use std::path::Path;

    fn read(text: &str) -> Result<LogConfig, String> {
        let draft = Draft::of_text("f", Path::new("/etc/tailcut"), text).expect("TOML");
        let log = draft.top().table("log");
        log.read().map_err(|error| error.to_string())
    }

    #[test]
    fn an_output_is_a_stream_or_a_file_beside_the_configuration() {
        let config = read("log.access = \"access.log\"\nlog.errors = \"stdout\"");
        let config = config.expect("a configuration");
        assert_eq!(
            config.access,
            Output::File("/etc/tailcut/access.log".into())
        );
        assert_eq!(config.errors, Output::Stdout);
        let off = read("log.errors = false\nlog.format = \"json\"").expect("a configuration");
        assert_eq!((off.errors, off.format), (Output::Nothing, Format::Json));
        let wrong = read("log.access = true").expect_err("not an output");
        assert!(
            wrong.starts_with("f:1:14: \"log.access\" is true"),
            "{wrong}"
        );
    }
}
