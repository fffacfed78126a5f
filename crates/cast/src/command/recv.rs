//! `tailcut cast recv`.

use super::address;
use super::common::{Access, Failed, Told, Watch, is_pipe};
use super::multicast::{self, Interface};
use super::output::Output;
use crate::files::{FileSink, Keep, Sink, SinkOptions, StreamSink};
use crate::transfer::{Error, Event, Listener, Offered};
use clap::Args;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use tailcut_units::Bytes;
use tailcut_units::quantity::{Quantity, within};

/// Slabs that are kept for a pipe that is slow, or that came before their turn.
const AHEAD: u32 = 16;

/// The flags of `tailcut cast recv`.
#[derive(Args, Debug)]
pub struct Recv {
    /// The directory to put things into, which has to be there; or - for standard output, once
    #[arg(value_name = "DIR")]
    path: PathBuf,
    /// Where to listen: ADDRESS, ADDRESS:PORT or PORT; 0.0.0.0 or [::] for all interfaces
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7413", value_parser = address::listen)]
    listen: SocketAddr,
    /// Join this multicast group, which a sender names to `send --group`, too; takes --listen 0.0.0.0 or [::]
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

/// How things are put into a directory.
#[derive(Args, Debug)]
pub(super) struct Into {
    /// Begin anew where an earlier transfer was cut off
    #[arg(long)]
    no_resume: bool,
    /// Replace what has the name already: a file by a file, a whole directory by a directory
    #[arg(long)]
    overwrite: bool,
    /// Refuse what has more bytes, such as 10G (10^10) or 10Gi (10 * 2^30); docs/quantities.md has the units
    #[arg(long, value_name = "SIZE", value_parser = |text: &str| within(text, Bytes(1)..=Bytes::MOST))]
    max_size: Option<Bytes>,
    /// Give files to the owners that the sender names, in numbers; takes root
    #[arg(long)]
    owners: bool,
    /// Set the extended attributes that the sender names
    #[arg(long)]
    xattrs: bool,
}

impl Into {
    /// A sink at a path: a directory, or - for standard output.
    pub(super) fn open<'a>(
        &self,
        path: &std::path::Path,
        stop: &'a AtomicBool,
    ) -> Result<Place<'a>, Error> {
        let max_size = self.max_size.unwrap_or(Bytes::MOST).0;
        if is_pipe(path) {
            let sink = StreamSink::new(Output::new(stop), AHEAD, max_size);
            return Ok(Place::Pipe(sink));
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
        Ok(Place::Directory(FileSink::new(path, options)?))
    }
}

/// Where things are put.
pub(super) enum Place<'a> {
    Directory(FileSink),
    Pipe(StreamSink<Output<'a>>),
}

impl Place<'_> {
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
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<(), Failed> {
    let is_pipe = is_pipe(&arguments.path);
    if is_pipe && is_json {
        let words = "--json: standard output has what is received; allowed: DIR instead of -";
        return Err(Failed::usage(words.to_owned()));
    }
    // A directory that is not there is told before a sender comes.
    arguments.into.open(&arguments.path, stop)?;
    let endpoint = arguments.access.open(arguments.listen)?;
    let at = endpoint.local();
    if let Some(group) = arguments.group {
        multicast::join(&endpoint, group, arguments.interface.number()?)?;
    }
    tell(Told::Listening { at });
    let mut listener = Listener::new(&endpoint, stop);
    loop {
        let offered = listener.accept()?;
        let result = receive(arguments, &mut listener, &offered, stop, tell);
        match result {
            Err(Error::Interrupted) => return Err(Error::Interrupted.into()),
            Err(Error::Closed) => return Err(Error::Closed.into()),
            result if arguments.once || is_pipe => return Ok(result?),
            Ok(()) => {}
            Err(error) => {
                let why = error.to_string();
                tell(Told::Failed { why: &why });
            }
        }
    }
}

fn receive(
    arguments: &Recv,
    listener: &mut Listener<'_>,
    offered: &Offered,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Told<'_>),
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
        watch.tell(&event, tell)
    })?;
    let what = arguments.path.display().to_string();
    tell(Told::Done {
        what: &what,
        root: Some(taken.root.to_string()),
        peers: &[offered.from],
        progress: watch.moment(&taken.progress),
    });
    Ok(())
}
