//! DCTCP of our own for kernels that have none: a congestion control in BPF (`bpf/dctcp.bpf.c`), and what
//! loads it. It is there for as long as the process that has registered it.
//!
//! The loader does what this one object needs, without libbpf: it reads the object (`elf`), looks up
//! where the running kernel has the fields that the programs name (`btf`, `relocation`), and hands the
//! programs over (`kernel`).

mod btf;
mod dctcp;
mod elf;
mod kernel;
mod relocation;

pub use dctcp::{Dctcp, Parameters, Sample, Seen};
