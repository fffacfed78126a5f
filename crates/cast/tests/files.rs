//! Tests of files, trees and streams. The slabs go from a source to a sink without a network.
#![cfg(target_os = "linux")]

#[path = "files/common.rs"]
mod common;
#[path = "files/golden.rs"]
mod golden;
#[path = "files/hostile.rs"]
mod hostile;
#[path = "files/kill.rs"]
mod kill;
#[path = "files/receive.rs"]
mod receive;
#[path = "files/resume.rs"]
mod resume;
#[path = "files/send.rs"]
mod send;
#[path = "files/stream.rs"]
mod stream;
#[path = "files/tree.rs"]
mod tree;
