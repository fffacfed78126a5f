//! Keys of ECMP.

use super::key::{Section, sets, typed};

/// Section with the keys of ECMP.
pub const ECMP: Section = Section {
    name: "ecmp",
    repeated: false,
    about: "ECMP, for designs that name no other routing.",
    keys: &[typed(
        "hash",
        sets!(settings.designs.ecmp_hash),
        "Hash by which switches choose the path of a flow. \"mixed\": all bits are well mixed, with a seed for each \
         switch. \"crc32\" and \"xor\" of addresses and ports: the hash is the same at every switch, and the path is \
         the remainder of a division. Ports p and p + 1 of a server then always share a path, or never do, if there \
         are 2, 4, 8, ... paths.",
    )],
};
