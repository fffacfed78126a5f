//! Flags that several commands share. A command accepts only the flags that it uses.

use clap::Args;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use tailcut_units::quantity;

/// `--json`.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct Json {
    /// Print JSON on standard output; progress goes to standard error
    #[arg(long)]
    pub json: bool,
}

/// `--json` of a command whose subcommands all have this flag.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct JsonOfAll {
    /// Print JSON on standard output; progress goes to standard error
    #[arg(long, global = true)]
    pub json: bool,
}

/// `--quiet`.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct Quiet {
    /// Print no progress and no notes, only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// `--seed`.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct FirstSeed {
    /// First seed
    #[arg(long, value_name = "SEED", value_parser = quantity::count)]
    pub seed: Option<u64>,
}

/// `--seed` and `--seeds`.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct Seeds {
    #[command(flatten)]
    pub first: FirstSeed,
    /// Number of seeds, counted up from the first seed
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub seeds: Option<u64>,
}

/// `--threads`.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct Threads {
    /// Number of runs at the same time; it does not change results [default: number of cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// `--out`.
#[derive(Args, Clone, Default, Debug)]
pub struct Out {
    /// Directory for the results [default: out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Flags of commands that run studies.
#[derive(Args, Clone, Default, Debug)]
pub struct Shared {
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub quiet: Quiet,
    #[command(flatten)]
    pub seeds: Seeds,
    #[command(flatten)]
    pub threads: Threads,
    #[command(flatten)]
    pub out: Out,
}
