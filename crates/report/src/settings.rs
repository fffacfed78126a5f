//! Settings of a study by the keys in which they differ. Plots use the keys as axes, and tables use them as columns.

use crate::analysis::Analysis;
use crate::axes::{Axis, keys};
use crate::run::Setting;
use crate::table::Cell;
use tailcut_record::{Parameter, ParameterValue};

impl Analysis {
    /// Returns the axes of the settings with the topology and workload of this headline.
    pub fn axes(&self, headline: usize) -> Vec<Axis> {
        let sweep = self.sweep(headline);
        let settings: Vec<&Setting> = sweep.iter().map(|&index| &self.settings[index]).collect();
        Axis::of(&settings)
    }

    /// Returns the settings that differ from the headline only on this axis, in the order of the axis.
    /// Each setting has the index of its value on the axis.
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

    /// Returns the axis over which most figures are drawn: the numeric axis with the most values.
    /// If several axes have the same number of values, the first axis is returned.
    pub fn main_axis(&self, headline: usize) -> Option<Axis> {
        let axes = self.axes(headline).into_iter();
        let numeric = axes.filter(Axis::is_numeric);
        numeric.reduce(|best, next| match next.values.len() > best.values.len() {
            true => next,
            false => best,
        })
    }

    /// Returns the columns that identify a setting in a table.
    /// If keys are swept, there is one column for each key. Otherwise, a single column identifies the setting.
    pub fn setting_columns(&self) -> Vec<String> {
        let keys = keys(self.settings.iter());
        if keys.is_empty() {
            return vec!["setting".to_owned()];
        }
        let places = ["topology", "workload"]
            .iter()
            .filter(|_| self.has_several_places());
        let load = ["load"].iter().filter(|_| self.has_several_loads());
        let common = places.chain(load).map(|name| (*name).to_owned());
        common.chain(keys).collect()
    }

    /// Returns the cells of a setting for the given columns.
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
        if self.has_several_loads() {
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

    /// Returns the columns that identify a setting, followed by `columns`.
    pub fn with_setting(&self, columns: &[&str]) -> Vec<String> {
        let mut all = self.setting_columns();
        all.extend(columns.iter().map(|name| (*name).to_owned()));
        all
    }

    /// Returns whether the study has several loads.
    fn has_several_loads(&self) -> bool {
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
