//! Test that `docs/output.md` describes the columns of all tables.

use std::fs;
use tailcut_record::{Data, RunKey, RunRecord, TableKind};

/// Returns the columns that the section of a table describes, in order: the name and the first words of the type.
fn documented(page: &str, table: &str) -> Vec<(String, String)> {
    let heading = format!("\n## {table}\n");
    let (_, section) = page.split_once(&heading).expect("a section for the table");
    let section = section.split("\n## ").next().expect("a section");
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|row| {
        let cells: Vec<&str> = row.split(" | ").collect();
        let kind = cells[1].split(',').next().expect("a type").to_owned();
        let names = cells[0].trim_start_matches("| ").split(", ");
        names.map(move |name| (name.trim_matches('`').to_owned(), kind.clone()))
    })
    .collect()
}

#[test]
fn each_table_has_the_documented_columns_in_their_order() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/output.md");
    let page = fs::read_to_string(page).expect("the page");
    let run = RunRecord::new(RunKey::default());
    for &table in TableKind::ALL {
        let columns = table.of(&run).empty().columns;
        let described: Vec<_> = columns
            .into_iter()
            .map(|column| {
                let null = if column.is_optional { " or null" } else { "" };
                let kind = match &column.data {
                    Data::Integer(_) => "integer",
                    Data::Real(_) => "real",
                    Data::Text(_) => "text",
                };
                (column.name.into_owned(), format!("{kind}{null}"))
            })
            .collect();
        let mut documented = documented(&page, table.name());
        documented.retain(|(name, _)| name != "design");
        assert_eq!(described, documented, "{}", table.name());
    }
}
