//! `tailcut cast serve`.

use super::address;
use super::common::{Access, Failed, Told};
use super::send::Chosen;
use crate::files::Source;
use crate::transfer::{self, Event};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Base-2 logarithm of the bytes of a slab. Slabs are small, so that a slow replica delays only
/// little data.
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
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<(), Failed> {
    let endpoint = arguments.access.open(arguments.listen)?;
    let mut source = arguments.what.open(&arguments.path, SLAB_LOG2, tell)?;
    let root = source.root()?;
    let what = arguments.path.display().to_string();
    tell(Told::Serving {
        what: &what,
        root: root.to_string(),
        at: endpoint.local(),
    });
    let mut on_event = |event: Event| {
        if let Event::Joined(peer) = event {
            tell(Told::Joined { peer });
        }
    };
    let served = transfer::serve(&endpoint, Box::new(source), root, stop, &mut on_event);
    Ok(served?)
}
