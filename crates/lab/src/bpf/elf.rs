//! Reader of object files with BPF programs, as clang writes them.

use super::btf::{Btf, kind};
use super::kernel::{CONSTANT, FUNCTION, Instruction, MAP};
use super::relocation::Relocation;
use anyhow::{Context, Result, bail};
use object::elf::{FileHeader64, R_BPF_64_32, R_BPF_64_64, RelocationType};
use object::read::elf::{ElfFile, ElfSection};
use object::{
    LittleEndian, Object as _, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SymbolIndex,
};
use std::os::fd::{AsRawFd, BorrowedFd};

type File<'d> = ElfFile<'d, FileHeader64<LittleEndian>>;

/// Prefix of the names of sections that contain programs. The text after the prefix is the name of the operation.
const PROGRAMS: &str = "struct_ops/";
/// Section of the constants that the loader sets.
const CONSTANTS: &str = ".rodata";
const MAPS: &str = ".maps";

/// Parsed object file.
#[derive(Debug)]
pub struct Object<'d> {
    file: File<'d>,
    btf: Btf,
    ext: &'d [u8],
}

/// Kernel objects to which programs refer.
#[derive(Clone, Copy, Debug)]
pub struct Links<'a> {
    /// Types and functions of the running kernel.
    pub kernel: &'a Btf,
    /// Map that contains the constants of the programs.
    pub constants: BorrowedFd<'a>,
    /// Map with the name `samples`, which contains the recorded events.
    pub samples: BorrowedFd<'a>,
}

impl<'d> Object<'d> {
    /// Parses an object file.
    ///
    /// # Errors
    /// The file is damaged, or it has another byte order than this machine.
    pub fn parse(data: &'d [u8]) -> Result<Self> {
        let file = File::parse(data)?;
        let section = |name: &str| {
            let section = file.section_by_name(name);
            let section = section.with_context(|| format!("no section {name}"))?;
            Ok::<_, anyhow::Error>(section.data()?)
        };
        let (btf, ext) = (section(".BTF")?.to_vec(), section(".BTF.ext")?);
        Ok(Self {
            btf: Btf::parse(btf)?,
            ext,
            file,
        })
    }

    /// Returns the licence of the programs, which the kernel checks.
    ///
    /// # Errors
    /// The file contains no licence.
    pub fn licence(&self) -> Result<&'d [u8]> {
        self.section("license")
    }

    fn section(&self, name: &str) -> Result<&'d [u8]> {
        let section = self.file.section_by_name(name);
        let section = section.with_context(|| format!("the object has no section {name}"))?;
        Ok(section.data()?)
    }

    /// Returns the contents of the section of constants. `words` contains names of constants and the values to set.
    ///
    /// # Errors
    /// The object file has no constant with one of these names.
    pub fn constants(&self, words: &[(&str, u32)]) -> Result<Vec<u8>> {
        let mut constants = self.section(CONSTANTS)?.to_vec();
        for (name, value) in words {
            let mut symbols = self.file.symbols();
            let symbol = symbols.find(|symbol| symbol.name() == Ok(name));
            let at = symbol.map(|symbol| symbol.address() as usize);
            let place = at.and_then(|at| constants.get_mut(at..at + 4));
            let place = place.with_context(|| format!("the object has no constant {name}"))?;
            place.copy_from_slice(&value.to_ne_bytes());
        }
        Ok(constants)
    }

    /// Returns the programs of the object, each with the name of its operation.
    /// The programs are linked to the running kernel.
    ///
    /// # Errors
    /// The kernel lacks a field, value or function that a program uses.
    pub fn programs(&self, links: &Links<'_>) -> Result<Vec<(&'d str, Vec<Instruction>)>> {
        let mut programs = Vec::new();
        for section in self.file.sections() {
            let name = section.name()?;
            if let Some(operation) = name.strip_prefix(PROGRAMS) {
                let code = self.program(name, &section, links);
                programs.push((operation, code.with_context(|| operation.to_owned())?));
            }
        }
        Ok(programs)
    }

    fn program(
        &self,
        name: &str,
        section: &ElfSection<'d, '_, FileHeader64<LittleEndian>>,
        links: &Links<'_>,
    ) -> Result<Vec<Instruction>> {
        let data = section.data()?;
        let mut code: Vec<Instruction> = data
            .chunks_exact(size_of::<Instruction>())
            .map(Instruction::read)
            .collect();
        for (at, relocation) in section.relocations() {
            let (RelocationTarget::Symbol(symbol), RelocationFlags::Elf { r_type }) =
                (relocation.target(), relocation.flags())
            else {
                bail!("found a relocation of an unknown kind");
            };
            let at = at as usize / size_of::<Instruction>();
            self.link(&mut code, at, symbol, r_type, links)?;
        }
        for relocation in Relocation::of_section(self.ext, &self.btf, name)? {
            relocation.apply(&mut code, &self.btf, links.kernel)?;
        }
        Ok(code)
    }

    /// Changes an instruction so that it refers to the target of a symbol, such as a map or a kernel function.
    fn link(
        &self,
        code: &mut [Instruction],
        at: usize,
        symbol: SymbolIndex,
        r_type: RelocationType,
        links: &Links<'_>,
    ) -> Result<()> {
        let symbol = self.file.symbol_by_index(symbol)?;
        let name = symbol.name()?;
        let section = match symbol.section_index() {
            Some(section) => self.file.section_by_index(section)?.name()?,
            None => "",
        };
        let pair = code.get_mut(at..).unwrap_or_default();
        match (r_type, section, pair) {
            (R_BPF_64_64, CONSTANTS, [first, second, ..]) => {
                first.refer(CONSTANT, links.constants.as_raw_fd());
                second.value += i32::try_from(symbol.address())?;
            }
            (R_BPF_64_64, MAPS, [first, ..]) if name == "samples" => {
                first.refer(MAP, links.samples.as_raw_fd());
            }
            (R_BPF_64_32, "", [call, ..]) => {
                let function = links.kernel.find(kind::FUNCTION, name).next();
                let function = function.with_context(|| format!("this kernel has no {name}()"))?;
                call.refer(FUNCTION, function.try_into()?);
                call.offset = 0;
            }
            _ => bail!("found a relocation of kind {r_type:?} to {name} in {section:?}"),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    const OBJECT: &[u8] = include_bytes!("../../bpf/dctcp.bpf.o");

    /// Returns the BTF that the object file contains.
    fn own_btf() -> Vec<u8> {
        let object = Object::parse(OBJECT).expect("an object");
        object.section(".BTF").expect("BTF").to_vec()
    }

    /// Returns the programs of the object file, linked to a kernel with this BTF.
    fn programs(btf: Vec<u8>) -> Result<Vec<(&'static str, Vec<Instruction>)>> {
        let kernel = Btf::parse(btf)?;
        let file = std::fs::File::open("/dev/null")?;
        Object::parse(OBJECT)?.programs(&Links {
            kernel: &kernel,
            constants: file.as_fd(),
            samples: file.as_fd(),
        })
    }

    /// Returns the BTF of the object file with one name replaced.
    fn renamed(from: &str, to: &str) -> Vec<u8> {
        let mut btf = own_btf();
        // A zero byte precedes each name.
        // The search includes the zero byte, because the same text also occurs in source lines of the BTF.
        let name = format!("\0{from}");
        let place = btf
            .windows(name.len())
            .position(|found| found == name.as_bytes());
        let place = place.expect("it has the name") + 1;
        btf[place..place + from.len()].copy_from_slice(to.as_bytes());
        btf
    }

    #[test]
    fn a_kernel_like_the_source_gets_the_programs_as_they_were_compiled() {
        let compiled = Object::parse(OBJECT).expect("an object");
        let programs = programs(own_btf()).expect("programs");
        let names: Vec<&str> = programs.iter().map(|(name, _)| *name).collect();
        assert_eq!(
            names,
            [
                "init",
                "in_ack_event",
                "ssthresh",
                "set_state",
                "cwnd_event",
                "cong_avoid",
                "undo_cwnd"
            ]
        );
        for (name, code) in programs {
            let section = compiled
                .section(&format!("{PROGRAMS}{name}"))
                .expect("code");
            for (place, (ours, theirs)) in code.iter().zip(section.chunks_exact(8)).enumerate() {
                let theirs = Instruction::read(theirs);
                // The numbers of maps and functions differ, because they are known only when the programs are loaded.
                assert_eq!(
                    (ours.code, ours.offset),
                    (theirs.code, theirs.offset),
                    "{name} {place}"
                );
            }
        }
    }

    #[test]
    fn a_kernel_that_lacks_something_is_told_what() {
        for (from, to, said) in [
            ("snd_una", "snd_abc", "no snd_una in struct tcp_sock"),
            (
                "icsk_ack",
                "icsk_abc",
                "no inet_conn.icsk_ack.pending in struct tcp_sock",
            ),
            (
                "CA_EVENT_LOSS",
                "CA_EVENT_NONE",
                "no CA_EVENT_LOSS in enum tcp_ca_event",
            ),
            ("tcp_reno_cong", "tcp_reno_none", "no tcp_reno_cong_avoid()"),
        ] {
            let error = programs(renamed(from, to)).map(drop).expect_err(said);
            assert!(format!("{error:#}").ends_with(said), "{error:#}");
        }
    }
}
