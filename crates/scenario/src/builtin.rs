//! Built-in scenarios, from the folder `scenarios/`.

use crate::error::Outcome;
use crate::scenario::Scenario;

/// Scenario that is compiled into the program.
pub struct BuiltIn {
    /// Name of the scenario's file, without the extension.
    pub name: &'static str,
    /// Text of the scenario in TOML.
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

/// All built-in scenarios. The first one is the default of `tailcut compare`.
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
    /// Returns the scenario with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        SCENARIOS.iter().find(|scenario| scenario.name == name)
    }

    /// Parses the text.
    ///
    /// # Errors
    /// Never returns an error: the tests parse every built-in scenario.
    pub fn parse(&self) -> Outcome<Scenario> {
        Scenario::parse(&format!("scenarios/{}.toml", self.name), "", self.text)
    }
}
