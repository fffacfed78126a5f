//! Storage sessions of clients that both write and read. The answer describes all sessions together, and each kind.

use crate::group::Group;
use crate::headline::headline_group;
use crate::study::Study;

/// Returns the groups of sessions that have separate figures: writes and reads.
/// The list is empty with only one kind of sessions.
pub(crate) fn kinds(study: &Study, setting: usize) -> Vec<Group> {
    let analysis = study.analysis();
    match headline_group(analysis, setting) == Group::sessions() {
        true => Group::kinds_of_sessions().to_vec(),
        false => Vec::new(),
    }
}
