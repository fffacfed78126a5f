//! DCTCP as a BPF congestion control, registered with the kernel.

use super::btf::Btf;
use super::elf::{Links, Object};
use super::kernel::{Map, Operations};
use anyhow::{Context, Result, bail, ensure};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Object file that `bpf/build` compiles from `bpf/dctcp.bpf.c`.
const OBJECT: &[u8] = include_bytes!("../../bpf/dctcp.bpf.o");
/// Structure of the kernel that contains the functions of a congestion control. The programs become its members.
const STRUCTURE: &str = "tcp_congestion_ops";
/// Flag of a congestion control whose connections negotiate ECN (TCP_CONG_NEEDS_ECN).
const NEEDS_ECN: u32 = 2;
/// Name of the congestion control in the kernel. If this name is in use, a number is appended.
const NAME: &str = "tailcut_dctcp";
/// Highest number that is appended to [`NAME`]. A name in the kernel has at most 15 characters.
const MOST_NAMES: u32 = 99;
/// Representation of the value 1 in gain and alpha, which are fixed-point numbers.
const ONE: u32 = 1 << 31;

/// Parameters of DCTCP, in the resolution that the BPF programs use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameters {
    gain: u32,
    first_alpha: u32,
}

impl Parameters {
    /// Creates parameters. `gain` is g of RFC 8257, 4.2, in (0, 1].
    /// `first_alpha` is the initial estimate of the marked share, in [0, 1].
    /// Values outside the allowed ranges are replaced by the nearest allowed value.
    pub fn new(gain: f64, first_alpha: f64) -> Self {
        let units = |value: f64| (value.clamp(0.0, 1.0) * f64::from(ONE)).round() as u32;
        Self {
            // The gain must be above 0.
            gain: units(gain).max(1),
            first_alpha: units(first_alpha),
        }
    }

    /// Returns g of RFC 8257, 4.2.
    pub fn gain(&self) -> f64 {
        fraction(self.gain)
    }

    /// Returns the initial estimate of the marked share.
    pub fn first_alpha(&self) -> f64 {
        fraction(self.first_alpha)
    }
}

fn fraction(units: u32) -> f64 {
    f64::from(units) / f64::from(ONE)
}

/// DCTCP that is registered with the kernel.
/// Connections in any network namespace can select this congestion control by name.
/// The kernel removes the registration when this value is dropped or this process ends.
/// Connections that already use DCTCP keep this DCTCP until they end.
#[derive(Debug)]
pub struct Dctcp {
    name: String,
    samples: Map,
    most_samples: u32,
    _link: OwnedFd,
}

impl Dctcp {
    /// Registers DCTCP under a unique name.
    ///
    /// # Errors
    /// This process lacks the privilege, or the kernel does not support congestion controls in BPF.
    pub fn register(parameters: Parameters) -> Result<Self> {
        Self::register_sampled(parameters, 0)
    }

    /// Registers DCTCP and records up to `most_samples` events, counted over all connections.
    ///
    /// # Errors
    /// The errors of [`Dctcp::register`].
    pub fn register_sampled(parameters: Parameters, most_samples: u32) -> Result<Self> {
        let kernel = Btf::of_kernel()?;
        let object = Object::parse(OBJECT)?;
        let constants = object.constants(&[
            ("gain", parameters.gain),
            ("first_alpha", parameters.first_alpha),
            ("most_samples", most_samples),
        ])?;
        let constants = Map::constants(&constants).context("bpf(2)")?;
        // The first element of the map counts the samples.
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
            let program =
                program.with_context(|| format!("the kernel rejects the program {member}"))?;
            // The kernel expects the program's file descriptor in place of a function pointer.
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
                Err(error) => return Err(error).context("the kernel rejects DCTCP"),
            }
        }
        bail!("all names from {NAME} to {NAME}{MOST_NAMES} are in use")
    }

    /// Returns the name of the congestion control in the kernel.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the samples in order of time.
    ///
    /// # Errors
    /// More samples were recorded than fit, or the kernel rejects a call.
    pub fn samples(&self) -> Result<Vec<Sample>> {
        // The first element contains the number of samples.
        let taken = word(&self.samples.get(0)?, 1);
        ensure!(
            taken <= self.most_samples,
            "found {taken} samples; at most {} fit",
            self.most_samples
        );
        let samples = (1..=taken).map(|place| Ok(Sample::read(&self.samples.get(place)?)));
        samples.collect()
    }
}

/// Recorded event of a connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Number of the connection, from 0.
    pub connection: u32,
    /// Estimate of the marked share after the event.
    pub alpha: f64,
    /// Kind of the event, with its values.
    pub event: SampleEvent,
}

/// Kind of a recorded event, with its values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SampleEvent {
    /// The sender has received an ACK of new data.
    Ack {
        /// Bytes acknowledged for the first time.
        acked: u32,
        /// Whether the ACK has the flag ECN-Echo.
        is_marked: bool,
        /// Sequence number that the ACK acknowledges.
        una: u32,
        /// Sequence number of the next byte to send.
        nxt: u32,
    },
    /// The window was reduced after a mark. A later reduction after a loss replaces this reduction.
    Mark {
        /// Window before the reduction, in segments.
        window: f64,
        /// Window after the reduction, in segments.
        kept: f64,
    },
    /// The window was reduced after a loss.
    Loss {
        /// Window before the reduction, in segments.
        window: f64,
        /// Segments that are sent but not acknowledged.
        flight: u32,
        /// Window after the reduction, in segments.
        kept: f64,
    },
}

/// Length of the programs' `struct sample` in bytes.
const SAMPLE: usize = 48;

/// Returns a 4-byte word of a sample by its index.
fn word(bytes: &[u8], place: usize) -> u32 {
    let word = bytes.get(4 * place..4 * place + 4).unwrap_or_default();
    u32::from_ne_bytes(word.try_into().unwrap_or_default())
}

impl Sample {
    /// Parses the programs' `struct sample`.
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
            event: match word(1) {
                0 => SampleEvent::Ack {
                    acked: word(3),
                    is_marked: word(4) != 0,
                    una: word(5),
                    nxt: word(6),
                },
                1 => SampleEvent::Mark { window, kept },
                _ => SampleEvent::Loss {
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
            "crates/lab/bpf/dctcp.bpf.c has changed; run crates/lab/bpf/build"
        );
    }

    #[test]
    fn the_same_compiler_makes_the_same_object() {
        if Command::new("clang-14").arg("--version").output().is_err() {
            eprintln!("not checked: clang-14 is missing");
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
            "crates/lab/bpf/build produces an object that differs from crates/lab/bpf/dctcp.bpf.o"
        );
    }
}
