//! Command `tailcut cast recv`.

use super::address;
use super::common::{Access, CommandEvent, Failed, Moment, Watch, is_pipe};
use super::multicast::{self, Interface};
use super::output::Output;
use crate::files::{Escaped, FileSink, Keep, Sink, SinkOptions, StreamSink};
use crate::transfer::{AT_ONCE, Arriving, Error, Event, Happened, Listener, Offered, Taken};
use clap::Args;
use std::collections::HashMap;
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
    /// Largest number of transfers that run at the same time, 8 unless given; further senders wait
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64), conflicts_with = "once")]
    parallel: Option<u8>,
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
    ) -> Result<Box<dyn Sink + 'a>, Error> {
        let max_size = self.max_size.unwrap_or(Bytes::MOST).0;
        if is_pipe(path) {
            let sink = StreamSink::new(Output::new(stop), AHEAD, max_size);
            return Ok(Box::new(sink));
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
        Ok(Box::new(FileSink::new(path, options)?))
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
    if is_pipe && arguments.parallel.is_some() {
        let words = "--parallel: standard output takes one transfer; allowed: DIR instead of -";
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
    let listener = Listener::new(&endpoint, stop);
    match arguments.once || is_pipe {
        true => receive_one(arguments, listener, stop, notify),
        false => receive_all(arguments, listener, (stop, is_json), notify),
    }
}

/// Receives one transfer, and then ends.
fn receive_one<'a>(
    arguments: &Recv,
    mut listener: Listener<'a>,
    stop: &'a AtomicBool,
    notify: &mut dyn FnMut(CommandEvent<'_>),
) -> Result<(), Failed> {
    let offered = listener.accept()?;
    let sink = match arguments.into.open(&arguments.path, stop) {
        Ok(sink) => sink,
        Err(error) => {
            listener.refuse(&offered, &error);
            listener.farewell();
            return Err(error.into());
        }
    };
    let mut watch = Watch::of(offered.from);
    let (arriving, result) = listener.receive_with(offered, sink, &mut |arriving, event| {
        let what = shown(arriving);
        watch.notify(&event, what.as_deref(), notify);
    })?;
    done(arguments, &arriving, &result?, &watch, notify);
    Ok(())
}

/// Receives transfers until the user interrupts the command. Several transfers run at the same time.
fn receive_all<'a>(
    arguments: &Recv,
    listener: Listener<'a>,
    (stop, is_json): (&'a AtomicBool, bool),
    notify: &mut dyn FnMut(CommandEvent<'_>),
) -> Result<(), Failed> {
    let mut listener = listener.at_once(arguments.parallel.map_or(AT_ONCE, usize::from));
    let mut watches: HashMap<Offered, Watched> = HashMap::new();
    loop {
        let happened = listener.next(&mut |arriving, event| {
            let Some(watched) = watches.get_mut(&arriving.offered) else {
                return;
            };
            match event {
                // A terminal shows one line for all transfers.
                Event::Progress(progress) if !is_json => {
                    watched.moment = Some(watched.watch.moment(&progress));
                    let all = watches.values().filter_map(|one| one.moment);
                    notify(CommandEvent::Progress {
                        peer: None,
                        what: None,
                        moment: Moment::sum(all),
                    });
                }
                event => {
                    let what = shown(arriving);
                    watched.watch.notify(&event, what.as_deref(), notify);
                }
            }
        })?;
        match happened {
            Happened::Offered(offered) => match arguments.into.open(&arguments.path, stop) {
                Ok(sink) => {
                    watches.insert(offered, Watched::of(&offered));
                    listener.begin(offered, sink)?;
                }
                Err(error) => {
                    listener.refuse(&offered, &error);
                    failed(offered.from, None, &error, notify);
                }
            },
            Happened::Ended(arriving, result) => {
                let watched = watches.remove(&arriving.offered);
                match (result, watched) {
                    (Ok(taken), Some(watched)) => {
                        done(arguments, &arriving, &taken, &watched.watch, notify);
                    }
                    (Ok(_), None) => {}
                    (Err(error), _) => {
                        let what = shown(&arriving);
                        failed(arriving.offered.from, what.as_deref(), &error, notify);
                    }
                }
            }
        }
    }
}

/// Progress of one of several transfers.
struct Watched {
    watch: Watch,
    moment: Option<Moment>,
}

impl Watched {
    fn of(offered: &Offered) -> Self {
        Self {
            watch: Watch::of(offered.from),
            moment: None,
        }
    }
}

/// Returns the path of the destination, if it is known.
fn shown(arriving: &Arriving) -> Option<String> {
    let path = arriving.destination.as_ref();
    path.map(|path| Escaped(path).to_string())
}

fn done(
    arguments: &Recv,
    arriving: &Arriving,
    taken: &Taken,
    watch: &Watch,
    notify: &mut dyn FnMut(CommandEvent<'_>),
) {
    let path = arriving.destination.as_ref();
    let what = Escaped(path.unwrap_or(&arguments.path)).to_string();
    notify(CommandEvent::Done {
        what: &what,
        root: Some(taken.root.to_string()),
        peers: &[arriving.offered.from],
        progress: watch.moment(&taken.progress),
    });
}

fn failed(
    peer: SocketAddr,
    what: Option<&str>,
    error: &Error,
    notify: &mut dyn FnMut(CommandEvent<'_>),
) {
    let why = error.to_string();
    notify(CommandEvent::Failed {
        peer,
        what,
        code: error.code().name(),
        why: &why,
    });
}
