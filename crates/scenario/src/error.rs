//! What is wrong with a scenario: where, what was found, what is allowed.

use std::fmt;
use std::sync::Arc;

/// A value, or what is wrong with the scenario.
pub type Outcome<T> = Result<T, Box<ScenarioError>>;

/// Where a value comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// A line of a file, from one.
    Line {
        /// The file, as the user named it.
        file: Arc<str>,
        /// The line.
        line: usize,
    },
    /// A flag or argument of the command line, as it is written there.
    Flag(Arc<str>),
    /// A value that a program has set.
    Value,
}

impl Place {
    /// The flag called `name`.
    pub fn flag(name: &str) -> Self {
        Self::Flag(name.into())
    }

    /// A line of a file.
    pub fn line(file: &str, line: usize) -> Self {
        Self::Line {
            file: file.into(),
            line,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { file, line } => write!(f, "{file}:{line}"),
            Self::Flag(flag) => f.write_str(flag),
            Self::Value => f.write_str("a value that was set"),
        }
    }
}

/// What is wrong with a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
    /// Where.
    pub place: Place,
    /// The key, with its section; empty where the error is about no key.
    pub key: String,
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
    /// What may have been meant.
    pub meant: Option<String>,
}

impl ScenarioError {
    /// An error at a place.
    pub fn new(
        place: &Place,
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

    /// The same error with a guess at what was meant.
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

/// The nearest of `names` to what was found, where one is near: within a third of its length in edits.
pub fn did_you_mean<'a>(found: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let found: String = found
        .chars()
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
