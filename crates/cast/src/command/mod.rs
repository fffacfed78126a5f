//! Commands of `tailcut cast`. Each command has a separate file.

mod address;
mod check;
mod common;
mod get;
mod key;
mod multicast;
mod output;
mod recv;
mod send;
mod serve;

pub use check::CheckOf;
pub use common::{CommandEvent, Failed, Moment};
pub use get::Get;
pub use key::KeyOf;
pub use recv::Recv;
pub use send::Send;
pub use serve::Serve;

use clap::Subcommand;
use std::sync::atomic::AtomicBool;

/// Commands of `tailcut cast`.
#[derive(Subcommand, Debug)]
pub enum CastCommand {
    /// Send a file, a directory or standard input to hosts that run `tailcut cast recv`
    #[command(after_help = "\
A HOST is a name or an address, with a port unless the port is 7413: db2, db2:9000, [fd00::2]:9000.
Access to other machines needs a key (--psk, the same file at both ends) or --insecure.

Exit codes: 0 all receivers have the verified data; 1 some receivers failed (they are listed); 2 wrong usage, or
a system failed; 3 hashes did not match, or the source changed; 4 a receiver refused; 23 some entries are missing,
because they cannot be read or their paths are too long (a note names each); 130 interrupted.

Examples:
  tailcut cast send model.bin gpu7 --psk cast.key
  tailcut cast send /srv/images db2 db3 db4 --psk cast.key --exclude '*.tmp'
  pg_dump shop | tailcut cast send - backup --psk cast.key --name shop.sql")]
    Send(Send),
    /// Receive transfers into a directory or to standard output
    #[command(after_help = "\
It listens at 127.0.0.1 unless --listen is given. An interrupted transfer continues where it stopped when
the sender sends the same data again. Existing files are not replaced without --overwrite.

Exit codes: as for `send`; without --once it runs until it is interrupted.

Examples:
  tailcut cast recv /srv/incoming --listen 0.0.0.0 --psk cast.key
  tailcut cast recv . --once
  tailcut cast recv - --listen 0.0.0.0 --psk cast.key | zstd > shop.sql.zst")]
    Recv(Recv),
    /// Serve a file or a directory to all hosts that request its root
    #[command(after_help = "\
It prints the root for `get`, and runs until it is interrupted. The files must not change while they are served.

Examples:
  tailcut cast serve model.bin --listen 0.0.0.0 --psk cast.key")]
    Serve(Serve),
    /// Download data by its root from several hosts that serve it, in parallel
    #[command(after_help = "\
Each piece comes from one of the replicas. If a replica is slow, stalls or leaves, the other replicas send
its pieces.

Exit codes: 0 the verified data is here; 2 wrong usage, or a system failed; 3 the root does not match; 4 no
replica has the data; 130 interrupted.

Examples:
  tailcut cast get af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262 \\
      node1 node2 node3 -o /srv/models --psk cast.key")]
    Get(Get),
    /// Check whether transfers to hosts will work, and find the obstacles
    #[command(after_help = "\
Each host must run `tailcut cast recv` or `tailcut cast serve`. About 400 packets in 3 seconds show whether UDP
works in both directions (or which host refuses it), whether the keys match, the round-trip time, the largest
packets, changes of DSCP and ECN, losses, receive buffers, and with --group whether multicast works. With --json
the output is one object per host.

Exit codes: 0 all hosts answer; 1 some hosts do not; 2 no host answers, wrong usage, or a system failed; 130
interrupted.

Examples:
  tailcut cast check db2 --psk cast.key
  tailcut cast check gpu1 gpu2 gpu3 --group 239.1.2.3 --psk cast.key")]
    Check(CheckOf),
    /// Make a key for both ends, in a file that only its owner can read
    #[command(after_help = "\
Copy the file to the other hosts in a secure way, such as scp. Everyone with the file can send, receive, and
read the transfers.

Examples:
  tailcut cast key cast.key")]
    Key(KeyOf),
}

/// Runs a command until it ends or `stop` is set. `notify` receives each message of the command.
///
/// # Errors
/// The reason why the command has failed.
pub fn execute(
    command: &CastCommand,
    is_json: bool,
    stop: &AtomicBool,
    notify: &mut dyn FnMut(CommandEvent<'_>),
) -> Result<(), Failed> {
    match command {
        CastCommand::Send(arguments) => send::execute(arguments, stop, notify),
        CastCommand::Recv(arguments) => recv::execute(arguments, is_json, stop, notify),
        CastCommand::Serve(arguments) => serve::execute(arguments, stop, notify),
        CastCommand::Get(arguments) => get::execute(arguments, is_json, stop, notify),
        CastCommand::Check(arguments) => check::execute(arguments, stop, notify),
        CastCommand::Key(arguments) => key::execute(arguments, notify),
    }
}
