//! Command `tailcut cast send`.

use super::address;
use super::common::{Access, CommandEvent, Failed, Watch, is_pipe};
use super::multicast::{self, MulticastOf};
use crate::files::manifest::What;
use crate::files::{Escaped, Exclude, FileSource, Note, ScanOptions, Source, StreamSource};
use crate::transfer::{self, Event, SendOptions, Summary};
use clap::Args;
use std::ffi::OsStr;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tailcut_units as units;
use tailcut_units::quantity::{self, QuantityError};

/// Exit code if the sender has skipped some entries and the receivers have all other data. rsync uses the same code.
const SOME_MISSING: u8 = 23;

/// Flags of `tailcut cast send`.
#[derive(Args, Debug)]
pub struct Send {
    /// File or directory to send, or - for standard input
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// Receivers, each HOST or HOST:PORT
    #[arg(value_name = "HOST", required_unless_present = "dry_run")]
    hosts: Vec<String>,
    /// Name of standard input at the receivers
    #[arg(long, value_name = "NAME", default_value = "stdin")]
    name: String,
    #[command(flatten)]
    what: Chosen,
    /// List what would be sent, and send nothing
    #[arg(long)]
    dry_run: bool,
    /// Drop a receiver if the others have waited for it during more than half of this time; unless given, they wait
    /// without a limit
    #[arg(long, value_name = "TIME", value_parser = time)]
    drop_after: Option<Duration>,
    /// Give up if the transfer has not ended after this time; unless given, there is no limit
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<Duration>,
    /// Send one copy to all receivers together, by this multicast group, such as 239.1.2.3 or ff05::1234
    /// (`recv --group` there); receivers that do not hear it get separate copies
    #[arg(long, value_name = "ADDRESS", value_parser = multicast::group)]
    group: Option<IpAddr>,
    #[command(flatten)]
    multicast: MulticastOf,
    #[command(flatten)]
    access: Access,
}

/// Returns the time of a flag, 100 ms to a day.
fn time(text: &str) -> Result<Duration, QuantityError> {
    let range = units::Duration::from_ms(100)..=units::Duration::from_ms(86_400_000);
    quantity::within(text, range).map(Duration::from)
}

/// Flags that select the data of a directory.
#[derive(Args, Debug)]
pub(super) struct Chosen {
    /// Leave out matching entries, such as '*.tmp', 'build/' or '/cache/**'; may be given several times
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Send the owners of files, as numbers (a receiver applies them with --owners)
    #[arg(long)]
    owners: bool,
    /// Send extended attributes, user.* (a receiver applies them with --xattrs)
    #[arg(long)]
    xattrs: bool,
}

impl Chosen {
    /// Opens a file or a directory.
    pub(super) fn open(
        &self,
        path: &Path,
        slab_log2: u8,
        notify: &mut dyn FnMut(CommandEvent<'_>),
    ) -> Result<FileSource, Failed> {
        let exclude = Exclude::new(&self.exclude);
        let exclude = exclude.map_err(|error| Failed::usage(format!("--exclude: {error}")))?;
        let options = ScanOptions {
            exclude,
            owners: self.owners,
            xattrs: self.xattrs,
            slab_log2,
        };
        let mut note = |note: Note| {
            let text = format!("{}: {}", Escaped(&note.path), note.why);
            notify(CommandEvent::Note { text: &text });
        };
        Ok(FileSource::open(path, &options, &mut note)?)
    }
}

pub(super) fn execute(
    arguments: &Send,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(CommandEvent<'_>),
) -> Result<(), Failed> {
    let is_stream = is_pipe(&arguments.path);
    if arguments.dry_run {
        if is_stream {
            let words =
                "--dry-run: standard input can be read only once; allowed: a file or a directory";
            return Err(Failed::usage(words.to_owned()));
        }
        return list(arguments, notify);
    }
    let to = address::resolve_all(&arguments.hosts, "each receiver once")?;
    if let Some(group) = arguments.group {
        multicast::agrees(group, &to)?;
    }
    let endpoint = arguments
        .access
        .open_to_groups(address::local(&to)?, arguments.multicast.resolve()?)?;
    // The scan of a large directory takes a long time. So errors of the network are reported before the scan.
    let mut missing = 0;
    let source: Box<dyn Source> = match is_stream {
        true => Box::new(StreamSource::new(io::stdin(), arguments.name.as_bytes())?),
        false => {
            let source = arguments.what.open(&arguments.path, 0, notify)?;
            missing = source.missing();
            Box::new(source)
        }
    };
    let options = SendOptions {
        drop_after: arguments.drop_after,
        timeout: arguments.timeout,
        group: arguments.group,
    };
    let mut watch = Watch::begin();
    let mut on_event = |event: Event| match event {
        // If there is only one receiver, the error of the command already reports its failure.
        Event::Left { .. } if to.len() == 1 => {}
        event => watch.notify(&event, None, notify),
    };
    let summary = transfer::send(&endpoint, source, &to, options, stop, &mut on_event)?;
    conclude(&arguments.path, summary, &watch, notify)?;
    none_missing(missing)
}

/// Returns an error if entries are missing at the receivers.
fn none_missing(missing: u64) -> Result<(), Failed> {
    match missing {
        0 => Ok(()),
        _ => Err(Failed {
            code: SOME_MISSING,
            words: format!("{missing} entries are missing at the receivers; a note names each"),
        }),
    }
}

/// Reports the results of all receivers. If a receiver has failed, returns an error with an exit code.
fn conclude(
    path: &Path,
    summary: Summary,
    watch: &Watch,
    notify: &mut dyn FnMut(CommandEvent<'_>),
) -> Result<(), Failed> {
    let all = summary.receivers.len();
    let mut have = Vec::with_capacity(all);
    let mut failed = Vec::new();
    for (peer, result) in summary.receivers {
        match result {
            Ok(()) => have.push(peer),
            Err(error) => failed.push((peer, error)),
        }
    }
    if !have.is_empty() {
        let what = Escaped(path).to_string();
        notify(CommandEvent::Done {
            what: &what,
            root: summary.root.map(|root| root.to_string()),
            peers: &have,
            progress: watch.moment(&summary.progress),
        });
    }
    let Some((_, first)) = failed.first() else {
        return Ok(());
    };
    if all == 1 {
        return Err(Failed {
            code: first.exit_code(),
            words: first.to_string(),
        });
    }
    let names: Vec<SocketAddr> = failed.iter().map(|(peer, _)| *peer).collect();
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    // If all receivers have failed with the same code, the command returns it. Otherwise it returns 1.
    let codes = failed.iter().map(|(_, error)| error.exit_code());
    let is_same = codes.clone().all(|code| code == first.exit_code());
    Err(Failed {
        code: match have.is_empty() && is_same {
            true => first.exit_code(),
            false => 1,
        },
        words: format!(
            "{} of {all} receivers failed: {}",
            failed.len(),
            names.join(", ")
        ),
    })
}

/// Lists the entries that would be sent.
fn list(arguments: &Send, notify: &mut dyn FnMut(CommandEvent<'_>)) -> Result<(), Failed> {
    let source = arguments.what.open(&arguments.path, 0, notify)?;
    let (mut entries, mut bytes) = (0u64, 0u64);
    source.each(|item| {
        let size = matches!(item.entry.what, What::File { .. }).then(|| item.entry.size());
        entries += 1;
        bytes += item.entry.size();
        let shown = arguments.path.join(OsStr::from_bytes(item.below));
        let path = Escaped(&shown).to_string();
        notify(CommandEvent::Entry {
            path: &path,
            bytes: size,
        });
        Ok(())
    })?;
    let text = format!("{entries} entries, {bytes} bytes; nothing was sent");
    notify(CommandEvent::Note { text: &text });
    none_missing(source.missing())
}
