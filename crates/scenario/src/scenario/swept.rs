//! Parser of `[sweep]` and of designs with their own settings, in the text of a scenario file.

use super::lines::{Lines, in_order, raw};
use crate::error::{Location, Outcome, ScenarioError, did_you_mean};
use crate::path::KeyPath;
use crate::schema;
use crate::sweep::{OwnDesign, Range, Sweep, SweepValues, Zip};
use crate::value::{Raw, shortened};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const ZIP: &str = "zip";

/// Keys in the table of a range.
const RANGE: [&str; 4] = ["from", "to", "steps", "scale"];

/// Parses a `[sweep]` table.
pub fn sweep(value: &Spanned<DeValue<'_>>, place: &Location, lines: &Lines) -> Outcome<Sweep> {
    let DeValue::Table(table) = value.get_ref() else {
        let found = raw(value.get_ref()).to_string();
        let place = lines.place(value.span().start);
        let allowed = "a table [sweep] of keys with their values";
        return Err(ScenarioError::new(&place, "sweep", found, allowed));
    };
    let mut sweep = Sweep::default();
    for (path, value) in keys(table, &[ZIP]) {
        let at = lines.place(value.span().start);
        if path == ZIP {
            for zip in zips(value, lines)? {
                sweep.zip(zip)?;
            }
            continue;
        }
        let written = match value.get_ref() {
            DeValue::Table(range) => SweepValues::Range(range_of(&path, range, &at, lines)?),
            other => SweepValues::List(raw(other)),
        };
        sweep.add(KeyPath::parse(&path, &at)?, &written, &at)?;
    }
    if sweep.is_empty() {
        let allowed = "keys with their values, such as \"queue.limit\" = [50, 100]";
        return Err(ScenarioError::new(place, "sweep", "no key", allowed));
    }
    Ok(sweep)
}

/// Returns the keys of a table by path, in the order of the text. Both `"queue.limit"` and `queue.limit` are accepted.
fn keys<'t, 'i>(table: &'t DeTable<'i>, own: &[&str]) -> Vec<(String, &'t Spanned<DeValue<'i>>)> {
    let mut keys = Vec::new();
    for (name, value) in in_order(table) {
        let name = name.get_ref().as_ref();
        let is_section = !own.contains(&name) && schema::section(name).is_some();
        match value.get_ref() {
            DeValue::Table(inner) if is_section => keys.extend(
                in_order(inner)
                    .into_iter()
                    .map(|(key, value)| (format!("{name}.{}", key.get_ref()), value)),
            ),
            _ => keys.push((name.to_owned(), value)),
        }
    }
    keys
}

fn range_of(path: &str, table: &DeTable<'_>, place: &Location, lines: &Lines) -> Outcome<Range> {
    let mut of: [Option<Raw>; 4] = [None, None, None, None];
    for (name, value) in in_order(table) {
        let at = lines.place(name.span().start);
        let name = name.get_ref().as_ref();
        let Some(index) = RANGE.iter().position(|known| *known == name) else {
            let meant = did_you_mean(name, RANGE).map(str::to_owned);
            let found = format!("'{}'", shortened(name));
            return Err(ScenarioError::new(&at, path, found, RANGE.join(", ")).meaning(meant));
        };
        of[index] = Some(raw(value.get_ref()));
    }
    let [Some(from), Some(to), Some(steps), scale] = of else {
        let allowed = "from, to and steps, and optionally scale = \"log\"";
        return Err(ScenarioError::new(
            place,
            path,
            "an incomplete range",
            allowed,
        ));
    };
    Range::in_steps(from, to, &steps, scale.as_ref())
        .map_err(|(found, allowed)| ScenarioError::new(place, path, found, allowed))
}

fn zips(value: &Spanned<DeValue<'_>>, lines: &Lines) -> Outcome<Vec<Zip>> {
    let place = lines.place(value.span().start);
    let wrong = |found: String| {
        let allowed = "a list of lists of keys, such as [[\"topology.hosts\", \"topology.rate\"]]";
        ScenarioError::new(&place, "sweep.zip", found, allowed)
    };
    let DeValue::Array(groups) = value.get_ref() else {
        return Err(wrong(raw(value.get_ref()).to_string()));
    };
    groups
        .iter()
        .map(|group| {
            let DeValue::Array(keys) = group.get_ref() else {
                return Err(wrong(raw(group.get_ref()).to_string()));
            };
            let at = lines.place(group.span().start);
            let keys = keys.iter().map(|key| match key.get_ref() {
                DeValue::String(path) => KeyPath::parse(path, &at),
                other => Err(wrong(raw(other).to_string())),
            });
            Ok(Zip {
                keys: keys.collect::<Outcome<_>>()?,
                place: at.clone(),
            })
        })
        .collect()
}

/// Returns the names of the designs as one value, and the designs that have their own settings.
pub fn designs(value: &Spanned<DeValue<'_>>, lines: &Lines) -> Outcome<(Raw, Vec<OwnDesign>)> {
    let DeValue::Array(items) = value.get_ref() else {
        return Ok((raw(value.get_ref()), Vec::new()));
    };
    let mut own = Vec::new();
    let mut names = Vec::with_capacity(items.len());
    for item in items {
        let DeValue::Table(table) = item.get_ref() else {
            names.push(raw(item.get_ref()));
            continue;
        };
        let place = lines.place(item.span().start);
        let design = own_design(table, &place, lines)?;
        names.push(Raw::Text(design.name.clone()));
        own.push(design);
    }
    Ok((Raw::Array(names), own))
}

fn own_design(table: &DeTable<'_>, place: &Location, lines: &Lines) -> Outcome<OwnDesign> {
    let wrong = |found: String| {
        let allowed = "name, design and the settings of the design, such as { name = \"dctcp-small\", design = \
                       \"dctcp\", \"tcp.dctcp_gain\" = 0.01 }";
        ScenarioError::new(place, "designs", found, allowed)
    };
    let (mut name, mut design) = (None, None);
    let mut settings = Vec::new();
    for (path, value) in keys(table, &["name", "design"]) {
        match (path.as_str(), value.get_ref()) {
            ("name", DeValue::String(text)) => name = Some(text.to_string()),
            ("design", DeValue::String(text)) => design = Some(text.to_string()),
            ("name" | "design", other) => return Err(wrong(format!("{path} = {}", raw(other)))),
            (_, value_there) => {
                let at = lines.place(value.span().start);
                settings.push((KeyPath::parse(&path, &at)?, raw(value_there)));
            }
        }
    }
    let (Some(name), Some(design)) = (name, design) else {
        return Err(wrong("a design without name or design".to_owned()));
    };
    OwnDesign::new(name, design, settings, place)
}
