//! Flags that several commands share. Each command has those that it reads, and refuses the others.

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

/// `--json` of a command all of whose own commands have it.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct JsonOfAll {
    /// Print JSON on standard output; progress goes to standard error
    #[arg(long, global = true)]
    pub json: bool,
}

/// `--seed`.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct FirstSeed {
    /// The first seed
    #[arg(long, value_name = "SEED", value_parser = quantity::count)]
    pub seed: Option<u64>,
}

/// `--seed` and `--seeds`.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct Seeds {
    #[command(flatten)]
    pub first: FirstSeed,
    /// How many seeds to run, counted up from the first
    #[arg(long, value_name = "N", value_parser = quantity::count)]
    pub seeds: Option<u64>,
}

/// `--threads`.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct Threads {
    /// Runs at the same time; results do not depend on it [default: the machine's cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// `--out`.
#[derive(Args, Clone, Default, Debug)]
pub struct Out {
    /// The directory that results are written to [default: out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Flags of commands that run studies.
#[derive(Args, Clone, Default, Debug)]
pub struct Shared {
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub seeds: Seeds,
    #[command(flatten)]
    pub threads: Threads,
    #[command(flatten)]
    pub out: Out,
}
