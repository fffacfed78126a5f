//! SCDP over UDP sockets ("SCDP: Systematic Rateless Coding for Efficient Data Transport in Data Centres").
//! This crate runs the protocol [`tailcut_transport::scdp`] with a real clock and real sockets.
//!
//! - `check` (Linux): tests whether transfers to a host will work.
//! - [`codec`]: RaptorQ codes (RFC 6330) over real bytes.
//! - `files` (Linux): sources and sinks of data: files, trees and streams, split into slabs with hashes.
//! - `command` (Linux, with the feature of this name): the command line of `tailcut cast`.
//! - `driver` (Linux): endpoints that send and receive objects (the unit of a transfer, in bytes).
//! - `transfer` (Linux): transfers of files, trees and streams, made of objects of `driver`.
//! - [`seal`]: encryption with a pre-shared key, and address tokens.
//! - `udp` (Linux): batches of datagrams with ECN, DSCP, time stamps and segmentation offload.

#[cfg(target_os = "linux")]
pub mod check;
pub mod codec;
#[cfg(all(feature = "command", target_os = "linux"))]
pub mod command;
#[cfg(target_os = "linux")]
pub mod driver;
#[cfg(target_os = "linux")]
pub mod files;
pub mod seal;
#[cfg(target_os = "linux")]
pub mod transfer;
#[cfg(target_os = "linux")]
pub mod udp;
