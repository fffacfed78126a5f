//! System call bpf(2) for the registration of a congestion control (include/uapi/linux/bpf.h).

use super::btf::{Btf, kind};
use anyhow::{Context, Result, bail};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Source register of an instruction that loads a map. Its number is the map's file descriptor (BPF_PSEUDO_MAP_FD).
pub const MAP: u8 = 1;
/// Source register of an instruction that loads the address of a value in a map (BPF_PSEUDO_MAP_VALUE).
/// The number in the instruction is the map's file descriptor.
pub const CONSTANT: u8 = 2;
/// Source register of a call to a kernel function. The call contains the function's number (BPF_PSEUDO_KFUNC_CALL).
/// [`CONSTANT`] has the same value, because calls and loads use separate sets of values.
pub const FUNCTION: u8 = 2;

/// Instruction of a BPF program, in the kernel's layout.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction {
    /// Operation code of the instruction.
    pub code: u8,
    /// Destination and source register, four bits each.
    registers: u8,
    /// Offset in bytes from the address in a register, or number of instructions to jump over.
    pub offset: i16,
    /// Constant operand of the instruction.
    pub value: i32,
}

impl Instruction {
    /// Parses the eight bytes of an instruction. Fewer bytes produce zeros.
    pub fn read(bytes: &[u8]) -> Self {
        let bytes: [u8; 8] = bytes.try_into().unwrap_or_default();
        Self {
            code: bytes[0],
            registers: bytes[1],
            offset: i16::from_le_bytes([bytes[2], bytes[3]]),
            value: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        }
    }

    /// Makes the instruction refer to a map or function by its number.
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
/// Flag of a map that programs may read but not write.
const READ_ONLY: u32 = 1 << 7;
/// Flag of a structure of operations that stays registered while its link is open. The link is a file descriptor.
const BY_LINK: u32 = 1 << 13;
const PROGRAM_STRUCT_OPS: u32 = 27;
const ATTACH_STRUCT_OPS: u32 = 44;

/// Part of `union bpf_attr` that the command [`Command::CreateMap`] reads.
/// In this structure and in the similar ones below, pointers are stored as numbers.
/// The kernel reads missing fields at the end as zeros.
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
    /// Index of the structure's member that the program implements.
    member: u32,
    btf_and_functions: [u32; 2],
    functions: u64,
    function_count_and_lines: [u32; 2],
    lines: u64,
    line_count: u32,
    /// Number of the structure's type in the kernel's BTF.
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

/// Executes a command of bpf(2).
///
/// # Safety
/// `attributes` must be the part of `union bpf_attr` that `command` reads, without padding inside.
/// Each address in `attributes` must point to memory of the length that the command expects.
/// The memory must stay valid during the call, and must be writable if the command writes to it.
unsafe fn bpf_call<T>(command: Command, attributes: &T) -> io::Result<i64> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of `attributes`, which is alive.
    // The caller guarantees the memory at the addresses in `attributes`.
    // The kernel does not keep the addresses in `attributes` after the call.
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

/// Executes a command of bpf(2) that returns a new file descriptor.
///
/// # Safety
/// The conditions of [`bpf_call`] apply. The command must return a new file descriptor.
unsafe fn make<T>(command: Command, attributes: &T) -> io::Result<OwnedFd> {
    // SAFETY: the caller guarantees the attributes. The new file descriptor has no other owner.
    unsafe {
        let file = bpf_call(command, attributes)?;
        Ok(OwnedFd::from_raw_fd(file as i32))
    }
}

fn number(file: impl AsFd) -> u32 {
    // The number of an open file is not negative.
    file.as_fd().as_raw_fd() as u32
}

fn name(text: &str) -> [u8; 16] {
    let mut name = [0; 16];
    for (place, byte) in name[..15].iter_mut().zip(text.bytes()) {
        *place = byte;
    }
    name
}

/// Map of BPF programs in the kernel.
#[derive(Debug)]
pub struct Map {
    file: OwnedFd,
    value_size: usize,
}

impl Map {
    /// Creates an array of zeros.
    ///
    /// # Errors
    /// The kernel rejects the call.
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

    /// Creates a map with one element that contains the constants of programs. The map is read-only afterwards.
    ///
    /// # Errors
    /// The kernel rejects a call.
    pub fn constants(value: &[u8]) -> io::Result<Self> {
        let map = Self::array("constants", value.len(), 1, READ_ONLY)?;
        map.set(value)?;
        let attributes = FreezeMap {
            map: number(&map.file),
        };
        // SAFETY: the command reads the number of a map, which is an open file. It reads no addresses.
        unsafe { bpf_call(Command::FreezeMap, &attributes)? };
        Ok(map)
    }

    fn create(attributes: &CreateMap) -> io::Result<Self> {
        Ok(Self {
            // SAFETY: `CreateMap` is the part that the command reads, and it contains no addresses.
            // The result is a new file descriptor.
            file: unsafe { make(Command::CreateMap, attributes)? },
            value_size: attributes.value_size as usize,
        })
    }

    /// Sets the first element of the map.
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
        // SAFETY: the kernel reads a `u32` (a key of the map) and `value`, whose length was checked above.
        // The key and the value live through the call.
        unsafe { bpf_call(Command::Update, &attributes).map(drop) }
    }

    /// Returns an element of an array by its index.
    ///
    /// # Errors
    /// The array has no such element.
    pub fn get(&self, place: u32) -> io::Result<Vec<u8>> {
        let mut value = vec![0u8; self.value_size];
        let attributes = Element {
            map: number(&self.file),
            key: std::ptr::from_ref(&place).addr() as u64,
            value: value.as_mut_ptr().expose_provenance() as u64,
            ..Element::default()
        };
        // SAFETY: the kernel reads a key of the map, which is a `u32`, and writes a value of the length of `value`.
        // The key and the value live through the call.
        unsafe { bpf_call(Command::LookUp, &attributes)? };
        Ok(value)
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Structure of the kernel whose members can be BPF programs.
#[derive(Debug)]
pub struct Operations<'a> {
    kernel: &'a Btf,
    /// Number of the structure's type in the kernel's BTF.
    of: u32,
    /// Number of the type of a map value that contains this structure.
    value: u32,
    /// Offset of this structure in the map value, in bytes.
    at: usize,
}

impl<'a> Operations<'a> {
    /// Finds the structure with this name.
    ///
    /// # Errors
    /// This kernel does not support BPF programs as members of this structure.
    pub fn of(kernel: &'a Btf, name: &str) -> Result<Self> {
        let wrapped = format!("bpf_struct_ops_{name}");
        let missing = || format!("this kernel does not support BPF programs for struct {name}");
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

    /// Returns a structure of zeros. The caller sets its members.
    pub fn empty(&self) -> Vec<u8> {
        vec![0; self.kernel.size(self.value).unwrap_or_default() as usize]
    }

    /// Sets a member in the bytes of a structure.
    ///
    /// # Errors
    /// The kernel's structure has no such member, or the member has a different size.
    pub fn set(&self, structure: &mut [u8], name: &str, value: &[u8]) -> Result<()> {
        let (_, member) = self.member(name)?;
        let size = self.kernel.size(member.of).map(|size| size as usize);
        let at = self.at + member.bit_offset as usize / 8;
        match structure.get_mut(at..at + value.len()) {
            Some(place) if size == Some(value.len()) => place.copy_from_slice(value),
            _ => bail!(
                "{name}: found {} bytes; allowed by this kernel: {size:?}",
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

    /// Loads a program that implements a member.
    ///
    /// # Errors
    /// The kernel has no such member, or it rejects the program. The error contains the end of the kernel's log.
    pub fn load(&self, member: &str, code: &[Instruction], licence: &[u8]) -> Result<OwnedFd> {
        if licence.last() != Some(&0) {
            bail!("the licence does not end with a zero byte");
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
        // SAFETY: the kernel reads `count` instructions of eight bytes each.
        // `Instruction` has this size (checked below).
        // The kernel also reads a licence up to its final zero (checked above).
        // The licence and the program live through the call.
        match unsafe { make(Command::LoadProgram, &attributes) } {
            Ok(program) => return Ok(program),
            // The kernel writes no log for a process without the privilege, so a second attempt would not help.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(error.into());
            }
            Err(_) => {}
        }
        // Only a rejected program needs the log, which can be large.
        let mut log = vec![0u8; 1 << 20];
        attributes.log_level = 1;
        attributes.log_size = log.len() as u32;
        attributes.log = log.as_mut_ptr().expose_provenance() as u64;
        // SAFETY: the conditions of the first attempt above also apply here.
        // In addition, the kernel writes up to `log_size` bytes of `log`, which lives through the call.
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

    /// Registers a structure of operations. The registration ends when the returned file descriptor is closed.
    ///
    /// # Errors
    /// The kernel rejects a call. The error is `EEXIST` if the name of the congestion control is in use.
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
        // SAFETY: the command reads the number of a map, which is an open file. It reads no addresses.
        // The result is a new file descriptor.
        unsafe { make(Command::CreateLink, &attributes) }
    }
}

/// Loads a BTF with one type into the kernel.
/// The creation of a map of kernel structures requires a BTF, but the kernel ignores the contents of this BTF.
fn load_btf() -> io::Result<OwnedFd> {
    const NAMES: &[u8] = b"\0int\0";
    let mut data = Vec::new();
    let header_and_type: [u32; 10] = [
        0x0001_eb9f, // magic, version 1
        24,          // bytes of the header
        0,           // offset and length of the types
        16,
        16, // offset and length of the names
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
    // SAFETY: the kernel reads `size` bytes of `data`, which lives through the call. It writes no log.
    // The result is a new file descriptor.
    unsafe { make(Command::LoadBtf, &attributes) }
}

const _: () = assert!(size_of::<Instruction>() == 8);
const _: () = assert!(size_of::<CreateMap>() == 64 && size_of::<Element>() == 32);
const _: () = assert!(size_of::<LoadProgram>() == 112 && size_of::<LoadBtf>() == 32);
