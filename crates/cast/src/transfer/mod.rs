//! Transfers of files, trees and streams. They consist of objects of [`driver`](crate::driver).
//!
//! - [`send`]: offers a [`Source`](crate::files::Source) to one or several receivers.
//! - [`Listener`]: accepts offers of several senders, each into a [`Sink`](crate::files::Sink).
//! - [`serve`] and [`get`]: download of data by its root, from one or several replicas.
//!
//! The process of an end may restart during a transfer.
//! The new process does not know the session numbers of the old process and reports this.
//! A sender of files then offers the files again. [`get`] requests the missing slabs again.
//!
//! A receiver requests the slabs that it needs.
//! A receiver always requests several slabs ahead, so that the network is never idle.
//! Each message is one object. docs/wire/transfer.md describes the messages.
//!
//! ```
//! use std::sync::atomic::AtomicBool;
//! use tailcut_cast::driver::{Endpoint, Options};
//! use tailcut_cast::files::{FileSink, FileSource, ScanOptions, SinkOptions};
//! use tailcut_cast::transfer::{Listener, SendOptions, send};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (from, to) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let (file, copy) = (from.path().join("weights"), to.path().join("weights"));
//! std::fs::write(&file, [7; 100_000])?;
//! let loopback = "127.0.0.1:0".parse()?;
//! let (a, b) = (Endpoint::bind(loopback, &Options::default())?, Endpoint::bind(loopback, &Options::default())?);
//! let at = b.local();
//!
//! let receiver = std::thread::spawn(move || {
//!     let stop = AtomicBool::new(false);
//!     let mut listener = Listener::new(&b, &stop);
//!     let offered = listener.accept()?;
//!     let sink = Box::new(FileSink::new(to.path(), SinkOptions::default())?);
//!     let root = listener.receive(offered, sink, &mut |_| ())?;
//! #   drop(to);
//!     Ok::<_, tailcut_cast::transfer::Error>(root)
//! });
//! let source = FileSource::open(&file, &ScanOptions::default(), &mut |_| ())?;
//! let stop = AtomicBool::new(false);
//! let summary = send(&a, Box::new(source), &[at], SendOptions::default(), &stop, &mut |_| ())?;
//! assert!(summary.receivers[0].1.is_ok());
//! assert_eq!(Some(receiver.join().expect("a thread")?.root), summary.root);
//! # Ok(())
//! # }
//! ```

mod channel;
mod error;
mod fetch;
mod flights;
mod get;
mod group;
mod holder;
mod laggards;
mod message;
mod moves;
mod peer;
mod places;
mod progress;
mod proof;
mod queue;
mod reader;
mod receiver;
mod sender;
mod serve;

pub use error::Error;
pub use fetch::Taken;
pub use get::get;
pub use message::{Code, Footer, Hashes, Malformed, Message, Offer, ReceivedBytes};
pub use progress::{Event, Progress};
pub use receiver::{AT_ONCE, Arriving, Happened, Listener, Offered};
pub use sender::{SendOptions, Summary, send};
pub use serve::serve;
