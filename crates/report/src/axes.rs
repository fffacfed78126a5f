//! Axes of a study: the load and the swept keys. The axes distinguish settings with the same topology and workload.

use crate::format::Quantity;
use crate::plot::{self, Scale};
use crate::run::Setting;
use std::collections::HashSet;
use tailcut_record::{Parameter, ParameterUnit};

/// Axis: the load or a swept key. Keys that change together form one axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// Keys of the axis. The numbers of the axis are the values of the first key. The axis of the load has no keys.
    pub keys: Vec<String>,
    /// Values of the axis, in the order of the axis.
    pub values: Vec<Value>,
    unit: Option<ParameterUnit>,
}

/// Value of an axis.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Value {
    /// Value in the notation of a scenario.
    pub text: String,
    /// Value as a number in the quantity of the axis; `None` for a value that is not a number.
    pub number: Option<f64>,
}

/// Minimum ratio of the largest to the smallest value for a logarithmic axis without even ratios.
/// An axis with even steps is linear.
const WIDE: f64 = 20.0;

/// Maximum number of values of an axis for which each value gets a tick.
const MOST_TICKS: usize = 12;

/// Maximum factor between two ratios or steps that are still called even.
const EVEN: f64 = 1.1;

impl Axis {
    /// Returns the axes of settings with the same topology and workload. The load is first.
    /// The swept keys follow in the order of the sweep. A key with only one value has no axis.
    pub fn of(settings: &[&Setting]) -> Vec<Self> {
        let mut axes = Vec::new();
        let loads = settings.iter().filter_map(|setting| setting.load);
        axes.extend(Self::new(
            Vec::new(),
            None,
            loads.map(|load| Value {
                text: load.to_string(),
                number: Some(load),
            }),
        ));
        for keys in groups(settings) {
            let mut first = settings
                .iter()
                .filter_map(|setting| setting.parameter(&keys[0]));
            let unit = first.find_map(|parameter| parameter.unit);
            axes.extend(Self::new(
                keys.clone(),
                unit,
                settings.iter().filter_map(|setting| {
                    let number = number(setting.parameter(&keys[0])?);
                    let texts = keys.iter().filter_map(|key| setting.parameter(key));
                    let texts: Vec<String> = texts.map(Parameter::shown).collect();
                    Some(Value {
                        text: texts.join(", "),
                        number,
                    })
                }),
            ));
        }
        axes
    }

    fn new(
        keys: Vec<String>,
        unit: Option<ParameterUnit>,
        found: impl Iterator<Item = Value>,
    ) -> Option<Self> {
        let mut values: Vec<Value> = Vec::new();
        for value in found {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        if values.iter().all(|value| value.number.is_some()) {
            let number = |value: &Value| value.number.unwrap_or_default();
            values.sort_by(|a, b| number(a).total_cmp(&number(b)));
        }
        (values.len() > 1).then_some(Self { keys, values, unit })
    }

    /// Returns whether this axis is the load.
    pub fn is_load(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns whether all values of the axis are numbers.
    pub fn is_numeric(&self) -> bool {
        self.values.iter().all(|value| value.number.is_some())
    }

    /// Returns the name of the axis in sentences and titles.
    pub fn name(&self) -> String {
        match self.keys.is_empty() {
            true => "load".to_owned(),
            false => self.keys.join(", "),
        }
    }

    /// Returns the name of the axis in a plot. The name contains the unit of the numbers if the ticks do not show it.
    fn label(&self) -> String {
        let first = self.keys.first().map_or("load", String::as_str);
        let unit = match self.unit {
            Some(ParameterUnit::Packets) => " (packets)",
            Some(ParameterUnit::Segments) => " (segments)",
            _ => "",
        };
        match self.keys.get(1..) {
            Some(others) if !others.is_empty() => {
                format!("{first}{unit}, with {}", others.join(", "))
            }
            _ => format!("{first}{unit}"),
        }
    }

    /// Returns the index of the value that a setting has on this axis.
    pub fn place(&self, setting: &Setting) -> Option<usize> {
        let text = match self.keys.is_empty() {
            true => setting.load?.to_string(),
            false => {
                let shown = |key: &String| Some(setting.parameter(key)?.shown());
                let texts: Option<Vec<String>> = self.keys.iter().map(shown).collect();
                texts?.join(", ")
            }
        };
        self.values.iter().position(|value| value.text == text)
    }

    /// Returns a value of the axis as text with its name, such as "load 0.5" or "queue.limit 50 packets".
    pub fn position_text(&self, place: usize) -> String {
        format!("{} {}", self.name(), self.values[place].text)
    }

    /// Returns the axis for a plot. If all values are numbers, the ticks are at the values.
    /// If some values are not numbers, each value is shown as a name.
    pub fn plotted(&self) -> plot::Axis {
        if !self.is_numeric() {
            return self.named();
        }
        let quantity = match self.unit {
            Some(ParameterUnit::Ns) => Quantity::Time,
            Some(ParameterUnit::Bps) => Quantity::Rate,
            Some(ParameterUnit::Bytes) => Quantity::Bytes,
            _ => Quantity::Number,
        };
        let scale = match self.is_logarithmic() {
            true => Scale::Log,
            false => Scale::Linear,
        };
        let mut axis = plot::Axis::new(self.label(), quantity, scale);
        if !self.is_load() && self.values.len() <= MOST_TICKS {
            axis.ticks = self
                .values
                .iter()
                .filter_map(|value| value.number)
                .collect();
        }
        axis
    }

    /// Returns the axis for a heat map, on which each value is a name.
    pub fn named(&self) -> plot::Axis {
        let names = self.values.iter().map(|value| value.text.clone());
        plot::Axis::names(self.name(), names.collect())
    }

    /// Returns the coordinate of a value on the axis of a plot.
    pub fn at(&self, place: usize) -> f64 {
        self.values[place]
            .number
            .filter(|_| self.is_numeric())
            .unwrap_or(place as f64)
    }

    /// Returns whether the axis is logarithmic: its values have even ratios, or a wide range.
    fn is_logarithmic(&self) -> bool {
        let numbers: Vec<f64> = self
            .values
            .iter()
            .filter_map(|value| value.number)
            .collect();
        let (Some(&least), Some(&most)) = (numbers.first(), numbers.last()) else {
            return false;
        };
        if least <= 0.0 || self.is_load() {
            return false;
        }
        let ratios: Vec<f64> = numbers.windows(2).map(|pair| pair[1] / pair[0]).collect();
        let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = ratios.iter().copied().fold(0.0, f64::max);
        let is_even = ratios.len() > 1 && lowest > 1.2 && highest / lowest < EVEN;
        let step = (most - least) / ratios.len() as f64;
        let mut pairs = numbers.windows(2);
        let is_linear = pairs.all(|pair| (pair[1] - pair[0]) / step < EVEN) && ratios.len() > 1;
        is_even || most / least >= WIDE && !is_linear
    }
}

/// Returns the value of a parameter in the unit of plots: microseconds for times.
/// Returns `None` for other values than numbers.
fn number(parameter: &Parameter) -> Option<f64> {
    let number = parameter.number()?;
    Some(match parameter.unit {
        Some(ParameterUnit::Ns) => number / 1e3,
        _ => number,
    })
}

/// Returns the keys of the settings in groups. Keys that change together are in one group.
/// Two keys change together if each of them has as many values as there are different pairs of their values.
fn groups(settings: &[&Setting]) -> Vec<Vec<String>> {
    let shown = |setting: &Setting, key: &str| setting.parameter(key).map(Parameter::shown);
    let count = |keys: &[&str]| {
        let values = |setting: &&Setting| -> Vec<Option<String>> {
            keys.iter().map(|key| shown(setting, key)).collect()
        };
        settings.iter().map(values).collect::<HashSet<_>>().len()
    };
    let mut groups: Vec<Vec<String>> = Vec::new();
    for key in keys(settings.iter().copied()) {
        let alone = count(&[&key]);
        let is_beside = |group: &&mut Vec<String>| {
            alone > 1 && count(&[&group[0]]) == alone && count(&[&group[0], &key]) == alone
        };
        match groups.iter_mut().find(is_beside) {
            Some(group) => group.push(key),
            None => groups.push(vec![key]),
        }
    }
    groups
}

/// Returns the keys of the settings, in the order of their first occurrence.
pub(crate) fn keys<'a>(settings: impl Iterator<Item = &'a Setting>) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for parameter in settings.flat_map(|setting| &setting.parameters) {
        if !keys.contains(&parameter.key) {
            keys.push(parameter.key.clone());
        }
    }
    keys
}

/// Returns the index of the setting nearest to the middle.
/// The first criterion is the load (nearest to 0.5, and the higher of two loads at the same distance).
/// The second criterion is the middle value of each key.
pub(crate) fn middle(settings: &[&Setting]) -> Option<usize> {
    let axes = Axis::of(settings);
    let of_keys = || axes.iter().filter(|axis| !axis.is_load());
    let from_middle = |setting: &Setting| -> usize {
        let distances = of_keys().map(|axis| {
            let middle = (axis.values.len() - 1) / 2;
            axis.place(setting)
                .map_or(usize::MAX / 64, |place| place.abs_diff(middle))
        });
        distances.sum()
    };
    let from_half = |setting: &Setting| (setting.load.unwrap_or(0.5) - 0.5).abs();
    let order = |a: &Setting, b: &Setting| {
        let higher_first = || b.load.unwrap_or(0.0).total_cmp(&a.load.unwrap_or(0.0));
        let load = from_half(a)
            .total_cmp(&from_half(b))
            .then_with(higher_first);
        load.then_with(|| from_middle(a).cmp(&from_middle(b)))
    };
    (0..settings.len()).min_by(|&a, &b| order(settings[a], settings[b]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_record::ParameterValue;

    fn setting(load: f64, parameters: &[(&str, u64)]) -> Setting {
        let parameters = parameters.iter().map(|(key, value)| Parameter {
            key: (*key).to_owned(),
            value: ParameterValue::Integer(*value),
            unit: None,
        });
        Setting {
            topology: String::new(),
            workload: String::new(),
            load: Some(load),
            parameters: parameters.collect(),
        }
    }

    fn names(settings: &[Setting]) -> Vec<String> {
        let settings: Vec<&Setting> = settings.iter().collect();
        Axis::of(&settings).iter().map(Axis::name).collect()
    }

    #[test]
    fn keys_that_change_together_are_one_axis_and_what_does_not_change_is_none() {
        let zipped = [(1, 10), (2, 20), (3, 30)].map(|(a, b)| setting(0.5, &[("a", a), ("b", b)]));
        assert_eq!(names(&zipped), ["a, b"]);
        let grid = [(1, 10), (1, 20), (2, 10), (2, 20)];
        let grid = grid.map(|(a, b)| setting(0.5, &[("a", a), ("b", b)]));
        assert_eq!(names(&grid), ["a", "b"]);
        let loads = [0.1, 0.2].map(|load| setting(load, &[("a", 1)]));
        assert_eq!(names(&loads), ["load"]);
    }

    #[test]
    fn values_come_in_order_and_even_ratios_make_a_logarithmic_axis() {
        let scale = |values: &[u64]| {
            let settings: Vec<Setting> =
                values.iter().map(|v| setting(0.5, &[("a", *v)])).collect();
            let settings: Vec<&Setting> = settings.iter().collect();
            Axis::of(&settings)[0].plotted()
        };
        let axis = scale(&[200, 50, 100]);
        assert_eq!(
            (axis.scale, axis.ticks),
            (Scale::Log, vec![50.0, 100.0, 200.0])
        );
        assert_eq!(scale(&[50, 100, 150]).scale, Scale::Linear);
        assert_eq!(scale(&[1, 30]).scale, Scale::Log);
        assert_eq!(scale(&[1, 11, 21, 31]).scale, Scale::Linear);
        assert_eq!(scale(&[1, 2, 50]).scale, Scale::Log);
    }

    #[test]
    fn the_answer_is_about_the_middle_of_every_key_at_the_load_nearest_half() {
        let mut settings = Vec::new();
        for load in [0.3, 0.7] {
            settings.extend([10, 20, 40].map(|a| setting(load, &[("a", a)])));
        }
        let settings: Vec<&Setting> = settings.iter().collect();
        assert_eq!(middle(&settings), Some(4));
        assert_eq!(middle(&settings[..1]), Some(0));
        assert_eq!(middle(&[]), None);
    }
}
