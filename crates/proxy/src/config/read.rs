//! Conversion of a configuration tree to Rust types, with serde.
//! Errors name the location, the key, the found value and the allowed values.

use super::tree::{Entries, Entry, Node, Origin, Source, Style, Value};
use crate::address::Address;
use crate::endpoint::Endpoint;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    self, DeserializeOwned, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor,
};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;

/// Name by which serde marks a time. In the notation of the npm package, a time is a number.
pub(super) const TIME: &str = "a time";
/// Name by which serde marks a path. A path is relative to the folder of its source.
pub(super) const PATH: &str = "a path";
/// Name by which serde marks an output: `stdout`, `stderr`, or a path as above.
pub(crate) const OUTPUT: &str = "an output";

/// Value of a draft: a table, another value, or an absent value. Several types may read keys of one table.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    pub(super) node: Option<&'a Node>,
    /// Location of the value, or of the surrounding table if the value is absent.
    pub(super) origin: &'a Origin,
    pub(super) path: String,
}

/// Reason why a value of the configuration is rejected.
#[derive(Debug)]
pub enum ConfigError {
    /// Description of the allowed values, and the allowed name that the user probably meant.
    Allowed(String, Option<&'static str>),
    /// Required key that is missing in its table.
    Missing(&'static str),
    /// Complete error text. `is_again` means that a key was missing, and that a second attempt gives a better error.
    Whole { text: String, is_again: bool },
}

impl ConfigError {
    const fn whole(text: String) -> Self {
        let is_again = false;
        Self::Whole { text, is_again }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(key) => f.write_str(key),
            Self::Allowed(text, _) | Self::Whole { text, .. } => f.write_str(text),
        }
    }
}

impl std::error::Error for ConfigError {}

impl de::Error for ConfigError {
    fn custom<T: fmt::Display>(allowed: T) -> Self {
        Self::Allowed(allowed.to_string(), None)
    }

    fn invalid_type(_: Unexpected<'_>, allowed: &dyn Expected) -> Self {
        let text = match allowed.to_string().as_str() {
            "a boolean" => "true or false".to_owned(),
            "a string" => "text".to_owned(),
            "a sequence" => "a list".to_owned(),
            text => text.to_owned(),
        };
        Self::Allowed(text, None)
    }

    fn invalid_value(found: Unexpected<'_>, allowed: &dyn Expected) -> Self {
        Self::invalid_type(found, allowed)
    }

    fn unknown_variant(found: &str, allowed: &'static [&'static str]) -> Self {
        Self::Allowed(words(allowed), meant(found, allowed.iter().copied()))
    }

    fn missing_field(key: &'static str) -> Self {
        Self::Missing(key)
    }
}

fn words(allowed: &[&str]) -> String {
    let words: Vec<String> = allowed.iter().map(|word| format!("\"{word}\"")).collect();
    words.join(", ")
}

/// Returns the allowed name that is most similar to `found`, if one is similar enough.
fn meant<'n>(found: &str, allowed: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let near = allowed.into_iter().filter_map(|name| {
        let distance = strsim::damerau_levenshtein(found, name);
        // At most one letter in three may be wrong. A larger share would suggest unrelated names.
        (distance <= (name.len() / 3).max(1)).then_some((distance, name))
    });
    near.min().map(|(_, name)| name)
}

fn did_you_mean(meant: Option<&str>) -> String {
    let question = |meant| format!("; did you mean \"{meant}\"?");
    meant.map(question).unwrap_or_default()
}

/// Converts snake case to camel case: `max_bytes` becomes `maxBytes`.
fn camel(key: &str) -> String {
    let mut words = key.split('_');
    let mut name = words.next().unwrap_or("").to_owned();
    for word in words {
        let (first, rest) = word.split_at(word.len().min(1));
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(rest);
    }
    name
}

impl<'a> Table<'a> {
    /// Reads a value of type `T` from the table.
    ///
    /// # Errors
    /// A value is not allowed, or a required key is missing.
    pub fn read<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        match T::deserialize(self.clone()) {
            // The first attempt has marked the missing key as absent.
            // The second attempt reads the absent value with the type of this key.
            // The error then lists the allowed values.
            Err(ConfigError::Whole { is_again: true, .. }) => Ok(T::deserialize(self.clone())?),
            read => Ok(read?),
        }
    }

    fn value(&self) -> &'a Value {
        self.node.map_or(&Value::Absent, |node| &node.value)
    }

    fn entry(&self, key: &str) -> Option<&'a Entry> {
        match self.value() {
            Value::Table(table) => table.get(key),
            _ => None,
        }
    }

    fn child(&self, key: &str, node: Option<&'a Node>) -> Self {
        let dot = match self.path.is_empty() || key.is_empty() || key.starts_with('[') {
            true => "",
            false => ".",
        };
        Self {
            node,
            origin: node.map_or(self.origin, |node| &node.origin),
            path: format!("{}{dot}{key}", self.path),
        }
    }

    fn of_key(&self, key: &str) -> Self {
        match self.entry(key) {
            Some(entry) => self.child(&entry.written, Some(&entry.node)),
            None => self.child(key, None),
        }
    }

    /// Whether the table contains a key.
    pub fn has(&self, key: &str) -> bool {
        self.entry(key).is_some()
    }

    /// Returns the table under a key.
    pub fn table(&self, key: &'static str) -> Self {
        if let Value::Table(table) = self.value() {
            table.note(&[key]);
        }
        if let Some(entry) = self.entry(key) {
            entry.is_read.set(true);
        }
        self.of_key(key)
    }

    /// Returns the tables of a list, which must not be empty.
    ///
    /// # Errors
    /// The value is not a list, or the list is empty.
    pub fn tables(&self, key: &'static str, of: &str) -> anyhow::Result<Vec<Self>> {
        let list = self.table(key);
        match list.value() {
            Value::List(nodes) if !nodes.is_empty() => Ok(list.items(nodes).collect()),
            _ => Err(self.refuse(key, &format!("a list of at least one {of}"))),
        }
    }

    fn items(&self, nodes: &'a [Node]) -> impl Iterator<Item = Self> {
        let nodes = nodes.iter().enumerate();
        nodes.map(|(index, node)| self.child(&format!("[{index}]"), Some(node)))
    }

    /// Returns the keys that the type with these `fields` reads, together with their values.
    fn fields(
        &self,
        table: &'a Entries,
        reads: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = (&'a str, Self)> {
        let absent = table.absent.get().filter(|key| reads(key));
        let entries = table.entries.iter().filter(move |entry| reads(&entry.key));
        let values = entries.map(|entry| {
            entry.is_read.set(true);
            (
                entry.key.as_str(),
                self.child(&entry.written, Some(&entry.node)),
            )
        });
        values.chain(absent.map(|key| (key, self.child(key, None))))
    }

    /// Returns the error for a value that is not allowed. An empty `key` means the table itself.
    pub fn refuse(&self, key: &str, allowed: &str) -> anyhow::Error {
        let misspelt = match self.has(key) {
            true => None,
            false => self.misspelt(key),
        };
        misspelt
            .unwrap_or_else(|| self.of_key(key).whole(de::Error::custom(allowed)))
            .into()
    }

    /// Returns the error for a probable misspelling of `key`: a similar key that no type has read.
    fn misspelt(&self, key: &str) -> Option<ConfigError> {
        let Value::Table(table) = self.value() else {
            return None;
        };
        let mut unread = table.entries.iter().filter(|entry| !entry.is_read.get());
        let entry = unread.find(|entry| meant(&entry.key, [key]).is_some())?;
        let path = self.child(&entry.written, None).path;
        Some(ConfigError::whole(format!(
            "{}: \"{path}\" is not a key here{}",
            entry.origin,
            did_you_mean(Some(key))
        )))
    }

    /// Completes an error text with the location and the found value.
    fn whole(&self, error: ConfigError) -> ConfigError {
        let ConfigError::Allowed(allowed, meant) = error else {
            return error;
        };
        let Self { origin, path, .. } = self;
        let path = if path.is_empty() { "(the whole)" } else { path };
        let found = self.value();
        ConfigError::whole(format!(
            "{origin}: \"{path}\" is {found}; allowed: {allowed}{}",
            did_you_mean(meant)
        ))
    }

    /// Returns an error for the first key that no type has read.
    pub(super) fn only_known(&self) -> anyhow::Result<()> {
        match self.value() {
            Value::Table(table) => {
                let known = table.known.borrow();
                for entry in &table.entries {
                    let inner = self.child(&entry.written, Some(&entry.node));
                    if entry.is_read.get() || known.is_empty() {
                        inner.only_known()?;
                        continue;
                    }
                    let (origin, path) = (&entry.origin, &inner.path);
                    let names = known.iter().map(|key| match origin.source.style {
                        Style::Units => (*key).to_owned(),
                        Style::Npm => camel(key),
                    });
                    let names: Vec<String> = names.collect();
                    let meant = meant(&entry.written, names.iter().map(String::as_str));
                    anyhow::bail!(
                        "{origin}: \"{path}\" is not a key here; allowed: {}{}",
                        names.join(", "),
                        did_you_mean(meant)
                    );
                }
                Ok(())
            }
            Value::List(nodes) => self.items(nodes).try_for_each(|item| item.only_known()),
            _ => Ok(()),
        }
    }
}

/// Checks that no two keys have the same value.
/// A claim consists of a table, a key in it, a text that errors append to the key's path, and the value.
///
/// # Errors
/// Two keys are in conflict. The error names the later key.
pub fn unique<'a, T: Eq + Hash>(
    what: &str,
    claims: impl IntoIterator<Item = (Table<'a>, &'static str, &'static str, T)>,
) -> anyhow::Result<()> {
    let mut owners: HashMap<T, String> = HashMap::new();
    for (table, key, of, value) in claims {
        if let Some(owner) = owners.get(&value) {
            let allowed = format!("{what} that {owner} does not use");
            return Err(table.refuse(key, &allowed));
        }
        owners.insert(value, format!("{}{of}", table.of_key(key).path));
    }
    Ok(())
}

/// Checks that no two listeners have the same address. The claims have the same form as in [`unique`].
/// The address for health and metrics is a key of the table `top`, and is checked last.
/// Port 0 may occur several times, because each listener then gets another free port.
///
/// # Errors
/// Two keys are in conflict. The error names the later key.
pub fn unique_addresses<'a, A: Into<Address>>(
    top: &Table<'a>,
    listeners: impl IntoIterator<Item = (Table<'a>, &'static str, &'static str, A)>,
    admin: Option<&Endpoint>,
) -> anyhow::Result<()> {
    let admin = admin.map(|at| (top.clone(), "admin", "", Address::Tcp(at.clone())));
    let listeners = listeners
        .into_iter()
        .map(|(table, key, of, at)| (table, key, of, at.into()));
    let claims = listeners.chain(admin);
    unique("an address", claims.filter(|(.., at)| !at.has_any_port()))
}

impl<'de> IntoDeserializer<'de, ConfigError> for Table<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Table<'_> {
    type Error = ConfigError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
        let read = match self.value() {
            Value::Absent => visitor.visit_unit(),
            Value::Flag(flag) => visitor.visit_bool(*flag),
            // Values are rarely negative, so most readers accept only numbers of at least 0.
            Value::Integer(number) => match u64::try_from(*number) {
                Ok(number) => visitor.visit_u64(number),
                Err(_) => visitor.visit_i64(*number),
            },
            Value::Float(number) => visitor.visit_f64(*number),
            // A word of the command line has no type. `true` and `false` are read as flags, all other words as text.
            Value::Word(word) => match word.parse() {
                Ok(flag) => visitor.visit_bool(flag),
                Err(_) => visitor.visit_str(word),
            },
            Value::Text(text) => visitor.visit_str(text),
            Value::List(nodes) => visitor.visit_seq(SeqDeserializer::new(self.items(nodes))),
            Value::Table(table) => {
                visitor.visit_map(MapDeserializer::new(self.fields(table, |_| true)))
            }
        };
        read.map_err(|error| self.whole(error))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
        match self.value() {
            // The target type is text, so the word "true" must stay a text.
            Value::Word(word) => visitor
                .visit_str(word)
                .map_err(|error: ConfigError| self.whole(error)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ConfigError> {
        visitor.visit_some(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        allowed: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConfigError> {
        let read = match self.value() {
            Value::Text(word) | Value::Word(word) => {
                visitor.visit_enum(word.as_str().into_deserializer())
            }
            _ => Err(de::Error::custom(words(allowed))),
        };
        read.map_err(|error| self.whole(error))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ConfigError> {
        let Source { folder, style, .. } = &*self.origin.source;
        let is_npm = *style == Style::Npm;
        let read = match (name, self.value()) {
            // Only the npm package writes times without a unit. 0 needs no unit.
            (TIME, Value::Integer(1..) | Value::Float(_)) if !is_npm => {
                Err(de::Error::invalid_type(Unexpected::Unit, &visitor))
            }
            (TIME, Value::Word(word)) if is_npm => match word.parse() {
                Ok(milliseconds) => visitor.visit_u64(milliseconds),
                Err(_) => visitor.visit_str(word),
            },
            (OUTPUT, Value::Text(word) | Value::Word(word))
                if ["stdout", "stderr", "false"].contains(&word.as_str()) =>
            {
                return self.deserialize_any(visitor);
            }
            (PATH | OUTPUT, Value::Text(path) | Value::Word(path)) => {
                visitor.visit_str(&folder.join(path).to_string_lossy())
            }
            _ => return self.deserialize_any(visitor),
        };
        read.map_err(|error: ConfigError| self.whole(error))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ConfigError> {
        let none = Entries::default();
        let table = match self.value() {
            Value::Table(table) => table,
            Value::Absent => &none,
            _ => return Err(self.whole(de::Error::custom("a table"))),
        };
        table.note(keys);
        let reads = |key: &str| keys.contains(&key);
        let fields = MapDeserializer::new(self.fields(table, reads));
        visitor.visit_map(fields).map_err(|error| match error {
            // If the user has misspelt the missing key, an error about the misspelt key is more helpful.
            ConfigError::Missing(key) => self.misspelt(key).unwrap_or_else(|| {
                table.absent.set(Some(key));
                let text = format!(
                    "{}: \"{}\" is absent",
                    self.origin,
                    self.child(key, None).path
                );
                ConfigError::Whole {
                    text,
                    is_again: true,
                }
            }),
            error => self.whole(error),
        })
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}
