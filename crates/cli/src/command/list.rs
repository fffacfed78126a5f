//! `tailcut list`: names that other commands accept.

use crate::args::{List, Listing};
use crate::failure::Failure;
use crate::output::{print, print_json};
use tailcut_scenario::listing::{self, ListedName};

/// Runs the command.
///
/// # Errors
/// Standard output cannot be written.
pub fn execute(arguments: &List) -> Result<(), Failure> {
    let (items, hint) = match arguments.what {
        Listing::Designs => (
            listing::designs(),
            "A design is [replication+]transport[@routing]: repflow+dctcp, dctcp@spray. Defaults: no \
             replication, tcp, ecmp; for duplicates of requests stations.",
        ),
        Listing::Disciplines => (
            listing::disciplines(),
            "Use one with --set queue.discipline=NAME, for designs that do not need their own queue.",
        ),
        Listing::Workloads => (
            listing::workloads(),
            "Use one with --workload, or in a scenario as sizes = \"...\".",
        ),
        Listing::Topologies => (
            listing::topologies(),
            "Use one with --topology KIND or KIND:KEY=VALUE,KEY=VALUE; all kinds have the keys rate and delay.",
        ),
        Listing::Scenarios => (listing::scenarios()?, "Run one with `tailcut run NAME`."),
        Listing::Reproductions => (
            reproductions(),
            "Compare one with its paper: `tailcut reproduce NAME`.",
        ),
        Listing::Keys => (
            listing::keys(),
            "Use one in a scenario's file, or with --set KEY=VALUE. See docs/scenario.md.",
        ),
    };
    if arguments.json.json {
        return print_json(&items.iter().map(ListedName::to_json).collect::<Vec<_>>());
    }
    print(&table(&items, hint))
}

fn table(items: &[ListedName], hint: &str) -> String {
    let width = items
        .iter()
        .map(|item| item.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    let mut group = "";
    for item in items {
        if item.part != group {
            group = item.part;
            text.push_str(&format!("{group}:\n"));
        }
        let indent = if group.is_empty() { "" } else { "  " };
        text.push_str(&format!("{indent}{:width$}  {}\n", item.name, item.about));
    }
    text.push_str(&format!("\n{hint}\n"));
    text
}

fn reproductions() -> Vec<ListedName> {
    let all = tailcut_reproduce::ALL.iter();
    all.map(|one| ListedName::new("", one.name, one.title))
        .collect()
}
