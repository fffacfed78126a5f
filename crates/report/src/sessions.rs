//! Storage sessions where clients both write and read: the answer is about all of them, and then about
//! each kind.

use crate::group::Group;
use crate::headline::headline_group;
use crate::study::Study;

/// The kinds of which there are figures beside those of all sessions together; none where there is one
/// kind.
pub(crate) fn kinds(study: &Study, setting: usize) -> Vec<Group> {
    let analysis = study.analysis();
    match headline_group(analysis, setting) == Group::sessions() {
        true => Group::kinds_of_sessions().to_vec(),
        false => Vec::new(),
    }
}
