//! Swept parameters: keys of a scenario with the values of a run.

use serde::{Deserialize, Serialize};
use std::fmt;
use tailcut_units::{Bytes, Duration, Rate};

/// Swept key with its value in a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Parameter {
    /// Path of the key in a scenario, such as `queue.limit`.
    pub key: String,
    /// Value, in `unit` if there is one.
    pub value: ParameterValue,
    /// Unit of the value; `None` for plain numbers and for text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<ParameterUnit>,
}

/// Value of a parameter. All runs of a study use the same variant for a key.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParameterValue {
    /// A whole number.
    Integer(u64),
    /// Number that need not be whole.
    Real(f64),
    /// Text. A sweep of both numbers and words also uses this variant.
    Text(String),
}

/// Unit of a parameter's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ParameterUnit {
    /// Nanoseconds.
    Ns,
    /// Bits per second.
    Bps,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
    /// Segments.
    Segments,
}

impl ParameterUnit {
    const fn name(self) -> &'static str {
        match self {
            Self::Ns => "ns",
            Self::Bps => "bps",
            Self::Bytes => "bytes",
            Self::Packets => "packets",
            Self::Segments => "segments",
        }
    }
}

impl Parameter {
    /// Creates a parameter without a unit.
    pub fn text(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            value: ParameterValue::Text(value.into()),
            unit: None,
        }
    }

    /// Returns the name of the parameter's column in tables: the key, followed by the unit, if any.
    pub fn column(&self) -> String {
        match self.unit {
            Some(unit) => format!("{}_{}", self.key, unit.name()),
            None => self.key.clone(),
        }
    }

    /// Returns the value if it is a number.
    pub fn number(&self) -> Option<f64> {
        match self.value {
            ParameterValue::Integer(value) => Some(value as f64),
            ParameterValue::Real(value) => Some(value),
            ParameterValue::Text(_) => None,
        }
    }

    /// Returns the value with its unit in readable form: `10 ms`, `100 packets`.
    pub fn shown(&self) -> String {
        let number = self.number().unwrap_or_default();
        match (&self.value, self.unit) {
            (ParameterValue::Text(text), _) => text.clone(),
            (_, Some(ParameterUnit::Ns)) => {
                Duration::from_ps((number * 1e3).round() as u64).to_string()
            }
            (ParameterValue::Integer(bytes), Some(ParameterUnit::Bytes)) => {
                Bytes(*bytes).to_string()
            }
            (ParameterValue::Integer(bps), Some(ParameterUnit::Bps)) => {
                Rate::from_bps(*bps).map_or_else(|| "0 b/s".to_owned(), |rate| rate.to_string())
            }
            (ParameterValue::Integer(count), Some(unit)) => format!("{count} {}", unit.name()),
            (ParameterValue::Integer(count), None) => count.to_string(),
            (_, _) => number.to_string(),
        }
    }
}

impl fmt::Display for Parameter {
    /// Writes the key and the value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.shown())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: ParameterValue, unit: Option<ParameterUnit>) -> Parameter {
        Parameter {
            key: "a.key".to_owned(),
            value,
            unit,
        }
    }

    #[test]
    fn a_value_is_told_with_its_unit_and_its_column_names_it() {
        use ParameterUnit::{Bps, Bytes, Ns, Packets};
        use ParameterValue::{Integer, Real};
        for (value, unit, shown, column) in [
            (Integer(100), Some(Packets), "100 packets", "a.key_packets"),
            (Integer(64_000), Some(Bytes), "64 KB", "a.key_bytes"),
            (Integer(25_000_000_000), Some(Bps), "25 Gb/s", "a.key_bps"),
            (Real(10e6), Some(Ns), "10 ms", "a.key_ns"),
            (Integer(4), None, "4", "a.key"),
            (Real(0.25), None, "0.25", "a.key"),
        ] {
            let parameter = of(value, unit);
            assert_eq!(
                (parameter.shown(), parameter.column()),
                (shown.into(), column.into())
            );
            let written = serde_json::to_string(&parameter).expect("JSON");
            let read: Parameter = serde_json::from_str(&written).expect("a parameter");
            assert_eq!(read, parameter, "{written}");
        }
    }
}
