//! Errors in a scenario: the place, the text that was found there, and the allowed values.

use std::fmt;
use std::sync::Arc;

/// Value, or the error in the scenario that prevents the value.
pub type Outcome<T> = Result<T, Box<ScenarioError>>;

/// Source of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Location {
    /// Line of a file. The first line is 1.
    Line {
        /// File name, as the user wrote it.
        file: Arc<str>,
        /// Line number.
        line: usize,
    },
    /// Flag or argument of the command line, as the user wrote it.
    Flag(Arc<str>),
    /// Value that a program set through the API.
    Value,
}

impl Location {
    /// Returns the location of the flag `name`.
    pub fn flag(name: &str) -> Self {
        Self::Flag(name.into())
    }

    /// Returns the location of a line of a file.
    pub fn line(file: &str, line: usize) -> Self {
        Self::Line {
            file: file.into(),
            line,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { file, line } => write!(f, "{file}:{line}"),
            Self::Flag(flag) => f.write_str(flag),
            Self::Value => f.write_str("a value that was set"),
        }
    }
}

/// Error in a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
    /// Location of the error: a line of a file, or a flag.
    pub place: Location,
    /// Key, with its section. Empty if the error belongs to no key.
    pub key: String,
    /// Description of the value that was found.
    pub found: String,
    /// Description of the allowed values.
    pub allowed: String,
    /// Suggestion: the name that the user probably meant.
    pub meant: Option<String>,
}

impl ScenarioError {
    /// Creates an error with its location.
    pub fn new(
        place: &Location,
        key: impl Into<String>,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Box<Self> {
        Box::new(Self {
            place: place.clone(),
            key: key.into(),
            found: found.into(),
            allowed: allowed.into(),
            meant: None,
        })
    }

    /// Adds a suggestion of the intended name.
    pub fn meaning(mut self: Box<Self>, meant: Option<String>) -> Box<Self> {
        self.meant = meant;
        self
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "found {}", self.found)?;
        if !self.allowed.is_empty() {
            write!(f, "; allowed: {}", self.allowed)?;
        }
        match &self.meant {
            Some(meant) => write!(f, "; did you mean '{meant}'?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// Returns the name that is closest to the text that was found. At most a third of the name's characters may differ.
/// A name also counts as close if it begins with the text, and the text has three characters or more.
pub fn did_you_mean<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let found: String = found
        .chars()
        // Only 64 characters are compared, because the comparison of long texts would be slow.
        .take(64)
        .flat_map(char::to_lowercase)
        .collect();
    let near = names.into_iter().filter_map(|name| {
        let distance = strsim::damerau_levenshtein(&found, name);
        let begins = found.len() >= 3 && name.starts_with(&found);
        (begins || distance <= (name.len() / 3).max(1)).then_some((distance, name))
    });
    near.min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_answered_with_the_nearest_name_and_nonsense_with_none() {
        let names = ["tcp", "cubic", "dctcp", "repflow", "repsyn"];
        assert_eq!(did_you_mean("dtcp", names), Some("dctcp"));
        assert_eq!(did_you_mean("RepFlo", names), Some("repflow"));
        assert_eq!(did_you_mean("cubik", names), Some("cubic"));
        assert_eq!(did_you_mean("quic-over-pigeons", names), None);
    }
}
