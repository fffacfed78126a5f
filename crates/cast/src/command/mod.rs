//! `tailcut cast`: one file for each command.

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
pub use common::{Failed, Moment, Told};
pub use get::Get;
pub use key::KeyOf;
pub use recv::Recv;
pub use send::Send;
pub use serve::Serve;

use clap::Subcommand;
use std::sync::atomic::AtomicBool;

/// The commands of `tailcut cast`.
#[derive(Subcommand, Debug)]
pub enum CastCommand {
    /// Send a file, a directory or standard input to hosts that run `tailcut cast recv`
    #[command(after_help = "\
A HOST is a name or an address, and a port where it is not 7413: db2, db2:9000, [fd00::2]:9000.
Hosts of other machines take a key (--psk, the same file at both ends) or --insecure.

Exit codes: 0 all receivers have it, verified; 1 some of several have not (they are listed); 2 wrong usage, or
a system failed; 3 hashes did not agree, or the source changed; 4 a receiver refused; 130 interrupted.

Examples:
  tailcut cast send model.bin gpu7 --psk cast.key
  tailcut cast send /srv/images db2 db3 db4 --psk cast.key --exclude '*.tmp'
  pg_dump shop | tailcut cast send - backup --psk cast.key --name shop.sql")]
    Send(Send),
    /// Receive what others send, into a directory or to standard output
    #[command(after_help = "\
It listens at 127.0.0.1 unless --listen says otherwise. A transfer that was cut off goes on where it was
when it is sent again. Nothing is replaced without --overwrite.

Exit codes: as those of `send`; without --once it runs until it is interrupted.

Examples:
  tailcut cast recv /srv/incoming --listen 0.0.0.0 --psk cast.key
  tailcut cast recv . --once
  tailcut cast recv - --listen 0.0.0.0 --psk cast.key | zstd > shop.sql.zst")]
    Recv(Recv),
    /// Serve a file or a directory to all who ask for its root
    #[command(after_help = "\
It prints the root, which `get` takes, and runs until it is interrupted. What is served must not change.

Examples:
  tailcut cast serve model.bin --listen 0.0.0.0 --psk cast.key")]
    Serve(Serve),
    /// Fetch what has a root from several hosts that serve it, at once
    #[command(after_help = "\
Each piece comes from one of the replicas. Those that are slow, stall or leave are left behind: others
send what they owe.

Exit codes: 0 it is here, verified; 2 wrong usage, or a system failed; 3 the root does not agree; 4 no
replica has it; 130 interrupted.

Examples:
  tailcut cast get af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262 \\
      node1 node2 node3 -o /srv/models --psk cast.key")]
    Get(Get),
    /// Say whether transfers to hosts will get through, and what is in their way
    #[command(after_help = "\
At each host `tailcut cast recv` or `tailcut cast serve` has to run. Some 400 packets in some 3 seconds tell
whether UDP gets there and back or who refuses it, whether the keys agree, the round trip, the largest packets,
what becomes of DSCP and ECN, losses, receive buffers, and with --group whether multicast arrives. With --json one
object a host.

Exit codes: 0 all hosts answer; 1 some of several do not; 2 none does, wrong usage, or a system failed; 130
interrupted.

Examples:
  tailcut cast check db2 --psk cast.key
  tailcut cast check gpu1 gpu2 gpu3 --group 239.1.2.3 --psk cast.key")]
    Check(CheckOf),
    /// Make a key for both ends, in a file that its owner alone can read
    #[command(after_help = "\
Copy the file to the other hosts over a way that you trust, such as scp. All who have it can send and
receive, and can read what is sent.

Examples:
  tailcut cast key cast.key")]
    Key(KeyOf),
}

/// Carries a command out until it is done or `stop` is set; `tell` hears what happens.
///
/// # Errors
/// Why it ends without success.
pub fn execute(
    command: &CastCommand,
    is_json: bool,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<(), Failed> {
    match command {
        CastCommand::Send(arguments) => send::execute(arguments, stop, tell),
        CastCommand::Recv(arguments) => recv::execute(arguments, is_json, stop, tell),
        CastCommand::Serve(arguments) => serve::execute(arguments, stop, tell),
        CastCommand::Get(arguments) => get::execute(arguments, is_json, stop, tell),
        CastCommand::Check(arguments) => check::execute(arguments, stop, tell),
        CastCommand::Key(arguments) => key::execute(arguments, tell),
    }
}
