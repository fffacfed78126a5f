//! Tests of complete transfers over UDP sockets, with both ends on this machine.

#[cfg(target_os = "linux")]
#[path = "files/common.rs"]
#[allow(dead_code)]
mod common;
#[cfg(target_os = "linux")]
#[path = "transfer/mod.rs"]
mod transfer;
