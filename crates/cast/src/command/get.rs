//! Command `tailcut cast get`.

use super::address;
use super::common::{Access, CommandEvent, Failed, Watch, is_pipe};
use super::recv::Into;
use crate::files::{Escaped, Hash};
use crate::transfer::{self, Event};
use clap::Args;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Flags of `tailcut cast get`.
#[derive(Args, Debug)]
pub struct Get {
    /// Root of the data to download, as `serve` and `send` print it: 64 hexadecimal digits (for a file, the
    /// hash that b3sum prints)
    #[arg(value_name = "ROOT", value_parser = root)]
    root: Hash,
    /// Hosts that serve the data, each HOST or HOST:PORT
    #[arg(value_name = "REPLICA", required = true)]
    replicas: Vec<String>,
    /// Existing directory for the data, or - for standard output
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    output: PathBuf,
    #[command(flatten)]
    into: Into,
    #[command(flatten)]
    access: Access,
}

fn root(digits: &str) -> Result<Hash, String> {
    Hash::from_hex(digits).ok_or("allowed: 64 hexadecimal digits".to_owned())
}

pub(super) fn execute(
    arguments: &Get,
    is_json: bool,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(CommandEvent<'_>),
) -> Result<(), Failed> {
    if is_pipe(&arguments.output) && is_json {
        let words = "--json: standard output is used for the received data; allowed: --output DIR";
        return Err(Failed::usage(words.to_owned()));
    }
    let replicas = address::resolve_all(&arguments.replicas, "each replica once")?;
    let mut into = arguments.into.open(&arguments.output, stop)?;
    let endpoint = arguments.access.open(address::local(&replicas)?)?;
    let mut watch = Watch::begin();
    let root = arguments.root;
    let taken = transfer::get(
        &endpoint,
        root,
        &replicas,
        &mut *into,
        stop,
        &mut |event: Event| watch.notify(&event, None, notify),
    )?;
    let path = into.destination();
    let what = Escaped(path.as_ref().unwrap_or(&arguments.output)).to_string();
    notify(CommandEvent::Done {
        what: &what,
        root: Some(taken.root.to_string()),
        peers: &replicas,
        progress: watch.moment(&taken.progress),
    });
    Ok(())
}
