//! Conversion of the values of keys to parameters of records.

use crate::schema::Key;
use crate::value::{Kind, Value};
use tailcut_record::{Parameter, ParameterUnit, ParameterValue};

/// Converts parameters to a common form. Unless all parameters are numbers with the same unit, all become texts.
pub fn with_common_form(parameters: Vec<Parameter>) -> Vec<Parameter> {
    let form = |one: &Parameter| (std::mem::discriminant(&one.value), one.unit);
    match parameters
        .windows(2)
        .all(|pair| form(&pair[0]) == form(&pair[1]))
    {
        true => parameters,
        false => {
            let texts = parameters.iter();
            texts
                .map(|one| Parameter::text(&one.key, one.shown()))
                .collect()
        }
    }
}

/// Converts a value of a key to a parameter.
pub fn parameter(path: &str, key: &Key, value: &Value) -> Parameter {
    let (value, unit) = match value {
        Value::Count(count) => (ParameterValue::Integer(*count), counted(key.kind)),
        Value::Number(number) => (ParameterValue::Real(*number), None),
        Value::Duration(span) => {
            let ns = span.as_ps() as f64 / 1e3;
            (ParameterValue::Real(ns), Some(ParameterUnit::Ns))
        }
        Value::Rate(rate) => (
            ParameterValue::Integer(rate.as_bps()),
            Some(ParameterUnit::Bps),
        ),
        Value::Bytes(bytes) => (ParameterValue::Integer(bytes.0), Some(ParameterUnit::Bytes)),
        Value::Word(word) => (ParameterValue::Text((*word).to_owned()), None),
        Value::Text(text) => (ParameterValue::Text(text.clone()), None),
        other => {
            let json = other.to_json();
            let items = json.as_array().map_or(&[][..], Vec::as_slice);
            let plain = |item: &serde_json::Value| match item {
                serde_json::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let text = match items.is_empty() {
                true => plain(&json),
                false => items.iter().map(plain).collect::<Vec<_>>().join(" "),
            };
            (ParameterValue::Text(text), None)
        }
    };
    Parameter {
        key: path.to_owned(),
        value,
        unit,
    }
}

/// Returns the unit of a key's whole numbers, if any.
fn counted(kind: Kind) -> Option<ParameterUnit> {
    match kind {
        Kind::Sized { of: "packets", .. } => Some(ParameterUnit::Packets),
        Kind::Sized { of: "segments", .. } => Some(ParameterUnit::Segments),
        _ => None,
    }
}
