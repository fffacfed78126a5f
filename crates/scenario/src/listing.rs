//! Names that scenarios accept, with descriptions, for lists and completions.

use crate::schema::{Fallback, sections};
use crate::{Outcome, SCENARIOS, TOPOLOGY_KINDS, topology_keys};
use serde_json::{Value, json};
use tailcut_sim::workload::sizes;
use tailcut_sim::{
    Design, Named, NamedBalancer, NamedQueue, OwnApplication, REPLICATIONS, Registered, Stack,
};

/// Name with a description, and additional data for scripts.
#[derive(Clone, Debug)]
pub struct ListedName {
    /// Kind of part, such as `transport`, if the name can be part of a design's name. Otherwise empty.
    pub part: &'static str,
    /// Name of the listed item.
    pub name: String,
    /// Description in one line.
    pub about: String,
    /// Further fields of the JSON object.
    more: Value,
}

impl ListedName {
    /// Creates an item without additional data.
    pub fn new(part: &'static str, name: &str, about: &str) -> Self {
        Self {
            part,
            name: name.to_owned(),
            about: about.to_owned(),
            more: Value::Null,
        }
    }

    /// Returns the name as a JSON object.
    pub fn to_json(&self) -> Value {
        let mut value = json!({ "name": self.name, "about": self.about });
        if !self.part.is_empty() {
            value["part"] = json!(self.part);
        }
        if let (Value::Object(value), Value::Object(more)) = (&mut value, &self.more) {
            value.extend(more.clone());
        }
        value
    }
}

/// Creates an item for a part, with its summary and source.
fn part(kind: &'static str, name: &str, summary: &str, source: &str) -> ListedName {
    let about = match source {
        "" => summary.to_owned(),
        source => format!("{summary} ({source})"),
    };
    ListedName::new(kind, name, &about)
}

/// Returns the possible parts of a design's name: replications, transports and load balancers.
pub fn designs() -> Vec<ListedName> {
    let replications = REPLICATIONS.iter();
    let replications =
        replications.map(|one| ListedName::new("replication", one.name, one.summary));
    let designs = Design::all().into_iter();
    let designs = designs.map(|one| part("transport", one.name, one.summary, one.source));
    let balancers = NamedBalancer::all().into_iter();
    let balancers = balancers.map(|one| part("routing", one.name, one.summary, one.source));
    replications.chain(designs).chain(balancers).collect()
}

/// Returns the designs and replications, alone and with each load balancer that they allow.
/// Examples are `dctcp` and `dctcp@spray`.
pub fn stacks() -> Vec<String> {
    let designs = Design::all().into_iter().map(|one| one.name);
    let stems = designs.chain(REPLICATIONS.iter().map(|one| one.name));
    let balancers = NamedBalancer::all();
    stems
        .flat_map(|stem| {
            let with = balancers
                .iter()
                .map(move |one| format!("{stem}@{}", one.name));
            std::iter::once(stem.to_owned()).chain(with)
        })
        .filter(|name| name.parse::<Stack>().is_ok())
        .collect()
}

/// Returns the queue disciplines of switch ports.
pub fn disciplines() -> Vec<ListedName> {
    let disciplines = NamedQueue::all().into_iter();
    let disciplines = disciplines.map(|one| part("", one.name, one.summary, one.source));
    disciplines.collect()
}

/// Returns the names of size distributions, and the notations for all other sizes.
pub fn workloads() -> Vec<ListedName> {
    let named = sizes::NAMES.iter().map(|named| {
        let mean = named.distribution().mean();
        ListedName {
            part: "",
            name: named.name.to_owned(),
            about: format!("{}; mean {:.0} bytes", named.description, mean),
            more: json!({ "mean_bytes": mean }),
        }
    });
    let forms = [
        (
            "fixed:BYTES",
            "the same size for all flows, such as fixed:100KB",
        ),
        (
            "uniform:MIN:MAX",
            "a uniform distribution between two sizes",
        ),
        (
            "table:FILE.csv",
            "a cumulative distribution: one row `bytes,cumulative` for each point",
        ),
        (
            "requests:SIZES",
            "requests for objects of these sizes, such as requests:fixed:1MB",
        ),
        (
            "trace:FILE.csv",
            "exactly the flows of a file: start_ns,src,dst,bytes and optionally path",
        ),
    ];
    let applications = OwnApplication::all()
        .into_iter()
        .map(|own| ListedName::new("", &format!("application:{}", own.name()), own.about()));
    named
        .chain(applications)
        .chain(forms.map(|(name, about)| ListedName::new("", name, about)))
        .collect()
}

/// Returns the kinds of networks with their parameters.
pub fn topologies() -> Vec<ListedName> {
    let kinds = TOPOLOGY_KINDS.iter();
    kinds
        .map(|(kind, about)| {
            let keys = topology_keys(kind);
            let parameters = match keys.is_empty() {
                true => String::new(),
                false => format!(" ({})", keys.join(", ")),
            };
            ListedName {
                part: "",
                name: (*kind).to_owned(),
                about: format!("{about}{parameters}"),
                more: json!({ "parameters": keys }),
            }
        })
        .collect()
}

/// Returns the built-in scenarios.
///
/// # Errors
/// A built-in scenario is invalid.
pub fn scenarios() -> Outcome<Vec<ListedName>> {
    let mut items = Vec::with_capacity(SCENARIOS.len());
    for built_in in &SCENARIOS {
        let about = built_in
            .parse()?
            .table("")
            .text("about")
            .unwrap_or_default();
        items.push(ListedName {
            part: "",
            name: built_in.name.to_owned(),
            about,
            more: Value::Null,
        });
    }
    Ok(items)
}

/// Returns all keys of a scenario.
pub fn keys() -> Vec<ListedName> {
    let all = sections()
        .into_iter()
        .flat_map(|section| section.keys.iter().map(move |key| (section, key)));
    all.map(|(section, key)| {
        let default = match key.default {
            Fallback::Follows(words) => format!("({words})"),
            _ => key.default_text(),
        };
        ListedName {
            part: "",
            name: section.path(key.name),
            about: format!("[{default}] {}", key.about),
            more: json!({
                "section": section.header(),
                "unit": key.kind.unit(),
                "default": default,
                "allowed": key.allowed(),
            }),
        }
    })
    .collect()
}
