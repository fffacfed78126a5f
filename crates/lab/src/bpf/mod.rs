//! DCTCP for kernels without it: a congestion control in BPF (`bpf/dctcp.bpf.c`), and its loader.
//! The congestion control stays registered with the kernel as long as the process that registered it lives.
//!
//! The loader supports only this object file and does not use libbpf. The module `elf` reads the object file.
//! `btf` and `relocation` find the fields of the running kernel that the programs use. `kernel` loads the programs.

mod btf;
mod dctcp;
mod elf;
mod kernel;
mod relocation;

pub use btf::{Btf, Member};
pub use dctcp::{Dctcp, Parameters, Sample, SampleEvent};
