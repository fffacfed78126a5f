//! Tests of transfers from end to end over UDP sockets of this machine.

#[cfg(target_os = "linux")]
#[path = "files/common.rs"]
#[allow(dead_code)]
mod common;
#[cfg(target_os = "linux")]
#[path = "transfer/mod.rs"]
mod transfer;
