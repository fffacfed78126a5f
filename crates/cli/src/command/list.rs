//! `tailcut list`: names that other commands accept.

use crate::args::{List, Listing};
use crate::failure::Failure;
use crate::output::{print, print_json};
use serde_json::{Value, json};
use tailcut_scenario::schema::{Fallback, sections};
use tailcut_scenario::sim::workload::sizes;
use tailcut_scenario::sim::{
    Design, Named, NamedBalancer, NamedQueue, OwnApplication, REPLICATIONS, Registered,
};
use tailcut_scenario::{SCENARIOS, TOPOLOGY_KINDS, topology_keys};

/// Name with a description, and additional data for scripts.
struct Item {
    group: &'static str,
    name: String,
    about: String,
    more: Value,
}

/// Runs the command.
///
/// # Errors
/// Standard output cannot be written.
pub fn execute(arguments: &List) -> Result<(), Failure> {
    let (items, hint) = match arguments.what {
        Listing::Designs => (
            designs(),
            "A design is [replication+]transport[@routing]: repflow+dctcp, dctcp@spray. Defaults: no \
             replication, tcp, ecmp; for duplicates of requests stations.",
        ),
        Listing::Disciplines => (
            disciplines(),
            "Use one with --set queue.discipline=NAME, for designs that do not need their own queue.",
        ),
        Listing::Workloads => (
            workloads(),
            "Use one with --workload, or in a scenario as sizes = \"...\".",
        ),
        Listing::Topologies => (
            topologies(),
            "Use one with --topology KIND or KIND:KEY=VALUE,KEY=VALUE; all kinds have the keys rate and delay.",
        ),
        Listing::Scenarios => (scenarios()?, "Run one with `tailcut run NAME`."),
        Listing::Reproductions => (
            reproductions(),
            "Compare one with its paper: `tailcut reproduce NAME`.",
        ),
        Listing::Keys => (
            keys(),
            "Use one in a scenario's file, or with --set KEY=VALUE. See docs/scenario.md.",
        ),
    };
    if arguments.json.json {
        return print_json(&items.iter().map(Item::to_json).collect::<Vec<_>>());
    }
    print(&table(&items, hint))
}

impl Item {
    fn to_json(&self) -> Value {
        let mut value = json!({ "name": self.name, "about": self.about });
        if !self.group.is_empty() {
            value["part"] = json!(self.group);
        }
        if let (Value::Object(value), Value::Object(more)) = (&mut value, &self.more) {
            value.extend(more.clone());
        }
        value
    }
}

fn table(items: &[Item], hint: &str) -> String {
    let width = items
        .iter()
        .map(|item| item.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    let mut group = "";
    for item in items {
        if item.group != group {
            group = item.group;
            text.push_str(&format!("{group}:\n"));
        }
        let indent = if group.is_empty() { "" } else { "  " };
        text.push_str(&format!("{indent}{:width$}  {}\n", item.name, item.about));
    }
    text.push_str(&format!("\n{hint}\n"));
    text
}

/// Creates an item without additional data.
fn item(group: &'static str, name: &str, about: &str) -> Item {
    Item {
        group,
        name: name.to_owned(),
        about: about.to_owned(),
        more: Value::Null,
    }
}

/// Creates an item for a part, with its summary and source.
fn part(group: &'static str, name: &str, summary: &str, source: &str) -> Item {
    let about = match source {
        "" => summary.to_owned(),
        source => format!("{summary} ({source})"),
    };
    item(group, name, &about)
}

fn designs() -> Vec<Item> {
    let replications = REPLICATIONS.iter();
    let replications = replications.map(|one| item("replication", one.name, one.summary));
    let designs = Design::all().into_iter();
    let designs = designs.map(|one| part("transport", one.name, one.summary, one.source));
    let balancers = NamedBalancer::all().into_iter();
    let balancers = balancers.map(|one| part("routing", one.name, one.summary, one.source));
    replications.chain(designs).chain(balancers).collect()
}

fn disciplines() -> Vec<Item> {
    let disciplines = NamedQueue::all().into_iter();
    let disciplines = disciplines.map(|one| part("", one.name, one.summary, one.source));
    disciplines.collect()
}

fn workloads() -> Vec<Item> {
    let named = sizes::NAMES.iter().map(|named| {
        let mean = named.distribution().mean();
        Item {
            group: "",
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
        .map(|own| item("", &format!("application:{}", own.name()), own.about()));
    named
        .chain(applications)
        .chain(forms.map(|(name, about)| item("", name, about)))
        .collect()
}

fn topologies() -> Vec<Item> {
    let kinds = TOPOLOGY_KINDS.iter();
    kinds
        .map(|(kind, about)| {
            let keys = topology_keys(kind);
            let parameters = match keys.is_empty() {
                true => String::new(),
                false => format!(" ({})", keys.join(", ")),
            };
            Item {
                group: "",
                name: (*kind).to_owned(),
                about: format!("{about}{parameters}"),
                more: json!({ "parameters": keys }),
            }
        })
        .collect()
}

fn scenarios() -> Result<Vec<Item>, Failure> {
    let mut items = Vec::with_capacity(SCENARIOS.len());
    for built_in in &SCENARIOS {
        let about = built_in
            .parse()?
            .table("")
            .text("about")
            .unwrap_or_default();
        items.push(Item {
            group: "",
            name: built_in.name.to_owned(),
            about,
            more: Value::Null,
        });
    }
    Ok(items)
}

fn reproductions() -> Vec<Item> {
    let all = tailcut_reproduce::ALL.iter();
    all.map(|one| item("", one.name, one.title)).collect()
}

fn keys() -> Vec<Item> {
    let all = sections()
        .into_iter()
        .flat_map(|section| section.keys.iter().map(move |key| (section, key)));
    all.map(|(section, key)| {
        let default = match key.default {
            Fallback::Follows(words) => format!("({words})"),
            _ => key.default_text(),
        };
        Item {
            group: "",
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
