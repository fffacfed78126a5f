//! Keys of ECMP.

use super::key::{Section, sets, typed};

/// ECMP.
pub const ECMP: Section = Section {
    name: "ecmp",
    repeated: false,
    about: "ECMP, where designs name no other routing.",
    keys: &[typed(
        "hash",
        sets!(settings.designs.ecmp_hash),
        "What switches hash a flow by. \"mixed\": all bits well mixed, with a seed a switch. \"crc32\" and \
         \"xor\" of addresses and ports: the same at every switch, and the path is the remainder, so that \
         ports p and p + 1 of a server take always or never the same of 2, 4, 8, ... paths.",
    )],
};
