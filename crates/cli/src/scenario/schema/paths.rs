//! The keys of switches that choose paths.

use super::Fallback::Is;
use super::{SPAN, Section, key};

/// LetFlow.
pub const LETFLOW: Section = Section {
    name: "letflow",
    repeated: false,
    about: "LetFlow, in designs that end in @letflow.",
    keys: &[key(
        "gap",
        SPAN,
        Is("500us"),
        "A flow that has sent nothing for longer than this begins a new flowlet, on a path drawn at \
         random (LetFlow paper).",
    )],
};
