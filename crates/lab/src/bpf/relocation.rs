//! Relocations that adapt programs to the running kernel ("CO-RE").
//! A relocation inserts the offset of a field or the value of an enumeration into an instruction.
//! Clang writes the relocations to the section `.BTF.ext`.

use super::btf::{Btf, kind};
use super::kernel::Instruction;
use anyhow::{Context, Result, bail, ensure};

/// Kinds of relocations in the object (enum bpf_core_relo_kind).
const FIELD_BYTE_OFFSET: u32 = 0;
const ENUM_VALUE: u32 = 11;

/// Classes of instructions. The lowest three bits of the operation code contain the class.
const CLASS: u8 = 0x07;
const LOAD_WIDE: u8 = 0x00;
const LOAD: u8 = 0x01;
const STORE: u8 = 0x02;
const STORE_REGISTER: u8 = 0x03;
const ALU: u8 = 0x04;
const ALU_64: u8 = 0x07;

/// Relocation: describes the part of an instruction whose value depends on the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relocation {
    /// Index of the instruction in its section.
    pub instruction: usize,
    kind: u32,
    /// Number of the type in the object's own BTF at which the access path starts.
    root: u32,
    /// Access path: indices of members and array elements, such as `0:1:2`. The path starts at the type `root`.
    path: String,
}

impl Relocation {
    /// Returns the relocations of a section of programs, from an object's `.BTF.ext`.
    ///
    /// # Errors
    /// The data are damaged.
    pub fn of_section(ext: &[u8], own: &Btf, section: &str) -> Result<Vec<Self>> {
        let word = |at: usize| -> Result<u32> {
            let bytes = ext.get(at..at + 4).context(".BTF.ext is truncated")?;
            Ok(u32::from_ne_bytes(bytes.try_into()?))
        };
        let header = word(4)? as usize;
        let (mut at, length) = (header + word(24)? as usize, word(28)? as usize);
        let end = at + length;
        let size = word(at)? as usize;
        ensure!(size >= 16, ".BTF.ext: found relocations of {size} bytes");
        at += 4;
        let mut found = Vec::new();
        while at < end {
            let is_asked = own.name_at(word(at)?) == section;
            let count = word(at + 4)? as usize;
            at += 8;
            for record in (0..count).map(|record| at + record * size) {
                let relocation = Self {
                    instruction: word(record)? as usize / size_of::<Instruction>(),
                    root: word(record + 4)?,
                    path: own.name_at(word(record + 8)?).to_owned(),
                    kind: word(record + 12)?,
                };
                if is_asked {
                    found.push(relocation);
                }
            }
            at += count * size;
        }
        Ok(found)
    }

    /// Replaces the variable part of the instruction with the value for the running kernel.
    ///
    /// # Errors
    /// The kernel has no such field or value, or its size differs from the size in the program.
    pub fn apply(&self, code: &mut [Instruction], own: &Btf, kernel: &Btf) -> Result<()> {
        let next = self.instruction + 1;
        let (code, rest) = code.split_at_mut(next.min(code.len()));
        let instruction = code.last_mut().context("no such instruction")?;
        match self.kind {
            FIELD_BYTE_OFFSET => {
                let (name, steps) = self.steps(own)?;
                let field = field(kernel, &name, &steps)?;
                instruction
                    .set_field(&field)
                    .with_context(|| format!("struct {name}: field {}", steps.join(".")))
            }
            ENUM_VALUE => {
                let value = self.value(own, kernel)?;
                let wide = instruction.code & CLASS == LOAD_WIDE;
                instruction.value = value as u32 as i32;
                match rest.first_mut() {
                    Some(second) if wide => second.value = (value >> 32) as i32,
                    _ if wide => bail!("an instruction lacks its second half"),
                    _ => {}
                }
                Ok(())
            }
            kind => {
                bail!("found a relocation of kind {kind}; known: {FIELD_BYTE_OFFSET}, {ENUM_VALUE}")
            }
        }
    }

    /// Returns the name of the structure, and the member names and element indices that lead to the field.
    fn steps(&self, own: &Btf) -> Result<(String, Vec<String>)> {
        let mut of = own.bare(self.root);
        let name = own.name(of).to_owned();
        let mut indices = self.path.split(':').map(str::parse::<usize>);
        ensure!(
            indices.next() == Some(Ok(0)),
            "found an access to an array of {name}"
        );
        let mut steps = Vec::new();
        for index in indices {
            let index = index?;
            let step = match own.element(of) {
                Some(element) => {
                    of = element;
                    index.to_string()
                }
                None => {
                    let member = own.members(of).nth(index).context("no such member")?;
                    of = own.bare(member.of);
                    member.name.to_owned()
                }
            };
            // Members without a name are left out of the path, because the running kernel may nest them differently.
            if !step.is_empty() {
                steps.push(step);
            }
        }
        Ok((name, steps))
    }

    /// Returns the value of a named enumerator in the running kernel.
    fn value(&self, own: &Btf, kernel: &Btf) -> Result<u64> {
        let index: usize = self.path.parse()?;
        let name = own.name(own.bare(self.root));
        let value = own.values(self.root).nth(index).context("no such value")?.0;
        let values = kernel.find(kind::ENUM, name);
        let mut values = values.flat_map(|found| kernel.values(found));
        let found = values.find(|(found, _)| *found == value);
        let found = found.with_context(|| format!("this kernel has no {value} in enum {name}"))?;
        Ok(found.1)
    }
}

/// Field of the running kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Field {
    /// Offset of the field in the structure, in bytes.
    offset: u32,
    /// Size of the field in bytes; `None` for a structure, union or array: a program accesses only a part of it.
    size: Option<u32>,
}

/// Returns a field of a structure of the running kernel. `steps` are the names and indices that lead to the field.
fn field(kernel: &Btf, name: &str, steps: &[String]) -> Result<Field> {
    let structures = kernel.find(kind::STRUCT, name);
    let mut found = structures.filter_map(|structure| walk(kernel, structure, steps));
    let missing = || format!("this kernel has no {} in struct {name}", steps.join("."));
    let first = found.next().with_context(missing)?;
    ensure!(
        found.all(|other| other == first),
        "this kernel has several struct {name}"
    );
    Ok(first)
}

fn walk(kernel: &Btf, structure: u32, steps: &[String]) -> Option<Field> {
    let (mut of, mut bits) = (structure, 0u32);
    for step in steps {
        match kernel.element(of) {
            Some(element) => {
                let index: u32 = step.parse().ok()?;
                let length = index.checked_mul(kernel.size(element)?)?;
                bits = bits.checked_add(length.checked_mul(8)?)?;
                of = element;
            }
            None => {
                let (at, member) = member(kernel, of, step, 0)?;
                bits = bits.checked_add(at)?;
                of = member;
            }
        }
    }
    let is_made_up = matches!(
        kernel.kind(kernel.bare(of)),
        kind::ARRAY | kind::STRUCT | kind::UNION
    );
    (bits % 8 == 0).then(|| Field {
        offset: bits / 8,
        size: kernel.size(of).filter(|_| !is_made_up),
    })
}

/// Maximum nesting depth of structures without names.
const MOST_NESTED: u32 = 16;

/// Returns the offset of a named member in bits, and its type.
/// Members of a nested structure without a name count as members of the outer structure.
fn member(kernel: &Btf, structure: u32, name: &str, depth: u32) -> Option<(u32, u32)> {
    kernel.members(structure).find_map(|found| {
        if found.name == name {
            (!found.is_bit_field).then_some((found.bit_offset, found.of))
        } else if found.name.is_empty() && depth < MOST_NESTED {
            let (at, of) = member(kernel, found.of, name, depth + 1)?;
            Some((found.bit_offset.checked_add(at)?, of))
        } else {
            None
        }
    })
}

impl Instruction {
    fn set_field(&mut self, field: &Field) -> Result<()> {
        match self.code & CLASS {
            LOAD | STORE | STORE_REGISTER => {
                let accessed = match self.code & 0x18 {
                    0x00 => 4,
                    0x08 => 2,
                    0x10 => 1,
                    _ => 8,
                };
                let size = field.size.unwrap_or(accessed);
                ensure!(
                    size == accessed,
                    "found a field of {size} bytes; the program accesses {accessed} bytes"
                );
                self.offset = field
                    .offset
                    .try_into()
                    .context("the offset of the field is too large")?;
            }
            ALU | ALU_64 => self.value = field.offset.try_into()?,
            class => bail!("found a field in an instruction of class {class}"),
        }
        Ok(())
    }
}
