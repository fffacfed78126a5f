//! The designs that a study runs, some with settings of their own.

use crate::error::{Outcome, Place, ScenarioError, did_you_mean};
use crate::path::KeyPath;
use crate::scenario::Scenario;
use crate::sweep::OwnDesign;
use crate::value::{Value, shortened};
use tailcut_sim::Stack;

/// A design that a study runs.
#[derive(Clone, Debug)]
pub struct Chosen {
    pub stack: Stack,
    /// What records call it where that is not its own name.
    pub called: Option<String>,
    /// Its own settings; none for most.
    pub settings: Vec<(KeyPath, Value)>,
    /// Where they are.
    place: Place,
}

impl Chosen {
    /// The design that a scenario calls by this name.
    pub fn named(scenario: &Scenario, name: &str, place: &Place) -> Outcome<Self> {
        if let Some(own) = scenario.own_designs.iter().find(|own| own.name == name) {
            return Self::own(own);
        }
        if let Some(own) = OwnDesign::in_short(name, place) {
            return Self::own(&own?);
        }
        Ok(Self {
            stack: design(name, place)?,
            called: None,
            settings: Vec::new(),
            place: place.clone(),
        })
    }

    fn own(own: &OwnDesign) -> Outcome<Self> {
        Ok(Self {
            stack: design(&own.design, &own.place)?,
            called: Some(own.name.clone()),
            settings: own.settings.clone(),
            place: own.place.clone(),
        })
    }

    /// What records call it.
    pub fn name(&self) -> String {
        self.called
            .clone()
            .unwrap_or_else(|| self.stack.to_string())
    }

    /// The scenario with this design's settings.
    pub fn scenario(&self, scenario: &Scenario) -> Outcome<Scenario> {
        let mut own = scenario.clone();
        for (path, value) in &self.settings {
            if scenario.sweep.has(path) {
                let found = format!("a setting of the design {} and a sweep", self.name());
                return Err(ScenarioError::new(
                    &self.place,
                    path.to_string(),
                    found,
                    "one of them",
                ));
            }
            own.put_value(path, value.clone(), &self.place)?;
        }
        Ok(own)
    }
}

/// A design by its name.
///
/// # Errors
/// What is unknown of it, with what may have been meant.
pub fn design(name: &str, place: &Place) -> Outcome<Stack> {
    name.parse::<Stack>().map_err(|unknown| {
        let near = did_you_mean(&unknown.part, unknown.allowed.iter().copied());
        let meant = near.map(|near| unknown.name.replacen(&unknown.part, near, 1));
        // An empty part has no place in the name that a guess could be put into.
        let meant = meant.filter(|_| !unknown.part.is_empty());
        let found = match unknown.part == unknown.name {
            true => format!("the unknown design '{}'", shortened(&unknown.name)),
            false => format!(
                "'{}' in the unknown design '{}'",
                shortened(&unknown.part),
                shortened(&unknown.name)
            ),
        };
        let why = unknown
            .why
            .map_or_else(String::new, |why| format!(" ({why})"));
        let allowed = format!("{}{why}", unknown.allowed.join(", "));
        ScenarioError::new(place, "designs", found, allowed).meaning(meant)
    })
}
