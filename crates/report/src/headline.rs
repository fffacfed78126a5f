//! What the answer is about.

use crate::analysis::Analysis;
use crate::group::Group;

/// The group that the answer is about.
pub(crate) fn headline_group(analysis: &Analysis, setting: usize) -> Group {
    let mut groups = Group::of_applications().into_iter().chain([Group::mice()]);
    let here = |group: &Group| analysis.rows(setting, group).next().is_some();
    groups.find(here).unwrap_or_else(Group::all)
}

/// What the group's flows are called in a sentence.
pub(crate) fn things_of(group: &Group) -> &'static str {
    match group.short.as_str() {
        "mice" => "mice",
        _ => group.things(),
    }
}
