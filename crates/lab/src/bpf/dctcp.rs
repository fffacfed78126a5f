//! DCTCP, registered with the kernel.

use super::btf::Btf;
use super::elf::{Links, Object};
use super::kernel::{Map, Operations};
use anyhow::{Context, Result, bail, ensure};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// What `bpf/build` makes of `bpf/dctcp.bpf.c`.
const OBJECT: &[u8] = include_bytes!("../../bpf/dctcp.bpf.o");
/// The structure whose members the programs are.
const STRUCTURE: &str = "tcp_congestion_ops";
/// The flag of congestion controls whose connections negotiate ECN (TCP_CONG_NEEDS_ECN).
const NEEDS_ECN: u32 = 2;
/// What the kernel knows it as; a number follows where that name is taken.
const NAME: &str = "tailcut_dctcp";
/// The last number that fits: the kernel's names have at most 15 characters.
const MOST_NAMES: u32 = 99;
/// 1 in the units of gain and alpha.
const ONE: u32 = 1 << 31;

/// DCTCP's parameters, in the resolution that the programs calculate in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    gain: u32,
    first_alpha: u32,
}

impl Parameters {
    /// `gain` is g of RFC 8257, 4.2, in (0, 1]; `first_alpha` the first estimate of how much is marked, in
    /// [0, 1]. What lies outside becomes the nearest inside.
    pub fn new(gain: f64, first_alpha: f64) -> Self {
        let units = |value: f64| (value.clamp(0.0, 1.0) * f64::from(ONE)).round() as u32;
        Self {
            gain: units(gain).max(1),
            first_alpha: units(first_alpha),
        }
    }

    /// The g of RFC 8257, 4.2.
    pub fn gain(&self) -> f64 {
        fraction(self.gain)
    }

    /// The estimate that a connection begins with.
    pub fn first_alpha(&self) -> f64 {
        fraction(self.first_alpha)
    }
}

fn fraction(units: u32) -> f64 {
    f64::from(units) / f64::from(ONE)
}

/// DCTCP in the kernel: connections of any network namespace can have it by its name. It goes when this is
/// dropped or this process dies; connections that have it keep it until they end.
#[derive(Debug)]
pub struct Dctcp {
    name: String,
    samples: Map,
    most_samples: u32,
    _link: OwnedFd,
}

impl Dctcp {
    /// Registers one under a name of its own.
    ///
    /// # Errors
    /// This process may not, or the kernel cannot.
    pub fn register(parameters: Parameters) -> Result<Self> {
        Self::register_sampled(parameters, 0)
    }

    /// Registers one that takes note of what its connections see and do, up to `most_samples` times in all.
    ///
    /// # Errors
    /// As [`Dctcp::register`].
    pub fn register_sampled(parameters: Parameters, most_samples: u32) -> Result<Self> {
        let kernel = Btf::of_kernel()?;
        let object = Object::parse(OBJECT)?;
        let constants = object.constants(&[
            ("gain", parameters.gain),
            ("first_alpha", parameters.first_alpha),
            ("most_samples", most_samples),
        ])?;
        let constants = Map::constants(&constants).context("bpf(2)")?;
        let entries = most_samples.saturating_add(1);
        let samples = Map::array("samples", SAMPLE, entries, 0).context("bpf(2)")?;
        let operations = Operations::of(&kernel, STRUCTURE)?;
        let mut structure = operations.empty();
        operations.set(&mut structure, "flags", &NEEDS_ECN.to_ne_bytes())?;
        let links = Links {
            kernel: &kernel,
            constants: constants.as_fd(),
            samples: samples.as_fd(),
        };
        let mut programs = Vec::new();
        for (member, code) in object.programs(&links)? {
            let program = operations.load(member, &code, object.licence()?);
            let program = program.with_context(|| format!("the kernel does not take {member}"))?;
            // The kernel takes a program's file where its own structure has a function.
            let file = program.as_raw_fd() as usize;
            operations.set(&mut structure, member, &file.to_ne_bytes())?;
            programs.push(program);
        }
        for number in 1..=MOST_NAMES {
            let name = match number {
                1 => NAME.to_owned(),
                _ => format!("{NAME}{number}"),
            };
            let mut text = [0; 16];
            text[..name.len()].copy_from_slice(name.as_bytes());
            operations.set(&mut structure, "name", &text)?;
            match operations.register(&structure) {
                Ok(link) => {
                    return Ok(Self {
                        name,
                        samples,
                        most_samples,
                        _link: link,
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).context("the kernel does not register it"),
            }
        }
        bail!("all names from {NAME} to {NAME}{MOST_NAMES} are taken")
    }

    /// The name that the kernel knows it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it has noted so far, in order of time.
    ///
    /// # Errors
    /// There was more than there is room for, or the system refuses.
    pub fn samples(&self) -> Result<Vec<Sample>> {
        // The first element counts.
        let taken = word(&self.samples.get(0)?, 1);
        ensure!(
            taken <= self.most_samples,
            "found {taken} samples; there is room for {}",
            self.most_samples
        );
        let samples = (1..=taken).map(|place| Ok(Sample::read(&self.samples.get(place)?)));
        samples.collect()
    }
}

/// What a connection has seen or done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Connections are numbered from 0.
    pub connection: u32,
    /// Its estimate of how much is marked, afterwards.
    pub alpha: f64,
    /// What it was.
    pub seen: Seen,
}

/// What a connection sees or does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Seen {
    /// An ACK of new data.
    Ack {
        /// Bytes that it acknowledges for the first time.
        acked: u32,
        /// Whether it carries ECN-Echo.
        is_marked: bool,
        /// The sequence number acknowledged now.
        una: u32,
        /// The sequence number of the next byte to send.
        nxt: u32,
    },
    /// A cut after a mark, or what it would be where the cut after a loss follows. In segments.
    Mark {
        /// The window before.
        window: f64,
        /// What is kept.
        kept: f64,
    },
    /// A cut after a loss, in segments.
    Loss {
        /// The window before.
        window: f64,
        /// Segments sent and not acknowledged.
        flight: u32,
        /// What is kept.
        kept: f64,
    },
}

/// Bytes of `struct sample` of the programs.
const SAMPLE: usize = 48;

/// A word of a sample, by its place.
fn word(bytes: &[u8], place: usize) -> u32 {
    let word = bytes.get(4 * place..4 * place + 4).unwrap_or_default();
    u32::from_ne_bytes(word.try_into().unwrap_or_default())
}

impl Sample {
    /// From `struct sample` of the programs.
    fn read(bytes: &[u8]) -> Self {
        let word = |place| word(bytes, place);
        let segments = |place: usize| {
            let units = bytes.get(place..place + 8).unwrap_or_default();
            u64::from_ne_bytes(units.try_into().unwrap_or_default()) as f64 / 65_536.0
        };
        let (window, kept) = (segments(32), segments(40));
        Self {
            connection: word(0),
            alpha: fraction(word(2)),
            seen: match word(1) {
                0 => Seen::Ack {
                    acked: word(3),
                    is_marked: word(4) != 0,
                    una: word(5),
                    nxt: word(6),
                },
                1 => Seen::Mark { window, kept },
                _ => Seen::Loss {
                    window,
                    flight: word(7),
                    kept,
                },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object as _, ObjectSection};
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn the_object_is_made_of_the_source_beside_it() {
        let object = object::File::parse(OBJECT).expect("an object");
        let carried = object.section_by_name(".source").expect("a source");
        let source = include_bytes!("../../bpf/dctcp.bpf.c");
        assert!(
            carried.data() == Ok(source),
            "crates/lab/bpf/dctcp.bpf.c has changed: run crates/lab/bpf/build"
        );
    }

    #[test]
    fn the_same_compiler_makes_the_same_object() {
        if Command::new("clang-14").arg("--version").output().is_err() {
            eprintln!("not checked: there is no clang-14");
            return;
        }
        let made = std::env::temp_dir().join(format!("dctcp-{}.bpf.o", std::process::id()));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf/build");
        let built = Command::new(script).arg(&made).status();
        let bytes = std::fs::read(&made);
        let _ = std::fs::remove_file(&made);
        assert!(built.expect("bash").success(), "crates/lab/bpf/build");
        assert!(
            bytes.expect("an object") == OBJECT,
            "crates/lab/bpf/build makes another object than the one beside it"
        );
    }
}
