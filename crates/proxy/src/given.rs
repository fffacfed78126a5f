//! A configuration that a command was given: by a file, by flags, or by both.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::path::Path;

/// What a command was given.
#[derive(Debug)]
pub struct Given<'a> {
    /// The file of `--config`.
    pub file: Option<&'a Path>,
    /// Routes of flags, beside those of the file.
    pub routes: Vec<Value>,
    /// Keys of flags. They stand for those of the file.
    pub keys: Vec<(&'static str, Value)>,
}

/// The key of `--admin HOST:PORT` and `--no-admin`, if either was given.
pub fn admin_key(address: Option<&str>, is_off: bool) -> Option<(&'static str, Value)> {
    let value = match address {
        _ if is_off => json!(false),
        Some(address) => json!(address),
        None => return None,
    };
    Some(("admin", value))
}

impl Given<'_> {
    /// Where the configuration stands, in what is said of it.
    pub fn place(&self) -> String {
        match self.file {
            Some(file) => file.display().to_string(),
            None => "command line".to_owned(),
        }
    }

    /// The configuration as one value. `document` reads the text of a file, whose name comes first.
    ///
    /// # Errors
    /// A file that cannot be read, and what `document` refuses.
    pub fn read(self, document: impl FnOnce(&str, &str) -> Result<Value>) -> Result<Value> {
        let mut whole = match self.file {
            Some(file) => {
                let place = self.place();
                let text = std::fs::read_to_string(file).with_context(|| {
                    format!("command line: \"--config\" is {place}, which cannot be read")
                })?;
                document(&place, &text)?
            }
            None => json!({}),
        };
        // What is no table, or no list, is refused by who checks it.
        if let Some(fields) = whole.as_object_mut() {
            if !self.routes.is_empty() {
                let routes = fields.entry("routes").or_insert_with(|| json!([]));
                if let Some(routes) = routes.as_array_mut() {
                    routes.extend(self.routes);
                }
            }
            let keys = self.keys.into_iter();
            fields.extend(keys.map(|(key, value)| (key.to_owned(), value)));
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    fn given(file: Option<&Path>) -> Given<'_> {
        Given {
            file,
            routes: vec![json!({ "name": "flag" })],
            keys: admin_key(Some("127.0.0.1:1"), false).into_iter().collect(),
        }
    }

    fn json(_: &str, text: &str) -> Result<Value> {
        Ok(serde_json::from_str(text)?)
    }

    #[test]
    fn flags_add_routes_to_those_of_a_file_and_stand_for_its_other_keys() {
        let place = tempfile::tempdir().expect("a place");
        let file = place.path().join("file");
        let text = r#"{"routes": [{"name": "file"}], "admin": false, "drain": 5}"#;
        std::fs::write(&file, text).expect("written");
        let whole = given(Some(&file)).read(json).expect("a configuration");
        let routes = json!([{ "name": "file" }, { "name": "flag" }]);
        let expected = json!({ "routes": routes, "admin": "127.0.0.1:1", "drain": 5 });
        assert_eq!(whole, expected);
        let alone = given(None);
        assert_eq!(alone.place(), "command line");
        let expected = json!({ "routes": [{ "name": "flag" }], "admin": "127.0.0.1:1" });
        assert_eq!(alone.read(json).expect("a configuration"), expected);
        assert_eq!(admin_key(None, true), Some(("admin", json!(false))));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_and_one_of_another_shape_is_left_to_the_check() {
        let error = given(Some(Path::new("/nowhere"))).read(json);
        let text = error.expect_err("no such file").to_string();
        let expected = "command line: \"--config\" is /nowhere, which cannot be read";
        assert_eq!(text, expected);
        let place = tempfile::tempdir().expect("a place");
        let file = place.path().join("file");
        std::fs::write(&file, "[]").expect("written");
        let list = given(Some(&file)).read(json).expect("JSON");
        assert_eq!(list, json!([]));
        let refused = given(Some(&file)).read(|place, _| bail!("{place} is wrong"));
        let text = refused.expect_err("refused").to_string();
        assert_eq!(text, format!("{} is wrong", file.display()));
    }
}
