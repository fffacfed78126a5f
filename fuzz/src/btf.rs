//! Target for the types of a kernel.

use tailcut_lab::bpf::Btf;

/// Number of types that are looked at, at most.
const TYPES: u32 = 64;
/// Kinds of structures, unions, enumerations and functions.
const NAMED: [u32; 5] = [4, 5, 6, 12, 19];

/// Reads BTF, and all of its first types.
///
/// # Panics
/// If a type has more members or values than the input has bytes, or if a type that was found by its name has another
/// one.
pub fn btf(bytes: &[u8]) {
    let Ok(read) = Btf::parse(bytes.to_vec()) else {
        return;
    };
    for of in 0..TYPES {
        let name = read.name(of);
        let _ = (read.size(of), read.bare(of), read.element(of));
        let members = read.members(of).map(|member| read.size(member.of));
        assert!(members.count() <= bytes.len());
        assert!(read.values(of).count() <= bytes.len());
        for kind in NAMED {
            let found = read.find(kind, name).take(4);
            assert!(found.into_iter().all(|found| read.name(found) == name));
        }
    }
}
