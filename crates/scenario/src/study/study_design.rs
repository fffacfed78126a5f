//! Designs of a study, including designs with their own settings.

use crate::error::{Location, Outcome, ScenarioError};
use crate::path::KeyPath;
use crate::scenario::Scenario;
use crate::sweep::OwnDesign;
use crate::terms;
use crate::value::{Value, shortened};
use tailcut_sim::Stack;

/// Design that a study runs.
#[derive(Clone, Debug)]
pub struct StudyDesign {
    pub stack: Stack,
    /// Name in the records, if it differs from the name of the stack.
    pub display_name: Option<String>,
    /// Settings of this design only. Most designs have none.
    pub settings: Vec<(KeyPath, Value)>,
    /// Place where the settings were written, for errors.
    place: Location,
}

impl StudyDesign {
    /// Returns the design that the scenario refers to by this name.
    pub fn named(scenario: &Scenario, name: &str, place: &Location) -> Outcome<Self> {
        if let Some(own) = scenario.own_designs.iter().find(|own| own.name == name) {
            return Self::own(own);
        }
        if let Some(own) = OwnDesign::in_short(name, place) {
            return Self::own(&own?);
        }
        Ok(Self {
            stack: design(name, place)?,
            display_name: None,
            settings: Vec::new(),
            place: place.clone(),
        })
    }

    fn own(own: &OwnDesign) -> Outcome<Self> {
        Ok(Self {
            stack: design(&own.design, &own.place)?,
            display_name: Some(own.name.clone()),
            settings: own.settings.clone(),
            place: own.place.clone(),
        })
    }

    /// Returns the name in the records.
    pub fn name(&self) -> String {
        self.display_name
            .clone()
            .unwrap_or_else(|| self.stack.to_string())
    }

    /// Returns the scenario with the settings of this design.
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

/// Parses the name of a design.
///
/// # Errors
/// The unknown part of the name, with a suggestion of the intended name.
pub fn design(name: &str, place: &Location) -> Outcome<Stack> {
    name.parse::<Stack>().map_err(|unknown| {
        let meant = terms::meant_design(&unknown);
        let found = match unknown.part == unknown.name {
            true => format!("the unknown design '{}'", shortened(&unknown.name)),
            false => format!(
                "'{}' in the unknown design '{}'",
                shortened(&unknown.part),
                shortened(&unknown.name)
            ),
        };
        let absent = terms::is_absent(&unknown.part)
            .then_some("tailcut does not have it; docs/own-parts.md shows how to add one");
        let why = unknown.why.or(absent);
        let why = why.map_or_else(String::new, |why| format!(" ({why})"));
        let allowed = format!("{}{why}", unknown.allowed.join(", "));
        ScenarioError::new(place, "designs", found, allowed).meaning(meant)
    })
}
