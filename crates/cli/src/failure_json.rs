//! Errors as JSON, for `--json`. `docs/error.schema.json` describes them.

use crate::failure::Failure;
use clap::error::{ContextKind, ContextValue};
use serde::Serialize;
use std::ffi::OsString;
use tailcut_scenario::ScenarioError;

/// Version of the format. A new version has other fields, or the same fields with other meanings.
const SCHEMA: u32 = 1;

/// Error of a command.
#[derive(Serialize)]
pub struct FailureJson {
    schema: u32,
    error: Fields,
}

#[derive(Serialize)]
struct Fields {
    /// Kind of the error.
    kind: &'static str,
    /// Message, as it is printed without `--json`.
    message: String,
    /// Exit code of the process.
    exit_code: u8,
    /// Position of the wrong input: a flag, or a file with a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    /// Key of the scenario.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    found: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<String>,
    /// Name that was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    did_you_mean: Option<String>,
}

/// Returns whether the arguments of the process contain `--json`. Arguments after `--` belong to another program.
pub fn is_wanted(arguments: impl Iterator<Item = OsString>) -> bool {
    let mut own = arguments.skip(1).take_while(|argument| argument != "--");
    own.any(|argument| argument == "--json")
}

/// Returns the error of a command as JSON.
pub fn of(failure: &Failure) -> FailureJson {
    let kind = match failure {
        Failure::Refused(_) => "refused",
        Failure::CheckFailed => "check_failed",
        Failure::CasesFailed(_) => "cases_failed",
        Failure::CasesRunElsewhere(_) => "cases_run_elsewhere",
        Failure::Ended(..) => "ended",
        Failure::Interrupted => "interrupted",
        Failure::NobodyReads => "nobody_reads",
    };
    let mut fields = Fields::new(kind, failure.to_string(), failure.code());
    let cause = match failure {
        Failure::Refused(error) => error
            .chain()
            .find_map(|cause| cause.downcast_ref::<ScenarioError>()),
        _ => None,
    };
    if let Some(error) = cause {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        fields.place = some(&error.place.to_string());
        fields.key = some(&error.key);
        fields.found = some(&error.found);
        fields.allowed = some(&error.allowed);
        fields.did_you_mean.clone_from(&error.meant);
    }
    FailureJson::new(fields)
}

/// Returns an error in the arguments as JSON.
pub fn of_arguments(error: &clap::Error) -> FailureJson {
    let text = |kind: ContextKind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(texts) => texts.first().cloned(),
        _ => None,
    };
    // The message is the first paragraph. The others contain a hint and the usage.
    let message = error.to_string();
    let message = message.split("\n\n").next().unwrap_or_default();
    let mut fields = Fields::new("usage", message.trim_start_matches("error: ").to_owned(), 2);
    fields.place = text(ContextKind::InvalidArg);
    fields.found = text(ContextKind::InvalidValue).or_else(|| text(ContextKind::InvalidSubcommand));
    let suggestions = [
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
        ContextKind::SuggestedSubcommand,
    ];
    fields.did_you_mean = suggestions.into_iter().find_map(text);
    FailureJson::new(fields)
}

impl FailureJson {
    fn new(error: Fields) -> Self {
        Self {
            schema: SCHEMA,
            error,
        }
    }
}

impl Fields {
    fn new(kind: &'static str, message: String, exit_code: u8) -> Self {
        Self {
            kind,
            message,
            exit_code,
            place: None,
            key: None,
            found: None,
            allowed: None,
            did_you_mean: None,
        }
    }
}
