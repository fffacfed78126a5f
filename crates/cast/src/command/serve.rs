//! Command `tailcut cast serve`.

use super::address;
use super::common::{Access, CommandEvent, Failed};
use super::send::Chosen;
use crate::files::{Escaped, Source};
use crate::transfer::{self, Event};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Base-2 logarithm of the size of a slab in bytes. The slabs of a replica are small.
/// So a slow replica delays only little data.
const SLAB_LOG2: u8 = 20;

/// Flags of `tailcut cast serve`.
#[derive(Args, Debug)]
pub struct Serve {
    /// File or directory to serve
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Address to listen at: ADDRESS, ADDRESS:PORT or PORT; 0.0.0.0 or [::] for all interfaces
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7413", value_parser = address::listen)]
    listen: SocketAddr,
    #[command(flatten)]
    what: Chosen,
    #[command(flatten)]
    access: Access,
}

pub(super) fn execute(
    arguments: &Serve,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(CommandEvent<'_>),
) -> Result<(), Failed> {
    // The root is computed from all files, which takes a long time. So a wrong address is reported first.
    let endpoint = arguments.access.open(arguments.listen)?;
    let mut source = arguments.what.open(&arguments.path, SLAB_LOG2, notify)?;
    let root = source.root()?;
    let what = Escaped(&arguments.path).to_string();
    notify(CommandEvent::Serving {
        what: &what,
        root: root.to_string(),
        at: endpoint.local(),
    });
    let mut on_event = |event: Event| {
        if let Event::Joined(peer) = event {
            notify(CommandEvent::Joined { peer });
        }
    };
    let served = transfer::serve(&endpoint, Box::new(source), root, stop, &mut on_event);
    Ok(served?)
}
