//! Keys and values of manifests. A comparison of studies uses them to find the keys that differ.

use crate::error::Location;
use crate::path::KeyPath;
use crate::scenario::Scenario;
use crate::schema;
use crate::sweep::{parameter, with_common_form};
use crate::value::Raw;
use serde_json::Value;
use std::collections::BTreeMap;
use tailcut_record::Parameter;

/// Keys that do not change the studied system, such as names, seeds and measurements.
/// Studies can be joined if they differ only in keys that do not change the studied system.
const NOT_COMPARED: [&str; 14] = [
    "name",
    "about",
    "designs",
    "loads",
    "seed",
    "seeds",
    "tables",
    "engine",
    "port_events",
    "sample_every",
    "measure_waits",
    "measure_bursts",
    "measure_goodput",
    "topology.name",
];

/// Returns the keys of a manifest's configuration, by path, with their values.
pub fn recorded_keys(config: &Value) -> BTreeMap<String, Value> {
    let mut keys = BTreeMap::new();
    for section in schema::sections() {
        let name = if section.name.is_empty() {
            "study"
        } else {
            section.name
        };
        let tables: Vec<Value> = match config.get(name) {
            // A manifest without a workload table has one workload with the defaults.
            Some(Value::Array(tables)) if tables.is_empty() && name == "workload" => {
                vec![Scenario::default().table(name).to_json()]
            }
            Some(Value::Array(tables)) => tables.clone(),
            Some(table) => vec![table.clone()],
            None => Vec::new(),
        };
        for (index, table) in tables.iter().enumerate() {
            for (key, value) in table.as_object().into_iter().flatten() {
                let Some(key) = section.key(key) else {
                    continue;
                };
                let path = KeyPath {
                    section,
                    index,
                    key,
                };
                let path = path.to_string();
                if !NOT_COMPARED.contains(&path.as_str()) {
                    keys.insert(path, value.clone());
                }
            }
        }
    }
    keys
}

/// Converts the values of one key, as a manifest stores them, to parameters with a common unit.
pub fn recorded_parameters(path: &str, values: &[Value]) -> Vec<Parameter> {
    let known = KeyPath::parse(path, &Location::Value).ok();
    let of = |value: &Value| {
        let read = known.and_then(|path| path.key.read(&raw(value)));
        match (known, read) {
            (Some(known), Some(read)) => parameter(path, known.key, &read),
            _ => Parameter::text(path, plain(value)),
        }
    };
    with_common_form(values.iter().map(of).collect())
}

/// Converts a value of a manifest to the form in which a user writes it.
fn raw(value: &Value) -> Raw {
    match value {
        Value::Bool(flag) => Raw::Flag(*flag),
        Value::Number(number) => Raw::Argument(number.to_string()),
        Value::String(text) => Raw::Argument(text.clone()),
        Value::Array(items) => Raw::Array(items.iter().map(raw).collect()),
        Value::Null | Value::Object(_) => Raw::Other("nothing that a key has"),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_record::{ParameterUnit, ParameterValue};

    #[test]
    fn what_a_manifest_keeps_of_a_key_is_read_with_its_unit() {
        let text =
            "designs = [\"tcp\"]\n[queue]\nlimit = \"50 packets\"\n[tcp]\nmin_rto = \"3ms\"\n";
        let config = Scenario::from_text(text).expect("a scenario").to_json();
        let keys = recorded_keys(&config);
        let one = |path: &str| recorded_parameters(path, &[keys[path].clone()]).remove(0);
        let (limit, rto) = (one("queue.limit"), one("tcp.min_rto"));
        assert_eq!(
            (limit.value, limit.unit),
            (ParameterValue::Integer(50), Some(ParameterUnit::Packets))
        );
        assert_eq!(
            (rto.value, rto.unit),
            (ParameterValue::Real(3e6), Some(ParameterUnit::Ns))
        );
        assert!(keys.contains_key("workload.load") && !keys.contains_key("seeds"));
    }

    #[test]
    fn values_of_several_forms_are_text() {
        let values = [
            Value::from("50 packets"),
            Value::from("auto"),
            Value::from(64_000),
        ];
        let shown = recorded_parameters("queue.limit", &values);
        let shown: Vec<String> = shown.iter().map(Parameter::shown).collect();
        assert_eq!(shown, ["50 packets", "auto", "64000"]);
    }
}
