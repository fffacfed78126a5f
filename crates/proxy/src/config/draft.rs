//! Configuration that is not checked yet. Values come from a file, then from flags, then from `--set`.

use super::Common;
use super::read::Table;
use super::tree::{Entry, Node, Origin, Source, Style, Value, parse};
use anyhow::{Context, Result, bail};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const COMMAND_LINE: &str = "command line";
const ROUTES: &str = "routes";

/// Keys and values from a file and the command line.
#[derive(Debug)]
pub struct Draft {
    root: Node,
    /// Number of routes that flags define.
    own: usize,
}

fn origin(name: &str, style: Style) -> Origin {
    let source = Arc::new(Source {
        name: name.to_owned(),
        text: String::new(),
        folder: PathBuf::new(),
        style,
    });
    Origin { source, at: None }
}

fn word(key: &str, value: &str, origin: &Origin) -> Entry {
    let node = Node {
        value: Value::Word(value.to_owned()),
        origin: origin.clone(),
    };
    Entry::new(key, origin.clone(), node)
}

impl Draft {
    /// Reads a file. Without a file the draft is empty.
    ///
    /// # Errors
    /// The file cannot be read, or it is neither TOML nor JSON.
    pub fn new(file: Option<&Path>) -> Result<Self> {
        let Some(file) = file else {
            let root = Node::table(&origin(COMMAND_LINE, Style::Units));
            return Ok(Self { root, own: 0 });
        };
        let name = file.display().to_string();
        let cannot = || format!("{COMMAND_LINE}: \"--config\" is {name}, which cannot be read");
        let text = std::fs::read_to_string(file).with_context(cannot)?;
        let folder = file.parent().unwrap_or(Path::new(""));
        Self::of_text(&name, folder, &text)
    }

    /// Parses a text. Errors use `name` for the text. Paths in the text are relative to `folder`.
    ///
    /// # Errors
    /// The text is neither TOML nor JSON.
    pub fn of_text(name: &str, folder: &Path, text: &str) -> Result<Self> {
        let root = parse(name, folder.to_owned(), text)?;
        Ok(Self { root, own: 0 })
    }

    /// Sets the key of a flag if the flag has a value.
    ///
    /// # Errors
    /// The path leads through a value that is not a table.
    pub fn flag(&mut self, path: &str, value: Option<&str>) -> Result<()> {
        match value {
            Some(value) => self.put(path, value),
            None => Ok(()),
        }
    }

    /// Adds a route from a flag, after the routes of the file.
    /// If `is_npm` is true, times may be numbers of milliseconds.
    pub fn route<'a>(&mut self, keys: impl IntoIterator<Item = (&'a str, &'a str)>, is_npm: bool) {
        let style = if is_npm { Style::Npm } else { Style::Units };
        let at = origin(COMMAND_LINE, style);
        let mut route = Node::table(&at);
        if let Value::Table(route) = &mut route.value {
            for (key, value) in keys {
                route.set(word(key, value, &at));
            }
        }
        if let Value::Table(top) = &mut self.root.value {
            let routes = top.table(ROUTES, &at);
            match &mut routes.value {
                Value::List(routes) => routes.push(route),
                Value::Table(none) if none.entries.is_empty() => {
                    routes.value = Value::List(vec![route]);
                }
                // A wrong type is reported when the routes are read.
                _ => {}
            }
        }
        self.own += 1;
    }

    /// Sets a key of the last route to a list.
    pub fn list(&mut self, key: &str, values: &[String]) {
        let at = origin(COMMAND_LINE, Style::Units);
        let words = values.iter().map(|value| word(key, value, &at).node);
        let node = Node {
            value: Value::List(words.collect()),
            origin: at.clone(),
        };
        if let Some(Value::Table(route)) = self.routes().last_mut().map(|node| &mut node.value) {
            route.set(Entry::new(key, at, node));
        }
    }

    /// Sets a key in all routes that do not have the key. Errors use `source` as the name of the source.
    pub fn default(&mut self, source: &str, key: &str, value: &str) {
        let at = origin(source, Style::Npm);
        for route in self.routes() {
            if let Value::Table(route) = &mut route.value
                && route.get(key).is_none()
            {
                route.set(word(key, value, &at));
            }
        }
    }

    fn routes(&mut self) -> &mut [Node] {
        let Value::Table(top) = &mut self.root.value else {
            return &mut [];
        };
        let found = top.entries.iter_mut().find(|entry| entry.key == ROUTES);
        match found.map(|entry| &mut entry.node.value) {
            Some(Value::List(routes)) => routes,
            _ => &mut [],
        }
    }

    /// Applies `--set KEY=VALUE`. If the configuration has routes, every key except a top-level key belongs to a route.
    /// The key then belongs to the only route, or to the only route that a flag defines.
    ///
    /// # Errors
    /// The text is not `KEY=VALUE`, the path leads through a value that is not a table, or the route is ambiguous.
    pub fn set(&mut self, text: &str) -> Result<()> {
        let Some((path, value)) = text.split_once('=').filter(|(path, _)| !path.is_empty()) else {
            bail!("{COMMAND_LINE}: \"--set\" is {text:?}; allowed: KEY=VALUE");
        };
        let first = path.split(['.', '[']).next().unwrap_or(path);
        let is_of_top = first == ROUTES || Common::has(first);
        let (routes, own) = (self.routes().len(), self.own);
        let path = match (routes, own) {
            (0, _) => path.to_owned(),
            _ if is_of_top => path.to_owned(),
            // Routes from flags come after the routes of the file, so the route is the last one.
            (1, _) | (_, 1) => format!("{ROUTES}[{}].{path}", routes - 1),
            _ => bail!(
                "{COMMAND_LINE}: \"--set {}\" does not name its route; allowed: {ROUTES}[0].{path} to {ROUTES}[{}].{path}",
                text.escape_debug(),
                routes - 1,
                path = path.escape_debug(),
            ),
        };
        self.put(&path, value)
    }

    fn put(&mut self, path: &str, value: &str) -> Result<()> {
        let at = origin(COMMAND_LINE, Style::Units);
        let mut node = &mut self.root;
        // `routes[0].name` and `routes.0.name` mean the same key.
        let parts = path.replace('[', ".").replace(']', "");
        let mut keys = parts.split('.').peekable();
        while let Some(key) = keys.next() {
            let shown = node.value.to_string();
            node = match &mut node.value {
                Value::Table(table) if keys.peek().is_none() => {
                    table.set(word(key, value, &at));
                    return Ok(());
                }
                Value::Table(table) => table.table(key, &at),
                Value::List(nodes) => {
                    let last = nodes.len().saturating_sub(1);
                    let index = key.parse::<usize>().ok();
                    let Some(node) = index.and_then(|index| nodes.get_mut(index)) else {
                        bail!(
                            "{COMMAND_LINE}: {path:?}: {key:?} is not in the list; allowed: 0 to {last}"
                        );
                    };
                    node
                }
                _ => bail!(
                    "{COMMAND_LINE}: {path:?}: {key:?} is a key of {shown}; allowed: a key of a table"
                ),
            };
        }
        Ok(())
    }

    /// Returns the top-level table.
    pub const fn top(&self) -> Table<'_> {
        Table {
            node: Some(&self.root),
            origin: &self.root.origin,
            path: String::new(),
        }
    }

    /// Checks that all keys were read.
    ///
    /// # Errors
    /// The error names the first unknown key.
    pub fn finish(&self) -> Result<()> {
        self.top().only_known()
    }
}

/// Returns the keys that the type `T` reads from a table.
pub fn keys<T: DeserializeOwned>() -> Vec<&'static str> {
    let origin = origin("", Style::Units);
    let node = Node::table(&origin);
    let table = Table {
        node: Some(&node),
        origin: &origin,
        path: String::new(),
    };
    // An error is expected if the type has required keys. The keys are recorded before the error occurs.
    let _ = table.read::<T>();
    match node.value {
        Value::Table(table) => table.known.into_inner(),
        _ => Vec::new(),
    }
}
