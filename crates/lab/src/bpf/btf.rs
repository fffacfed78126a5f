//! Reader of BTF, the kernel's description of its types and functions (Documentation/bpf/btf.rst).
//! The reader finds fields, enumeration values and functions by name.

use anyhow::{Context, Result, bail, ensure};

/// Kinds of types that the reader needs.
pub mod kind {
    pub const INT: u32 = 1;
    pub const POINTER: u32 = 2;
    pub const ARRAY: u32 = 3;
    pub const STRUCT: u32 = 4;
    pub const UNION: u32 = 5;
    pub const ENUM: u32 = 6;
    pub const TYPEDEF: u32 = 8;
    pub const VOLATILE: u32 = 9;
    pub const CONST: u32 = 10;
    pub const RESTRICT: u32 = 11;
    pub const FUNCTION: u32 = 12;
    pub const PROTOTYPE: u32 = 13;
    pub const VARIABLE: u32 = 14;
    pub const SECTION: u32 = 15;
    pub const DECLARATION_TAG: u32 = 17;
    pub const TYPE_TAG: u32 = 18;
    pub const ENUM_64: u32 = 19;
}

const MAGIC: u16 = 0xeb9f;
/// Length of the header in bytes.
const HEADER: usize = 24;
/// Length in bytes of the header with which each type starts.
const TYPE: usize = 12;
/// Maximum number of nested typedefs, qualifiers and arrays around a type.
const MOST_HIDING: u32 = 32;

/// Parsed BTF. Its types have the numbers 1, 2, and so on.
#[derive(Debug)]
pub struct Btf {
    data: Vec<u8>,
    /// Offset of each type in `data`.
    types: Vec<usize>,
    /// Offset of the names in `data`.
    names: usize,
}

/// Member of a structure or union.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member<'b> {
    /// Name; empty if the member has none.
    pub name: &'b str,
    /// Number of the member's type.
    pub of: u32,
    /// Offset of the member in bits.
    pub bit_offset: u32,
    /// Whether the member is a bit field. The size of a bit field differs from the size of its type.
    pub is_bit_field: bool,
}

impl Btf {
    /// Reads the BTF of the running kernel.
    ///
    /// # Errors
    /// The kernel does not provide BTF.
    pub fn of_kernel() -> Result<Self> {
        let path = "/sys/kernel/btf/vmlinux";
        let data = std::fs::read(path).with_context(|| {
            format!("cannot read {path}, which exists in kernels with CONFIG_DEBUG_INFO_BTF")
        })?;
        Self::parse(data).context(path)
    }

    /// Parses BTF.
    ///
    /// # Errors
    /// The data are not BTF, or they contain an unknown kind of type.
    pub fn parse(data: Vec<u8>) -> Result<Self> {
        let mut btf = Self {
            data,
            types: Vec::new(),
            names: 0,
        };
        ensure!(
            btf.data.len() >= HEADER && btf.word(0) & 0xffff == u32::from(MAGIC),
            "found no BTF in this machine's byte order"
        );
        let header = btf.word(4) as usize;
        let part = |place: usize| header.checked_add(btf.word(place) as usize);
        let (from, names) = part(8).zip(part(16)).context("the BTF is too long")?;
        let end = from.saturating_add(btf.word(12) as usize);
        let last = names.saturating_add(btf.word(20) as usize);
        ensure!(end.max(last) <= btf.data.len(), "the BTF is truncated");
        let (mut types, mut at) = (Vec::new(), from);
        while at + TYPE <= end {
            types.push(at);
            let (kind, count) = btf.shape(at);
            let more = match kind {
                kind::INT | kind::VARIABLE | kind::DECLARATION_TAG => 4,
                kind::ARRAY => 12,
                kind::STRUCT | kind::UNION | kind::SECTION | kind::ENUM_64 => 12 * count,
                kind::ENUM | kind::PROTOTYPE => 8 * count,
                0 | 20.. => bail!("found a type of kind {kind}; known: 1 to 19"),
                _ => 0,
            };
            at += TYPE + more;
        }
        ensure!(at == end, "the last type is truncated");
        btf.types = types;
        btf.names = names;
        Ok(btf)
    }

    /// Returns the word at an offset in `data`.
    /// Returns 0 if the offset is after the end of the data, because of an invalid type number.
    fn word(&self, at: usize) -> u32 {
        let bytes = self.data.get(at..at + 4);
        bytes.map_or(0, |bytes| {
            u32::from_ne_bytes(bytes.try_into().unwrap_or_default())
        })
    }

    /// Returns the name at an offset in the section of names. The name is empty if there is none.
    pub fn name_at(&self, offset: u32) -> &str {
        let rest = self.data.get(self.names.saturating_add(offset as usize)..);
        let name = rest.and_then(|rest| rest.split(|byte| *byte == 0).next());
        std::str::from_utf8(name.unwrap_or_default()).unwrap_or_default()
    }

    /// Returns the kind of the type at an offset in `data`, and the number of the type's members.
    fn shape(&self, at: usize) -> (u32, usize) {
        let shape = self.word(at + 4);
        (shape >> 24 & 0x1f, shape as usize & 0xffff)
    }

    /// Returns the offset of a type in `data`. Returns the length of `data` if the type does not exist.
    fn place(&self, of: u32) -> usize {
        let index = (of as usize).wrapping_sub(1);
        self.types.get(index).copied().unwrap_or(self.data.len())
    }

    /// Returns the kind of a type. Returns 0 if the type does not exist.
    pub fn kind(&self, of: u32) -> u32 {
        self.shape(self.place(of)).0
    }

    /// Returns the name of a type. The name is empty if the type has none.
    pub fn name(&self, of: u32) -> &str {
        self.name_at(self.word(self.place(of)))
    }

    /// Returns the third word of a type.
    /// Depending on the kind of the type, this word is a size in bytes or the number of another type.
    fn size_or_type(&self, of: u32) -> u32 {
        self.word(self.place(of) + 8)
    }

    /// Returns the types with this kind and name.
    pub fn find(&self, kind: u32, name: &str) -> impl Iterator<Item = u32> {
        let all = 1..=self.types.len() as u32;
        all.filter(move |of| self.kind(*of) == kind && self.name(*of) == name)
    }

    /// Returns the type that remains after all typedefs and qualifiers are removed.
    pub fn bare(&self, mut of: u32) -> u32 {
        for _ in 0..MOST_HIDING {
            match self.kind(of) {
                kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG => {
                    of = self.size_or_type(of)
                }
                _ => break,
            }
        }
        of
    }

    /// Returns the type of an array's elements; `None` for other types.
    pub fn element(&self, array: u32) -> Option<u32> {
        let array = self.bare(array);
        (self.kind(array) == kind::ARRAY).then(|| self.word(self.place(array) + TYPE))
    }

    /// Returns the size of a type in bytes; `None` for a type without a size.
    pub fn size(&self, of: u32) -> Option<u32> {
        let (mut of, mut count) = (of, 1u32);
        for _ in 0..MOST_HIDING {
            of = self.bare(of);
            let one = match self.kind(of) {
                kind::INT | kind::STRUCT | kind::UNION | kind::ENUM | kind::ENUM_64 => {
                    self.size_or_type(of)
                }
                kind::POINTER => size_of::<usize>() as u32,
                kind::ARRAY => {
                    count = count.checked_mul(self.word(self.place(of) + TYPE + 8))?;
                    of = self.element(of)?;
                    continue;
                }
                _ => return None,
            };
            return count.checked_mul(one);
        }
        None
    }

    /// Returns the members of a structure or union. The iterator is empty for other types.
    pub fn members(&self, of: u32) -> impl Iterator<Item = Member<'_>> {
        let of = self.bare(of);
        let at = self.place(of);
        let (kind, count) = self.shape(at);
        let count = if matches!(kind, kind::STRUCT | kind::UNION) {
            count
        } else {
            0
        };
        // If bit 31 is set, the offset word contains the size of a bit field in its upper eight bits.
        let has_bit_fields = self.word(at + 4) >> 31 == 1;
        (0..count).map(move |member| {
            let at = at + TYPE + 12 * member;
            let place = self.word(at + 8);
            Member {
                name: self.name_at(self.word(at)),
                of: self.word(at + 4),
                bit_offset: if has_bit_fields {
                    place & 0xff_ffff
                } else {
                    place
                },
                is_bit_field: has_bit_fields && place >> 24 != 0,
            }
        })
    }

    /// Returns the names and values of an enumeration. The iterator is empty for other types.
    pub fn values(&self, of: u32) -> impl Iterator<Item = (&str, u64)> {
        let at = self.place(self.bare(of));
        let (kind, count) = self.shape(at);
        let is_signed = self.word(at + 4) >> 31 == 1;
        let width = match kind {
            kind::ENUM => 8,
            kind::ENUM_64 => 12,
            _ => 0,
        };
        let count = if width == 0 { 0 } else { count };
        (0..count).map(move |value| {
            let at = at + TYPE + width * value;
            let low = self.word(at + 4);
            let value = match (kind, is_signed) {
                (kind::ENUM_64, _) => u64::from(self.word(at + 8)) << 32 | u64::from(low),
                (_, true) => i64::from(low as i32) as u64,
                (_, false) => low.into(),
            };
            (self.name_at(self.word(at)), value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object as _, ObjectSection};

    /// Returns the BTF of the object file.
    fn own_btf() -> Vec<u8> {
        let object = object::File::parse(&include_bytes!("../../bpf/dctcp.bpf.o")[..]);
        let object = object.expect("an object");
        let section = object.section_by_name(".BTF").expect("BTF");
        section.data().expect("data").to_vec()
    }

    #[test]
    fn types_are_found_by_their_names_with_what_is_in_them() {
        let btf = Btf::parse(own_btf()).expect("BTF");
        let tcp = btf.find(kind::STRUCT, "tcp_sock").next().expect("a type");
        let first: Vec<Member<'_>> = btf.members(tcp).take(2).collect();
        assert_eq!(first[0].name, "inet_conn");
        assert_eq!(btf.size(first[0].of), Some(112));
        assert_eq!((first[1].name, first[1].bit_offset), ("snd_una", 112 * 8));
        assert_eq!(
            btf.size(first[1].of),
            Some(4),
            "the size of u32 behind the typedef __u32"
        );
        let events = btf.find(kind::ENUM, "tcp_ca_event").next();
        let values: Vec<(&str, u64)> = btf.values(events.expect("a type")).collect();
        assert!(values.contains(&("CA_EVENT_LOSS", 3)), "{values:?}");
        assert_eq!(btf.kind(0), 0);
        assert_eq!(btf.name(u32::MAX), "");
    }

    #[test]
    fn a_part_of_it_is_refused_and_damage_stops_nothing() {
        let whole = own_btf();
        for length in 0..whole.len() {
            assert!(Btf::parse(whole[..length].to_vec()).is_err(), "{length}");
        }
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 0xff;
            if let Ok(btf) = Btf::parse(damaged) {
                for of in 0..100 {
                    let _ = (btf.size(of), btf.name(of), btf.values(of).count());
                    let sizes = btf.members(of).map(|member| btf.size(member.of));
                    let _ = sizes.collect::<Vec<_>>();
                }
            }
        }
    }
}
