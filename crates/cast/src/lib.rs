//! SCDP over UDP sockets ("SCDP: Systematic Rateless Coding for Efficient Data Transport in Data
//! Centres"): the driver of [`tailcut_transport::scdp`] under the wall clock.
//!
//! - `check` (Linux): whether transfers will get through to an end.
//! - [`codec`]: RaptorQ (RFC 6330) over real bytes.
//! - `files` (Linux): what is sent and received: files, trees and streams, cut into slabs with hashes.
//! - `command` (Linux, with the feature of this name): `tailcut cast`.
//! - `driver` (Linux): endpoints that send and receive objects.
//! - `transfer` (Linux): files, trees and streams from end to end, over objects of `driver`.
//! - [`seal`]: protection by a key that both ends have, and address tokens.
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
