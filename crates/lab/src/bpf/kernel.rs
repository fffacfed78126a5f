//! The system call bpf(2), as far as it is needed to register a congestion control (include/uapi/linux/bpf.h).

use super::btf::{Btf, kind};
use anyhow::{Context, Result, bail};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// What an instruction's second register says of the number in it (BPF_PSEUDO_MAP_FD, .._MAP_VALUE,
/// .._KFUNC_CALL).
pub const MAP: u8 = 1;
pub const CONSTANT: u8 = 2;
pub const FUNCTION: u8 = 2;

/// An instruction of a program.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// What is done.
    pub code: u8,
    /// The registers, four bits each.
    registers: u8,
    /// Bytes from a register's address, or instructions to jump over.
    pub offset: i16,
    /// A constant.
    pub value: i32,
}

impl Instruction {
    /// From the eight bytes of an object; a jump to itself of fewer.
    pub fn read(bytes: &[u8]) -> Self {
        let bytes: [u8; 8] = bytes.try_into().unwrap_or_default();
        Self {
            code: bytes[0],
            registers: bytes[1],
            offset: i16::from_le_bytes([bytes[2], bytes[3]]),
            value: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        }
    }

    /// Makes it refer to a map or function by its number.
    pub fn refer(&mut self, kind: u8, number: i32) {
        self.registers = self.registers & 0x0f | kind << 4;
        self.value = number;
    }
}

#[derive(Clone, Copy)]
#[repr(u32)]
enum Command {
    CreateMap = 0,
    LookUp = 1,
    Update = 2,
    LoadProgram = 5,
    FreezeMap = 22,
    LoadBtf = 18,
    CreateLink = 28,
}

const MAP_ARRAY: u32 = 2;
const MAP_STRUCT_OPS: u32 = 26;
/// Programs may read the map, not write it.
const READ_ONLY: u32 = 1 << 7;
/// A structure of operations lives as long as its link, which is a file.
const BY_LINK: u32 = 1 << 13;
const PROGRAM_STRUCT_OPS: u32 = 27;
const ATTACH_STRUCT_OPS: u32 = 44;

/// What each command reads of `union bpf_attr`, with pointers as numbers. The kernel takes what lies behind
/// for zeros.
#[repr(C)]
#[derive(Default)]
struct CreateMap {
    kind: u32,
    key_size: u32,
    value_size: u32,
    entries: u32,
    flags: u32,
    inner_and_node: [u32; 2],
    name: [u8; 16],
    device: u32,
    btf: u32,
    key_type: u32,
    value_type: u32,
    kernel_value_type: u32,
}

#[repr(C)]
#[derive(Default)]
struct Element {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct LoadProgram {
    kind: u32,
    count: u32,
    code: u64,
    licence: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    version: u32,
    flags: u32,
    name: [u8; 16],
    device: u32,
    /// Which of the structure's members it is for.
    member: u32,
    btf_and_functions: [u32; 2],
    functions: u64,
    function_count_and_lines: [u32; 2],
    lines: u64,
    line_count: u32,
    /// The structure.
    structure: u32,
}

#[repr(C)]
#[derive(Default)]
struct LoadBtf {
    data: u64,
    log: u64,
    size: u32,
    log_size_and_level: [u32; 2],
    padding: u32,
}

#[repr(C)]
#[derive(Default)]
struct CreateLink {
    map: u32,
    target: u32,
    attach_to: u32,
    flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct FreezeMap {
    map: u32,
}

/// Asks the kernel.
///
/// # Safety
/// `attributes` is what `command` reads of `union bpf_attr`, without padding inside, and the addresses in it
/// are of memory that lives through the call and is as long, and writable where written to, as the command
/// takes it for.
unsafe fn ask<T>(command: Command, attributes: &T) -> io::Result<i64> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of `attributes`, which is alive; what it reads and
    // writes by the addresses in there the caller answers for. It keeps none of them after the call.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            command as libc::c_long,
            std::ptr::from_ref(attributes),
            size_of::<T>(),
        )
    };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(answer)
}

/// Asks the kernel for something that is a file of this process from then on.
///
/// # Safety
/// As [`ask`], for a command that answers with a new file.
unsafe fn make<T>(command: Command, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the caller answers for the attributes. The answer is a new file that nobody else has.
    unsafe {
        let file = ask(command, attributes)?;
        Ok(OwnedFd::from_raw_fd(file as i32))
    }
}

fn number(file: impl AsFd) -> u32 {
    // An open file's number is not negative.
    file.as_fd().as_raw_fd() as u32
}

fn name(text: &str) -> [u8; 16] {
    let mut name = [0; 16];
    for (place, byte) in name[..15].iter_mut().zip(text.bytes()) {
        *place = byte;
    }
    name
}

/// A map of the kernel's.
#[derive(Debug)]
pub struct Map {
    file: OwnedFd,
    value_size: usize,
}

impl Map {
    /// An array of zeros.
    ///
    /// # Errors
    /// What the system says.
    pub fn array(title: &str, value_size: usize, entries: u32, flags: u32) -> io::Result<Self> {
        let attributes = CreateMap {
            kind: MAP_ARRAY,
            key_size: size_of::<u32>() as u32,
            value_size: value_size as u32,
            entries,
            flags,
            name: name(title),
            ..CreateMap::default()
        };
        Self::create(&attributes)
    }

    /// Constants that nobody can change any more.
    ///
    /// # Errors
    /// What the system says.
    pub fn constants(value: &[u8]) -> io::Result<Self> {
        let map = Self::array("constants", value.len(), 1, READ_ONLY)?;
        map.set(value)?;
        let attributes = FreezeMap {
            map: number(&map.file),
        };
        // SAFETY: the command reads the number of a map, which is an open file; no addresses.
        unsafe { ask(Command::FreezeMap, &attributes)? };
        Ok(map)
    }

    fn create(attributes: &CreateMap) -> io::Result<Self> {
        Ok(Self {
            // SAFETY: `CreateMap` is what the command reads and has no addresses. The answer is a new file.
            file: unsafe { make(Command::CreateMap, attributes)? },
            value_size: attributes.value_size as usize,
        })
    }

    /// Sets the first element.
    fn set(&self, value: &[u8]) -> io::Result<()> {
        if value.len() != self.value_size {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let key = 0u32;
        let attributes = Element {
            map: number(&self.file),
            key: std::ptr::from_ref(&key).addr() as u64,
            value: value.as_ptr().addr() as u64,
            ..Element::default()
        };
        // SAFETY: the kernel reads a key of the map, which is a `u32`, and a value, as long as `value` is
        // (checked above). Both live through the call.
        unsafe { ask(Command::Update, &attributes).map(drop) }
    }

    /// The element at a place of an array.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&self, place: u32) -> io::Result<Vec<u8>> {
        let mut value = vec![0u8; self.value_size];
        let attributes = Element {
            map: number(&self.file),
            key: std::ptr::from_ref(&place).addr() as u64,
            value: value.as_mut_ptr().expose_provenance() as u64,
            ..Element::default()
        };
        // SAFETY: the kernel reads a key of the map, which is a `u32`, and writes a value of it, as long as
        // `value` is. Both live through the call.
        unsafe { ask(Command::LookUp, &attributes)? };
        Ok(value)
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// A structure of the kernel's whose members programs can be.
#[derive(Debug)]
pub struct Operations<'a> {
    kernel: &'a Btf,
    /// The structure.
    of: u32,
    /// What a map of such structures has as its value, and where the structure is in it, in bytes.
    value: u32,
    at: usize,
}

impl<'a> Operations<'a> {
    /// The structure of a name.
    ///
    /// # Errors
    /// No program can be a member of it in this kernel.
    pub fn of(kernel: &'a Btf, name: &str) -> Result<Self> {
        let wrapped = format!("bpf_struct_ops_{name}");
        let missing = || format!("this kernel takes no programs for struct {name}");
        let of = kernel.find(kind::STRUCT, name).next();
        let value = kernel.find(kind::STRUCT, &wrapped).next();
        let (of, value) = of.zip(value).with_context(missing)?;
        let mut members = kernel.members(value);
        let data = members.find(|member| member.name == "data");
        Ok(Self {
            kernel,
            of,
            value,
            at: data.with_context(missing)?.bit_offset as usize / 8,
        })
    }

    /// An empty structure, to be filled.
    pub fn empty(&self) -> Vec<u8> {
        vec![0; self.kernel.size(self.value).unwrap_or_default() as usize]
    }

    /// Sets a member.
    ///
    /// # Errors
    /// The kernel's structure has no such member, or one of another size.
    pub fn set(&self, structure: &mut [u8], name: &str, value: &[u8]) -> Result<()> {
        let (_, member) = self.member(name)?;
        let size = self.kernel.size(member.of).map(|size| size as usize);
        let at = self.at + member.bit_offset as usize / 8;
        match structure.get_mut(at..at + value.len()) {
            Some(place) if size == Some(value.len()) => place.copy_from_slice(value),
            _ => bail!(
                "{name}: found {} bytes; of this kernel: {size:?}",
                value.len()
            ),
        }
        Ok(())
    }

    fn member(&self, name: &str) -> Result<(usize, super::btf::Member<'_>)> {
        let mut members = self.kernel.members(self.of).enumerate();
        let member = members.find(|(_, member)| member.name == name);
        member.with_context(|| {
            format!(
                "this kernel has no {name} in struct {}",
                self.kernel.name(self.of)
            )
        })
    }

    /// Loads a program that is to be a member.
    ///
    /// # Errors
    /// The kernel has no such member or refuses the program; with the end of its reasons.
    pub fn load(&self, member: &str, code: &[Instruction], licence: &[u8]) -> Result<OwnedFd> {
        if licence.last() != Some(&0) {
            bail!("the licence has no end");
        }
        let mut attributes = LoadProgram {
            kind: PROGRAM_STRUCT_OPS,
            count: code.len().try_into()?,
            code: code.as_ptr().addr() as u64,
            licence: licence.as_ptr().addr() as u64,
            name: name(member),
            member: self.member(member)?.0.try_into()?,
            structure: self.of,
            ..LoadProgram::default()
        };
        // SAFETY: the kernel reads `count` instructions of eight bytes each, which is what `Instruction` is
        // (checked below), and a licence up to its end, a zero (checked above). All live through the call.
        match unsafe { make(Command::LoadProgram, &attributes) } {
            Ok(program) => return Ok(program),
            // Without the power to do so the kernel gives no reasons.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(error.into());
            }
            Err(_) => {}
        }
        let mut log = vec![0u8; 1 << 20];
        attributes.log_level = 1;
        attributes.log_size = log.len() as u32;
        attributes.log = log.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: as above; and the kernel writes up to `log_size` bytes of `log`, which lives through the
        // call.
        match unsafe { make(Command::LoadProgram, &attributes) } {
            Ok(program) => Ok(program),
            Err(error) => {
                let log = log.split(|byte| *byte == 0).next().unwrap_or_default();
                let log = String::from_utf8_lossy(log);
                let lines: Vec<&str> = log.lines().collect();
                let last = lines[lines.len().saturating_sub(8)..].join("\n");
                Err(error).context(last)
            }
        }
    }

    /// Registers a structure. It is there until what this gives is closed.
    ///
    /// # Errors
    /// What the system says; that it exists where its name is taken.
    pub fn register(&self, structure: &[u8]) -> io::Result<OwnedFd> {
        let btf = load_btf()?;
        let attributes = CreateMap {
            kind: MAP_STRUCT_OPS,
            key_size: size_of::<u32>() as u32,
            value_size: structure.len() as u32,
            entries: 1,
            flags: BY_LINK,
            btf: number(&btf),
            kernel_value_type: self.value,
            ..CreateMap::default()
        };
        let map = Map::create(&attributes)?;
        map.set(structure)?;
        let attributes = CreateLink {
            map: number(&map),
            attach_to: ATTACH_STRUCT_OPS,
            ..CreateLink::default()
        };
        // SAFETY: the command reads the number of a map, which is an open file; no addresses. The answer is
        // a new file.
        unsafe { make(Command::CreateLink, &attributes) }
    }
}

/// Gives the kernel a BTF with one type. A map of the kernel's structures has to come with some BTF; what is
/// in it does not matter.
fn load_btf() -> io::Result<OwnedFd> {
    const NAMES: &[u8] = b"\0int\0";
    let mut data = Vec::new();
    let header_and_type: [u32; 10] = [
        0x0001_eb9f, // magic, version 1
        24,          // bytes of the header
        0,           // where the types are, and how long
        16,
        16, // where the names are, and how long
        NAMES.len() as u32,
        1,            // the type's name
        1 << 24,      // an integer
        4,            // of four bytes
        1 << 24 | 32, // signed, 32 bits
    ];
    for word in header_and_type {
        data.extend_from_slice(&word.to_ne_bytes());
    }
    data.extend_from_slice(NAMES);
    let attributes = LoadBtf {
        data: data.as_ptr().addr() as u64,
        size: data.len() as u32,
        ..LoadBtf::default()
    };
    // SAFETY: the kernel reads `size` bytes of `data`, which lives through the call; it writes no log. The
    // answer is a new file.
    unsafe { make(Command::LoadBtf, &attributes) }
}

const _: () = assert!(size_of::<Instruction>() == 8);
const _: () = assert!(size_of::<CreateMap>() == 64 && size_of::<Element>() == 32);
const _: () = assert!(size_of::<LoadProgram>() == 112 && size_of::<LoadBtf>() == 32);
