//! What the settings of a place differ in: the load, and the keys that a study sweeps.

use crate::analysis::Analysis;
use crate::format::Quantity;
use crate::plot::{self, Scale};
use crate::run::Setting;
use crate::table::Cell;
use std::collections::HashSet;
use tailcut_record::{Parameter, ParameterUnit, ParameterValue};

/// What the settings of a place differ in; keys that change together are one axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    /// Its keys, the first of which gives its numbers; none for the load.
    keys: Vec<String>,
    /// Its values, in order.
    pub values: Vec<Value>,
    unit: Option<ParameterUnit>,
}

/// A value of an axis.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Value {
    /// As people write it.
    pub text: String,
    /// In the axis's quantity; `None` for text.
    pub number: Option<f64>,
}

/// A range of steps from which on their axis is logarithmic, even if they are not.
const WIDE: f64 = 20.0;

/// The most values that are ticks each.
const MOST_TICKS: usize = 12;

/// How much even ratios or steps may differ.
const EVEN: f64 = 1.1;

impl Axis {
    /// The axes of the settings of one place, in the order of the sweep after the load; none with one value.
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

    /// Whether it is that of loads.
    pub fn is_load(&self) -> bool {
        self.keys.is_empty()
    }

    /// Whether all of its values are numbers.
    pub fn is_numeric(&self) -> bool {
        self.values.iter().all(|value| value.number.is_some())
    }

    /// What sentences and titles call it.
    pub fn name(&self) -> String {
        match self.keys.is_empty() {
            true => "load".to_owned(),
            false => self.keys.join(", "),
        }
    }

    /// The same with what its numbers count, where their unit does not say.
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

    /// Where a setting is on it.
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

    /// A setting's value in words: "load 0.5", "queue.limit 50 packets".
    pub fn told(&self, place: usize) -> String {
        format!("{} {}", self.name(), self.values[place].text)
    }

    /// The axis of a plot: of numbers, with its values as ticks; else a name a value.
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

    /// The axis of a heat map.
    pub fn named(&self) -> plot::Axis {
        let names = self.values.iter().map(|value| value.text.clone());
        plot::Axis::names(self.name(), names.collect())
    }

    /// Where a value is on the axis of a plot.
    pub fn at(&self, place: usize) -> f64 {
        self.values[place]
            .number
            .filter(|_| self.is_numeric())
            .unwrap_or(place as f64)
    }

    /// Whether the values have even ratios, or are far apart.
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

/// A parameter in the quantity that plots have: times in microseconds.
fn number(parameter: &Parameter) -> Option<f64> {
    let number = parameter.number()?;
    Some(match parameter.unit {
        Some(ParameterUnit::Ns) => number / 1e3,
        _ => number,
    })
}

/// The keys of the settings, those together that change together: as many pairs of values as there are
/// values of each.
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

/// The keys of the settings in their order.
fn keys<'a>(settings: impl Iterator<Item = &'a Setting>) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for parameter in settings.flat_map(|setting| &setting.parameters) {
        if !keys.contains(&parameter.key) {
            keys.push(parameter.key.clone());
        }
    }
    keys
}

/// How near each of these settings is to the middle of its place: the load nearest 0.5 (the higher of two)
/// first, then the middle value of every key. Gives the place of the nearest.
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

impl Analysis {
    /// The axes of the place with this headline.
    pub fn axes(&self, headline: usize) -> Vec<Axis> {
        let sweep = self.sweep(headline);
        let settings: Vec<&Setting> = sweep.iter().map(|&index| &self.settings[index]).collect();
        Axis::of(&settings)
    }

    /// The settings that differ from the headline in this axis only, in its order, each with its place.
    pub fn along(&self, headline: usize, axis: &Axis) -> Vec<(usize, usize)> {
        let axes = self.axes(headline);
        let here = &self.settings[headline];
        let others: Vec<&Axis> = axes
            .iter()
            .filter(|other| other.keys != axis.keys)
            .collect();
        let is_here = |setting: &Setting| {
            let mut others = others.iter();
            others.all(|other| other.place(setting) == other.place(here))
        };
        let sweep = self.sweep(headline).into_iter();
        let sweep = sweep.filter(|&index| is_here(&self.settings[index]));
        let mut along: Vec<(usize, usize)> = sweep
            .filter_map(|index| Some((axis.place(&self.settings[index])?, index)))
            .collect();
        along.sort_unstable();
        along
    }

    /// The axis that most figures are drawn over: of the numeric ones that with the most values, the first
    /// of several.
    pub fn main_axis(&self, headline: usize) -> Option<Axis> {
        let axes = self.axes(headline).into_iter();
        let numeric = axes.filter(Axis::is_numeric);
        numeric.reduce(|best, next| match next.values.len() > best.values.len() {
            true => next,
            false => best,
        })
    }

    /// The columns that tell a table's settings: one, or where keys are swept one a key.
    pub fn setting_columns(&self) -> Vec<String> {
        let keys = keys(self.settings.iter());
        if keys.is_empty() {
            return vec!["setting".to_owned()];
        }
        let places = ["topology", "workload"]
            .iter()
            .filter(|_| self.has_several_places());
        let load = ["load"].iter().filter(|_| self.tells_load());
        let common = places.chain(load).map(|name| (*name).to_owned());
        common.chain(keys).collect()
    }

    /// A setting in these columns.
    pub fn setting_cells(&self, setting: usize) -> Vec<Cell> {
        let keys = keys(self.settings.iter());
        if keys.is_empty() {
            return vec![Cell::text(self.setting_name(setting))];
        }
        let here = &self.settings[setting];
        let mut cells = Vec::new();
        if self.has_several_places() {
            cells.extend([Cell::text(&here.topology), Cell::text(&here.workload)]);
        }
        if self.tells_load() {
            let text = here
                .load
                .map_or_else(|| "–".to_owned(), |load| load.to_string());
            cells.push(Cell::new(text, here.load));
        }
        cells.extend(keys.iter().map(|key| match here.parameter(key) {
            Some(parameter) => parameter_cell(parameter),
            None => Cell::new("–".to_owned(), None::<f64>),
        }));
        cells
    }

    /// Whether the study has several loads.
    fn tells_load(&self) -> bool {
        let mut settings = self.settings.windows(2);
        settings.any(|pair| pair[0].load != pair[1].load)
    }
}

fn parameter_cell(parameter: &Parameter) -> Cell {
    match &parameter.value {
        ParameterValue::Text(text) => Cell::text(text),
        value => Cell::new(parameter.shown(), value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
