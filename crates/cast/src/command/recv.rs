//! Command `tailcut cast recv`.

use super::address;
use super::common::{Access, CommandEvent, Failed, Watch, is_pipe};
use super::multicast::{self, Interface};
use super::output::Output;
use crate::files::{Escaped, FileSink, Keep, Sink, SinkOptions, StreamSink};
use crate::transfer::{Error, Event, Listener, Offered};
use clap::Args;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use tailcut_units::Bytes;
use tailcut_units::quantity::{Quantity, within};

/// Largest number of slabs that wait until they can be written to a pipe.
const AHEAD: u32 = 16;

/// Flags of `tailcut cast recv`.
#[derive(Args, Debug)]
pub struct Recv {
    /// Existing directory for the data, or - for standard output, for one transfer
    #[arg(value_name = "DIR")]
    path: PathBuf,
    /// Address to listen at: ADDRESS, ADDRESS:PORT or PORT; 0.0.0.0 or [::] for all interfaces
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7413", value_parser = address::listen)]
    listen: SocketAddr,
    /// Join this multicast group, the one of `send --group`; needs --listen 0.0.0.0 or [::]
    #[arg(long, value_name = "ADDRESS", value_parser = multicast::group)]
    group: Option<IpAddr>,
    #[command(flatten)]
    interface: Interface,
    /// End after one transfer
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    into: Into,
    #[command(flatten)]
    access: Access,
}

/// Flags for writing into a directory.
#[derive(Args, Debug)]
pub(super) struct Into {
    /// Start again instead of continuing an interrupted transfer
    #[arg(long)]
    no_resume: bool,
    /// Replace an existing entry of this name: a file by a file, a whole directory by a directory
    #[arg(long)]
    overwrite: bool,
    /// Refuse larger transfers, such as 10G (10^10) or 10Gi (10 * 2^30); docs/quantities.md has the units
    #[arg(long, value_name = "SIZE", value_parser = |text: &str| within(text, Bytes(1)..=Bytes::MOST))]
    max_size: Option<Bytes>,
    /// Set the owners of the sender's files, as numbers; needs root
    #[arg(long)]
    owners: bool,
    /// Set the extended attributes of the sender's files
    #[arg(long)]
    xattrs: bool,
}

impl Into {
    /// Opens a sink for a path: a directory, or - for standard output.
    pub(super) fn open<'a>(
        &self,
        path: &std::path::Path,
        stop: &'a AtomicBool,
    ) -> Result<ReceiveSink<'a>, Error> {
        let max_size = self.max_size.unwrap_or(Bytes::MOST).0;
        if is_pipe(path) {
            let sink = StreamSink::new(Output::new(stop), AHEAD, max_size);
            return Ok(ReceiveSink::Pipe(sink));
        }
        let options = SinkOptions {
            name: None,
            resume: !self.no_resume,
            overwrite: self.overwrite,
            max_size,
            keep: Keep {
                owners: self.owners,
                xattrs: self.xattrs,
            },
        };
        Ok(ReceiveSink::Directory(FileSink::new(path, options)?))
    }
}

/// Destination of the data.
pub(super) enum ReceiveSink<'a> {
    Directory(FileSink),
    Pipe(StreamSink<Output<'a>>),
}

impl ReceiveSink<'_> {
    pub(super) fn sink(&mut self) -> &mut dyn Sink {
        match self {
            Self::Directory(sink) => sink,
            Self::Pipe(sink) => sink,
        }
    }
}

pub(super) fn execute(
    arguments: &Recv,
    is_json: bool,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(CommandEvent<'_>),
) -> Result<(), Failed> {
    let is_pipe = is_pipe(&arguments.path);
    if is_pipe && is_json {
        let words =
            "--json: standard output is used for the received data; allowed: DIR instead of -";
        return Err(Failed::usage(words.to_owned()));
    }
    // A missing directory is reported here, before a sender connects.
    arguments.into.open(&arguments.path, stop)?;
    let endpoint = arguments.access.open(arguments.listen)?;
    let at = endpoint.local();
    if let Some(group) = arguments.group {
        multicast::join(&endpoint, group, arguments.interface.number()?)?;
    }
    notify(CommandEvent::Listening { at });
    let mut listener = Listener::new(&endpoint, stop);
    loop {
        let offered = listener.accept()?;
        let result = receive(arguments, &mut listener, &offered, stop, notify);
        match result {
            Err(Error::Interrupted) => return Err(Error::Interrupted.into()),
            Err(Error::Closed) => return Err(Error::Closed.into()),
            result if arguments.once || is_pipe => return Ok(result?),
            Ok(()) => {}
            Err(error) => {
                let why = error.to_string();
                notify(CommandEvent::Failed { why: &why });
            }
        }
    }
}

fn receive(
    arguments: &Recv,
    listener: &mut Listener<'_>,
    offered: &Offered,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(CommandEvent<'_>),
) -> Result<(), Error> {
    let mut place = match arguments.into.open(&arguments.path, stop) {
        Ok(place) => place,
        Err(error) => {
            listener.refuse(offered, &error);
            return Err(error);
        }
    };
    let mut watch = Watch::begin();
    let taken = listener.receive(*offered, place.sink(), &mut |event: Event| {
        watch.notify(&event, notify)
    })?;
    let what = Escaped(&arguments.path).to_string();
    notify(CommandEvent::Done {
        what: &what,
        root: Some(taken.root.to_string()),
        peers: &[offered.from],
        progress: watch.moment(&taken.progress),
    });
    Ok(())
}
