//! Storage sessions where clients both write and read: the answer is about all of them, and then about
//! each kind.

use crate::answer::headline_group;
use crate::group::Group;
use crate::study::Study;
use crate::table::Table;
use crate::tables;

/// The kinds of which there are figures beside those of all sessions together; none where there is one
/// kind.
pub(crate) fn kinds(study: &Study, setting: usize) -> Vec<Group> {
    let analysis = study.analysis();
    match headline_group(analysis, setting) == Group::sessions() {
        true => Group::kinds_of_sessions().to_vec(),
        false => Vec::new(),
    }
}

/// The headline's table for each kind.
pub(crate) fn tables(study: &Study, setting: usize) -> Vec<Table> {
    let kinds = kinds(study, setting);
    let tables = kinds.iter().filter_map(|group| {
        let table = tables::headline_of(study, setting, group)?;
        Some(Table {
            id: format!("{}-{}", table.id, group.short),
            ..table
        })
    });
    tables.collect()
}
