//! DCTCP for kernels without it: a congestion control in BPF (`bpf/dctcp.bpf.c`), and its loader. The congestion
//! control stays registered with the kernel as long as the process that registered it lives.
//!
//! The loader supports only this one object and does not use libbpf. It reads the object (`elf`), finds the fields of
//! the running kernel that the programs use (`btf`, `relocation`), and loads the programs (`kernel`).

mod btf;
mod dctcp;
mod elf;
mod kernel;
mod relocation;

pub use dctcp::{Dctcp, Parameters, Sample, SampleEvent};
