//! Tree of configuration values. Each value contains its location in the source.

use anyhow::{Context, Result, anyhow};
use serde_json::value::RawValue;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Notation of keys and times in a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Style {
    /// Keys such as `max_bytes`, times with a unit.
    Units,
    /// Notation of the npm package: keys such as `maxBytes`, times as numbers of milliseconds.
    Npm,
}

/// Source of values: a file, the command line, or an environment variable.
#[derive(Debug)]
pub(super) struct Source {
    pub name: String,
    pub text: String,
    /// Folder to which paths in the source are relative.
    pub folder: PathBuf,
    pub style: Style,
}

/// Location of a value or a key.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub source: Arc<Source>,
    /// Byte offset in the source's text.
    pub at: Option<usize>,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Source { name, text, .. } = &*self.source;
        match self.at.and_then(|at| text.get(..at)) {
            Some(before) => {
                // Editors count lines and columns from 1.
                let line = before.matches('\n').count() + 1;
                let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
                write!(f, "{name}:{line}:{column}")
            }
            None => f.write_str(name),
        }
    }
}

#[derive(Debug)]
pub(super) struct Node {
    pub value: Value,
    pub origin: Origin,
}

#[derive(Debug)]
pub(super) enum Value {
    /// Required key without a value, or null in JSON.
    Absent,
    Flag(bool),
    Integer(i64),
    Float(f64),
    Text(String),
    /// Value without quotes from the command line or the environment. The key determines its type.
    Word(String),
    List(Vec<Node>),
    Table(Entries),
}

/// Entries of a table.
#[derive(Default, Debug)]
pub(super) struct Entries {
    pub entries: Vec<Entry>,
    /// Allowed keys that are known at this moment. Each type that reads the table adds its keys.
    pub known: RefCell<Vec<&'static str>>,
    /// Required key that is missing in the table.
    pub absent: Cell<Option<&'static str>>,
}

#[derive(Debug)]
pub(super) struct Entry {
    /// Key in snake_case.
    pub key: String,
    /// Key as written in the source, with escapes for quotes and control characters. Errors show it on a terminal.
    pub written: String,
    pub origin: Origin,
    pub node: Node,
    pub is_read: Cell<bool>,
}

impl Entry {
    pub fn new(written: &str, origin: Origin, node: Node) -> Self {
        let mut key = String::new();
        for letter in written.chars() {
            if letter.is_ascii_uppercase() {
                key.push('_');
            }
            key.push(letter.to_ascii_lowercase());
        }
        Self {
            key,
            written: written.escape_debug().to_string(),
            origin,
            node,
            is_read: Cell::new(false),
        }
    }
}

impl Entries {
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Adds keys to the allowed keys.
    pub fn note(&self, keys: &[&'static str]) {
        let mut known = self.known.borrow_mut();
        for key in keys {
            if !known.contains(key) {
                known.push(key);
            }
        }
    }

    /// Returns the value of a key. If the key is missing, an empty table is added.
    pub fn table(&mut self, written: &str, origin: &Origin) -> &mut Node {
        let fresh = Entry::new(written, origin.clone(), Node::table(origin));
        let known = self.entries.iter().position(|entry| entry.key == fresh.key);
        let at = known.unwrap_or_else(|| {
            self.entries.push(fresh);
            self.entries.len() - 1
        });
        &mut self.entries[at].node
    }

    /// Replaces or adds a key.
    pub fn set(&mut self, entry: Entry) {
        self.entries.retain(|known| known.key != entry.key);
        self.entries.push(entry);
    }
}

impl Node {
    /// Creates an empty table.
    pub fn table(origin: &Origin) -> Self {
        Self {
            value: Value::Table(Entries::default()),
            origin: origin.clone(),
        }
    }
}

/// Formats the value for errors.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number}"),
            // Numbers and flags have no quotes, as in a file.
            Self::Word(word) if word.parse::<f64>().is_ok() || word.parse::<bool>().is_ok() => {
                f.write_str(word)
            }
            Self::Text(text) | Self::Word(text) => write!(f, "{text:?}"),
            Self::List(nodes) => {
                let nodes = nodes.iter().map(|node| node.value.to_string());
                let nodes: Vec<String> = nodes.collect();
                write!(f, "[{}]", nodes.join(", "))
            }
            Self::Table(_) => f.write_str("a table"),
        }
    }
}

/// Parses a text. It is JSON if it starts with a brace or if `name` ends with `.json`. Otherwise it is TOML.
pub(super) fn parse(name: &str, folder: PathBuf, text: &str) -> Result<Node> {
    let is_json = text.trim_start().starts_with('{') || name.ends_with(".json");
    let source = Arc::new(Source {
        name: name.to_owned(),
        text: text.to_owned(),
        folder,
        style: if is_json { Style::Npm } else { Style::Units },
    });
    if is_json {
        // This first pass reports syntax errors with line and column. It also limits the nesting depth.
        if let Err(error) = serde_json::from_str::<serde_json::Value>(text) {
            let (line, column) = (error.line(), error.column());
            return Err(anyhow!("{name}:{line}:{column}: not JSON: {error}"));
        }
        return of_json(serde_json::from_str(&source.text)?, &source);
    }
    match DeTable::parse(text) {
        Ok(table) => {
            let at = table.span().start;
            let value = DeValue::Table(table.into_inner());
            Ok(of_toml(Spanned::new(at..at, value), &source))
        }
        Err(error) => {
            let at = error.span().map(|span| span.start);
            let (origin, message) = (Origin { source, at }, error.message());
            Err(anyhow!("{origin}: not TOML: {message}"))
        }
    }
}

fn of_toml(value: Spanned<DeValue<'_>>, source: &Arc<Source>) -> Node {
    let origin = |at: usize| Origin {
        source: Arc::clone(source),
        at: Some(at),
    };
    let at = value.span().start;
    let value = match value.into_inner() {
        DeValue::Boolean(flag) => Value::Flag(flag),
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Integer(number),
            // The number is too large for the type.
            // The number is kept as text, so that the error shows it as the user wrote it.
            Err(_) => Value::Text(number.to_string()),
        },
        DeValue::Float(number) => match number.as_str().parse() {
            Ok(number) => Value::Float(number),
            Err(_) => Value::Text(number.to_string()),
        },
        DeValue::Datetime(time) => Value::Text(time.to_string()),
        DeValue::Array(list) => Value::List(
            list.into_iter()
                .map(|value| of_toml(value, source))
                .collect(),
        ),
        DeValue::Table(table) => {
            let entries = table.into_iter().map(|(key, value)| {
                let at = origin(key.span().start);
                Entry::new(key.get_ref(), at, of_toml(value, source))
            });
            Value::Table(Entries {
                entries: entries.collect(),
                ..Entries::default()
            })
        }
    };
    Node {
        value,
        origin: origin(at),
    }
}

fn of_json(raw: &RawValue, source: &Arc<Source>) -> Result<Node> {
    let text = raw.get();
    // `raw` is a slice of the source's text, so the difference between the two addresses is the offset of `raw`.
    let at = (text.as_ptr() as usize).checked_sub(source.text.as_ptr() as usize);
    let origin = Origin {
        source: Arc::clone(source),
        at,
    };
    let value = match text.as_bytes().first() {
        Some(b'{') => {
            let mut entries = Entries::default();
            for (key, raw) in serde_json::from_str::<BTreeMap<String, &RawValue>>(text)? {
                let node = of_json(raw, source)?;
                entries.set(Entry::new(&key, node.origin.clone(), node));
            }
            Value::Table(entries)
        }
        Some(b'[') => {
            let list = serde_json::from_str::<Vec<&RawValue>>(text)?;
            let nodes = list.into_iter().map(|raw| of_json(raw, source));
            Value::List(nodes.collect::<Result<_>>()?)
        }
        _ => match serde_json::from_str(text)? {
            serde_json::Value::Bool(flag) => Value::Flag(flag),
            serde_json::Value::String(text) => Value::Text(text),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(number) => Value::Integer(number),
                None => Value::Float(number.as_f64().context("not a number")?),
            },
            _ => Value::Absent,
        },
    };
    Ok(Node { value, origin })
}
