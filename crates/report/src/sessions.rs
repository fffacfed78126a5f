//! Storage sessions of clients that both write and read: the answer is first about all sessions, then about each kind.

use crate::group::Group;
use crate::headline::headline_group;
use crate::study::Study;

/// Returns the kinds of sessions that have separate figures. Empty if there is only one kind.
pub(crate) fn kinds(study: &Study, setting: usize) -> Vec<Group> {
    let analysis = study.analysis();
    match headline_group(analysis, setting) == Group::sessions() {
        true => Group::kinds_of_sessions().to_vec(),
        false => Vec::new(),
    }
}
