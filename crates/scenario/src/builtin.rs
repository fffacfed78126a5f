//! The scenarios that are built in, from the folder `scenarios/`.

use crate::error::Outcome;
use crate::scenario::Scenario;

/// A scenario that is built in.
pub struct BuiltIn {
    /// Its name: that of its file, without the extension.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! built_in {
    ($($name:literal),* $(,)?) => {
        [$(BuiltIn {
            name: $name,
            text: include_str!(concat!("../scenarios/", $name, ".toml")),
        }),*]
    };
}

/// Every scenario that is built in. What `tailcut compare` starts from is the first.
pub const SCENARIOS: [BuiltIn; 8] = built_in![
    "compare",
    "incast",
    "two-racks",
    "closed-loop",
    "dumbbell",
    "requests",
    "storage-rate",
    "lab-two-racks"
];

impl BuiltIn {
    /// The scenario called `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        SCENARIOS.iter().find(|scenario| scenario.name == name)
    }

    /// Reads it.
    ///
    /// # Errors
    /// None for a file that this version was tested with.
    pub fn parse(&self) -> Outcome<Scenario> {
        Scenario::parse(&format!("scenarios/{}.toml", self.name), "", self.text)
    }
}
