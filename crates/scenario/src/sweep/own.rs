//! Designs with their own settings.

use crate::error::{Location, Outcome, ScenarioError};
use crate::path::KeyPath;
use crate::value::{Raw, Value, shortened};
use serde_json::{Map, json};
use tailcut_sim::Stack;

/// Sections that all designs of a study share. All designs therefore have the same flows on the same network.
const SHARED: [&str; 5] = ["", "topology", "nodes", "links", "workload"];

/// Design with its own settings, as a scenario defines it.
#[derive(Clone, Debug)]
pub struct OwnDesign {
    pub name: String,
    pub design: String,
    pub settings: Vec<(KeyPath, Value)>,
    pub place: Location,
}

impl OwnDesign {
    /// Creates a design with its own settings.
    ///
    /// # Errors
    /// An invalid name, the name of an existing design, or a key that all designs share.
    /// A value that its key does not allow is also an error.
    pub fn new(
        name: String,
        design: String,
        settings: Vec<(KeyPath, Raw)>,
        place: &Location,
    ) -> Outcome<Self> {
        let plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(plain) || name.parse::<Stack>().is_ok() {
            let found = format!("the name \"{}\"", shortened(&name));
            let allowed = "a new name of letters, digits and -_.";
            return Err(ScenarioError::new(place, "designs", found, allowed));
        }
        let mut own = Self {
            name,
            design,
            settings: Vec::with_capacity(settings.len()),
            place: place.clone(),
        };
        for (path, raw) in settings {
            own.set(path, &raw)?;
        }
        Ok(own)
    }

    /// Parses the short form, `DESIGN:KEY=VALUE,KEY=VALUE`. Returns `None` for a text without a colon.
    pub fn in_short(text: &str, place: &Location) -> Option<Outcome<Self>> {
        let (design, settings) = text.split_once(':')?;
        let mut own = Self {
            name: text.to_owned(),
            design: design.to_owned(),
            settings: Vec::new(),
            place: place.clone(),
        };
        for setting in settings.split(',') {
            let Some((path, value)) = setting.split_once('=') else {
                let found = format!("'{}'", shortened(setting));
                let allowed = "DESIGN:KEY=VALUE,KEY=VALUE, such as dctcp:tcp.dctcp_gain=0.01";
                return Some(Err(ScenarioError::new(place, "designs", found, allowed)));
            };
            let raw = Raw::Argument(value.trim().to_owned());
            let set = KeyPath::parse(path.trim(), place).and_then(|path| own.set(path, &raw));
            if let Err(error) = set {
                return Some(Err(error));
            }
        }
        Some(Ok(own))
    }

    fn set(&mut self, path: KeyPath, raw: &Raw) -> Outcome<()> {
        let error = |found: String, allowed: String| {
            Err(ScenarioError::new(
                &self.place,
                path.to_string(),
                found,
                allowed,
            ))
        };
        if SHARED.contains(&path.section.name) {
            let found = format!("a setting of the design {}", self.name);
            let allowed = "keys that can differ between designs, outside the study, the network and the workload";
            return error(found, allowed.to_owned());
        }
        if self.settings.iter().any(|(known, _)| *known == path) {
            return error(
                format!("it twice for {}", self.name),
                "each key once".to_owned(),
            );
        }
        match path.key.read(raw) {
            Some(value) => {
                self.settings.push((path, value));
                Ok(())
            }
            None => error(raw.to_string(), path.key.allowed()),
        }
    }

    /// Returns the name and the settings, for the manifest.
    pub fn to_json(&self) -> serde_json::Value {
        let mut keys = Map::new();
        keys.insert("name".to_owned(), json!(self.name));
        keys.insert("design".to_owned(), json!(self.design));
        for (path, value) in &self.settings {
            keys.insert(path.to_string(), path.key.json(value));
        }
        keys.into()
    }
}
