//! Errors as JSON, for `--json`. `docs/error.schema.json` describes the format.

use crate::failure::Failure;
use clap::error::{ContextKind, ContextValue};
use serde_json::{Value, json};
use std::ffi::OsString;
use tailcut_scenario::ScenarioError;

/// Version of the format. The version changes when a field is added, removed or gets another meaning.
const SCHEMA: u32 = 1;

/// Returns whether the arguments of the process contain `--json`. Arguments after `--` belong to another program.
pub fn is_wanted(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut own = arguments.skip(1).take_while(|argument| argument != "--");
    own.any(|argument| argument == "--json")
}

/// Returns the error of a command as JSON.
pub fn of(failure: &Failure) -> Value {
    let fields = match failure {
        Failure::Refused(error) => error.chain().find_map(|cause| cause.downcast_ref()),
        _ => None,
    };
    let fields: &[(&str, String)] = &fields.map_or_else(Vec::new, |error: &ScenarioError| {
        vec![
            ("place", error.place.to_string()),
            ("key", error.key.clone()),
            ("found", error.found.clone()),
            ("allowed", error.allowed.clone()),
            ("did_you_mean", error.meant.clone().unwrap_or_default()),
        ]
    });
    json(failure.kind(), &failure.to_string(), failure.code(), fields)
}

/// Returns an error in the arguments as JSON.
pub fn of_arguments(error: &clap::Error) -> Value {
    let text = |kinds: &[ContextKind]| {
        let texts = kinds.iter().filter_map(|kind| match error.get(*kind)? {
            ContextValue::String(text) => Some(text.clone()),
            ContextValue::Strings(texts) => texts.first().cloned(),
            _ => None,
        });
        texts.into_iter().next().unwrap_or_default()
    };
    // The first paragraph of the text is the message. All later paragraphs contain a hint and the usage.
    let message = error.to_string();
    let message = message.split("\n\n").next().unwrap_or_default();
    let suggested = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
        ContextKind::SuggestedSubcommand,
    ];
    let found = [ContextKind::InvalidValue, ContextKind::InvalidSubcommand];
    let fields = [
        ("place", text(&[ContextKind::InvalidArg])),
        ("found", text(&found)),
        ("did_you_mean", text(&suggested)),
    ];
    json("usage", message.trim_start_matches("error: "), 2, &fields)
}

/// Returns an error as JSON. Fields that are empty are left out.
fn json(kind: &str, message: &str, exit_code: u8, fields: &[(&str, String)]) -> Value {
    let mut error = json!({ "kind": kind, "message": message, "exit_code": exit_code });
    for (name, text) in fields.iter().filter(|(_, text)| !text.is_empty()) {
        error[*name] = json!(text);
    }
    json!({ "schema": SCHEMA, "error": error })
}
