//! Definition of the command line. Help, manual page and completions derive from it.

use crate::picture::Picture;
use crate::shared::{FirstSeed, Json, JsonOfAll, Out, Quiet, Seeds, Shared, Threads};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;
use tailcut_scenario::record::Earlier;
use tailcut_units::quantity;

/// Compare designs for short transfers in multi-path data-centre networks.
///
/// The name of a design is `[replication+]transport[@routing]`:
/// tcp, dctcp, repflow, repsyn, repflow+dctcp, dctcp@spray.
/// `tailcut compare tcp repflow` simulates both with the same flows and shows which has the better tail latency.
#[derive(Parser, Debug)]
#[command(name = "tailcut", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Returns whether the command prints no progress and no notes.
    pub fn is_quiet(&self) -> bool {
        let quiet = match &self.command {
            Command::Compare(arguments) => arguments.shared.quiet,
            Command::Run(arguments) => arguments.shared.quiet,
            Command::Reproduce(arguments) => arguments.shared.quiet,
            Command::Case(arguments) => arguments.quiet,
            Command::Report(arguments) => arguments.quiet,
            Command::Bench(arguments) => arguments.quiet,
            Command::Study(StudyOf { command, .. }) => match command {
                Study::Plan(arguments) => arguments.quiet,
                Study::Collect(arguments) => arguments.quiet,
                _ => Quiet::default(),
            },
            _ => Quiet::default(),
        };
        quiet.quiet
    }
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Compare designs on one workload and show which has the best tail latency
    #[command(after_help = "\
Examples:
  tailcut compare tcp repflow
  tailcut compare tcp dctcp repflow+dctcp --load 0.1..0.7:0.2 --seeds 5
  tailcut compare tcp repsyn --topology fat-tree:k=4,rate=1Gbps --workload fixed:50KB
  tailcut compare tcp repflow --set queue.limit=64KB --set tcp.min_rto=1ms
  tailcut compare tcp dctcp --sweep queue.limit=50,100,200 --sweep topology.spines=2..8*2
  tailcut compare dctcp dctcp:tcp.dctcp_gain=0.01,queue.mark_above=30KB
  tailcut compare tcp dctcp --find-limit loads p99=2ms")]
    Compare(Compare),
    /// Run a scenario from a file (see docs/scenario.md), or a built-in scenario
    #[command(after_help = "\
Examples:
  tailcut run scenarios/two-racks.toml
  tailcut run scenarios/two-racks.toml --sweep queue.limit=25..400*2
  tailcut run two-racks --sweep tcp.min_rto=1,5,10ms --sweep tcp.initial_rto=3,15,30ms \\
      --zip tcp.min_rto,tcp.initial_rto
  tailcut run storage-rate.toml --find-limit workload.sessions_per_second=5000..30000 p99=5ms")]
    Run(Run),
    /// Reproduce published figures, and print them next to ours
    Reproduce(Reproduce),
    /// Divide a study into cases, submit and monitor them, and collect the results
    Study(StudyOf),
    /// Run cases of a planned study; skip cases that are done or that another process runs
    #[command(after_help = "\
Exit codes: 0 all these cases are done, 3 some failed, 4 another process runs some,
130 interrupted, 2 wrong input or an error of the operating system.

Examples:
  tailcut case grid
  tailcut case grid 0..11 --threads 1
  seq 0 35 | xargs -P 4 -I{} tailcut case grid {} --threads 1")]
    Case(Case),
    /// Write a new report of the finished runs of one or several studies, optionally with plots as image files
    Report(Report),
    /// List the names that other commands accept
    List(List),
    /// Run programs on isolated Linux hosts over the simulator's switches, in wall-clock time
    #[cfg(all(feature = "lab", target_os = "linux"))]
    #[command(subcommand)]
    Lab(tailcut_lab::command::LabCommand),
    /// Run programs on isolated Linux hosts: not in this build
    #[cfg(not(all(feature = "lab", target_os = "linux")))]
    #[command(hide = true)]
    Lab(Absent),
    /// Copy files, directories and streams to other hosts: SCDP over UDP
    #[cfg(all(feature = "cast", target_os = "linux"))]
    Cast(CastOf),
    /// Copy files, directories and streams to other hosts: not in this build
    #[cfg(not(all(feature = "cast", target_os = "linux")))]
    #[command(hide = true)]
    Cast(Absent),
    /// Estimate the gain of RepNet on this network from handshakes with a server, without root
    #[cfg(all(feature = "probe", target_os = "linux"))]
    #[command(after_help = "\
Examples:
  tailcut probe web1:443
  tailcut probe 10.1.2.3:6379 --volleys 1000 --out probe-of-redis
  tailcut probe web1:443 --every 5m --for 6h --out probe-of-a-day")]
    Probe(ProbeOf),
    /// Estimate the gain of RepNet on this network: not in this build
    #[cfg(not(all(feature = "probe", target_os = "linux")))]
    #[command(hide = true)]
    Probe(Absent),
    /// Relay TCP connections of any program over two paths, as a sidecar
    #[cfg(feature = "proxy")]
    #[command(subcommand)]
    Proxy(tailcut_repnet::proxy::ProxyCommand),
    /// Relay TCP connections of any program over two paths: not in this build
    #[cfg(not(feature = "proxy"))]
    #[command(hide = true)]
    Proxy(Absent),
    /// Protect an HTTP service: limit concurrency, queue by priority class, cancel work of disconnected clients
    #[cfg(feature = "guard")]
    Guard(tailcut_rans::guard::program::GuardCommand),
    /// Protect an HTTP service: not in this build
    #[cfg(not(feature = "guard"))]
    #[command(hide = true)]
    Guard(Absent),
    /// Send each HTTP request to two replicas of a service and return the first good response
    #[cfg(feature = "gateway")]
    Gateway(tailcut_rans::gateway::GatewayCommand),
    /// Send each HTTP request to two replicas of a service: not in this build
    #[cfg(not(feature = "gateway"))]
    #[command(hide = true)]
    Gateway(Absent),
    /// Measure the speed of the simulator on one core of this machine;
    /// lab-udp, lab-queue, lab-tcp and lab-12x100M measure the lab
    Bench(Bench),
    /// Print command-line completions for a shell
    Completions {
        /// Shell
        shell: Shell,
    },
    /// Print the manual page, or write a page for each command
    Man {
        /// Write one page for each command into this directory
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// Arguments of a command that is not in this build.
/// They are accepted and ignored, so that the error can name the missing feature.
#[allow(dead_code)]
#[derive(Args, Debug)]
pub struct Absent {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<std::ffi::OsString>,
}

/// Flags that change a scenario.
#[derive(Args, Clone, Default, Debug)]
pub struct Changes {
    /// Flow sizes: a name (`tailcut list workloads`), fixed:BYTES, table:FILE.csv, requests:SIZES, or trace:FILE.csv
    #[arg(long, short, value_name = "WORKLOAD")]
    pub workload: Option<String>,
    /// Topology of the network, KIND or KIND:KEY=VALUE,... (`tailcut list topologies`)
    #[arg(long, short, value_name = "TOPOLOGY")]
    pub topology: Option<String>,
    /// Loads: one value, a list A,B,C, or a range A..B or A..B:STEP.
    /// A load refers to the links of the sending hosts, or to other links if workload.load_of names them,
    /// and for requests to the busiest resource (processor, disk or link) of the servers
    #[arg(long, short, value_name = "LOADS")]
    pub load: Option<String>,
    /// Traffic matrix: which hosts send to which hosts
    #[arg(long, value_name = "MATRIX")]
    pub matrix: Option<String>,
    /// Arrival process: poisson, uniform or fixed
    #[arg(long, value_name = "PROCESS")]
    pub arrivals: Option<String>,
    /// Time during which flows arrive, in simulated time, such as 100ms
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// Maximum number of flows
    #[arg(long, value_name = "N")]
    pub flows: Option<String>,
    /// Clock of the runs: simulated, wall (real hosts, docs/lab.md) or both
    #[arg(long, value_name = "CLOCK")]
    pub clock: Option<String>,
    /// Factor by which the network of real hosts is slowed down
    #[arg(long, value_name = "N")]
    pub slowdown: Option<String>,
    /// Set any key of a scenario (`tailcut list keys`); can be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Run with each value of a key: a list V1,V2,... or a range FROM..TO:STEP or FROM..TO*FACTOR.
    /// Several sweeps give all combinations
    #[arg(long, value_name = "KEY=VALUES")]
    pub sweep: Vec<String>,
    /// Combine the values of swept keys in order: first with first, second with second; can be repeated
    #[arg(long, value_name = "KEY,KEY")]
    pub zip: Vec<String>,
}

/// Flags for additional runs of a study.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct Variants {
    /// Repeat all runs with halved and doubled timers and buffers, one change at a time,
    /// and report whether the order of the designs stays the same: five times as many runs
    #[arg(long)]
    pub sensitivity: bool,
}

/// Flag for the search of a limit.
#[derive(Args, Clone, Default, Debug)]
pub struct FindLimit {
    /// Find the values of a key between which a metric passes a time, for each design, by bisection
    /// with 6, 12 or 24 seeds for each point (--seeds sets the maximum).
    /// METRIC is mean, p50, p95, p99 or p99.9 of the times of mice, requests or sessions.
    /// The range is =LOW..HIGH; by default 0.05 to 1 for loads, and the swept values for other keys
    #[arg(
        long,
        num_args = 2,
        action = clap::ArgAction::Set,
        value_names = ["KEY[=LOW..HIGH]", "METRIC=VALUE"],
        conflicts_with = "sensitivity"
    )]
    pub find_limit: Option<Vec<String>>,
}

/// Flags for runs that the directory already contains.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct Finished {
    /// Also reuse finished runs of other builds of tailcut
    #[arg(long)]
    pub accept_older: bool,
    /// Remove all runs in the directory and start again
    #[arg(long, conflicts_with = "accept_older")]
    pub fresh: bool,
}

impl From<Finished> for Earlier {
    fn from(finished: Finished) -> Self {
        match finished {
            Finished { fresh: true, .. } => Self::Remove,
            Finished {
                accept_older: true, ..
            } => Self::AnyBuild,
            _ => Self::SameBuild,
        }
    }
}

#[derive(Args, Debug)]
pub struct Compare {
    /// Designs, optionally with settings (DESIGN:KEY=VALUE,...); the first is the baseline of the comparison
    #[arg(required = true, value_name = "DESIGN")]
    pub designs: Vec<String>,
    #[command(flatten)]
    pub changes: Changes,
    #[command(flatten)]
    pub variants: Variants,
    #[command(flatten)]
    pub limit: FindLimit,
    #[command(flatten)]
    pub finished: Finished,
    #[command(flatten)]
    pub shared: Shared,
}

#[derive(Args, Debug)]
pub struct Run {
    /// Scenario file, - for standard input, or the name of a built-in scenario (`tailcut list scenarios`)
    #[arg(value_name = "SCENARIO.toml")]
    pub scenario: PathBuf,
    #[command(flatten)]
    pub changes: Changes,
    #[command(flatten)]
    pub variants: Variants,
    #[command(flatten)]
    pub limit: FindLimit,
    #[command(flatten)]
    pub finished: Finished,
    #[command(flatten)]
    pub capture: Capture,
    #[command(flatten)]
    pub shared: Shared,
}

/// Flags for packet captures, which tshark and Wireshark can read.
#[derive(Args, Clone, Default, Debug)]
pub struct Capture {
    /// Write packets of a host (h3), of a port ('h3>leaf[0]'), or of all hosts to captures/ (pcapng)
    #[arg(long, value_name = "HOST|PORT|all", conflicts_with = "find_limit")]
    pub capture: Option<String>,
    /// Maximum size of a capture file [default: 100MB]
    #[arg(long, value_name = "BYTES", requires = "capture")]
    pub capture_bytes: Option<String>,
    /// Capture only the first N flows that pass [default: all]
    #[arg(long, value_name = "N", requires = "capture", value_parser = quantity::count)]
    pub capture_flows: Option<u64>,
    /// Capture the runs of the first N seeds [default: 1]
    #[arg(long, value_name = "N", requires = "capture", value_parser = quantity::count)]
    pub capture_seeds: Option<u64>,
}

#[derive(Args, Debug)]
pub struct StudyOf {
    #[command(flatten)]
    pub json: JsonOfAll,
    #[command(subcommand)]
    pub command: Study,
}

#[cfg(all(feature = "cast", target_os = "linux"))]
#[derive(Args, Debug)]
pub struct CastOf {
    #[command(flatten)]
    pub json: JsonOfAll,
    #[command(subcommand)]
    pub command: tailcut_cast::command::CastCommand,
}

#[cfg(all(feature = "probe", target_os = "linux"))]
#[derive(Args, Debug)]
pub struct ProbeOf {
    #[command(flatten)]
    pub probe: tailcut_probe::command::Probe,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub out: Out,
}

#[derive(Args, Debug)]
pub struct List {
    /// Kind of names
    pub what: Listing,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Subcommand, Debug)]
pub enum Study {
    /// Write the plan of a study: its cases and their expected CPU time
    #[command(after_help = "\
Examples:
  tailcut study plan grid tcp dctcp --sweep queue.limit=50,100,200 --seeds 6
  tailcut study plan grid --scenario scenarios/two-racks.toml --load 0.1..0.7:0.2")]
    Plan(Box<Plan>),
    /// Submit the waiting cases as jobs to an engine: Slurm, as an array
    #[command(after_help = "\
Examples:
  tailcut study submit grid --on slurm --partition short --at-most 100
  tailcut study submit grid --on slurm --print > grid.sh
  tailcut study submit grid --on slurm -- --mem=2G --constraint=avx2")]
    Submit(Submit),
    /// Show which cases are done, failed, running or waiting, and the CPU time left
    Status(Status),
    /// Collect the results, write the same files as `compare`, and print its answer
    Collect(Collect),
    /// Mark failed cases as waiting, so that they are run again
    Retry(StudyAt),
    /// Remove results that are no longer planned, and files of processes that have ended
    Prune(Prune),
}

#[derive(Args, Debug)]
pub struct StudyAt {
    /// Directory of the study
    pub dir: PathBuf,
}

#[derive(Args, Debug)]
pub struct Status {
    #[command(flatten)]
    pub study: StudyAt,
    #[command(flatten)]
    pub threads: Threads,
}

#[derive(Args, Debug)]
pub struct Plan {
    /// Directory of the study: new, empty, or with a study, whose results are kept
    pub dir: PathBuf,
    /// Designs, as for `compare`
    #[arg(
        value_name = "DESIGN",
        required_unless_present = "scenario",
        conflicts_with = "scenario"
    )]
    pub designs: Vec<String>,
    /// Scenario file, or the name of a built-in scenario, as for `run`
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    #[command(flatten)]
    pub changes: Changes,
    /// Accept a plan of more than a day of CPU time
    #[arg(long)]
    pub yes: bool,
    /// Also write the waiting cases as a job file. hq: DIR/hq.toml for HyperQueue (not tested with the program hq)
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<JobFile>,
    #[command(flatten)]
    pub seeds: Seeds,
    #[command(flatten)]
    pub threads: Threads,
    #[command(flatten)]
    pub quiet: Quiet,
}

#[derive(Args, Debug)]
pub struct Submit {
    /// Directory of the study, which all machines of the engine must have at this path
    pub dir: PathBuf,
    /// Engine
    #[arg(long, value_name = "ENGINE")]
    pub on: Engine,
    /// Print the script but do not submit it
    #[arg(long)]
    pub print: bool,
    /// Partition in which the jobs run
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// Account that is charged for the jobs
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
    /// Time limit of a job, in the format of sbatch
    /// [default: four times the expected time of its cases, plus 10 minutes]
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<String>,
    /// Maximum number of jobs that run at the same time
    #[arg(long, value_name = "N")]
    pub at_most: Option<std::num::NonZeroUsize>,
    /// Minimum of the expected CPU time of a job's cases
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub chunk: std::num::NonZeroU32,
    /// Further flags for sbatch
    #[arg(last = true, value_name = "FLAG")]
    pub flags: Vec<String>,
}

#[derive(Args, Debug)]
pub struct Collect {
    #[command(flatten)]
    pub study: StudyAt,
    /// Collect the finished cases even if cases are missing or have failed
    #[arg(long)]
    pub partial: bool,
    /// Also accept cases from several builds of tailcut
    #[arg(long)]
    pub accept_older: bool,
    #[command(flatten)]
    pub out: Out,
    #[command(flatten)]
    pub quiet: Quiet,
}

#[derive(Args, Debug)]
pub struct Prune {
    #[command(flatten)]
    pub study: StudyAt,
    /// Remove the files; without this flag they are only listed
    #[arg(long)]
    pub yes: bool,
}

#[derive(Args, Debug)]
pub struct Case {
    /// Directory of the study
    pub dir: PathBuf,
    /// Cases by number, starting at 0: I, I..J (including J), I.. or ..J, or a list of these such as 0..3,7
    /// [default: all]
    #[arg(value_name = "I..J", allow_hyphen_values = true)]
    pub cases: Option<String>,
    /// Time to wait for cases that other processes run, when no other case is left.
    /// If such a process gives up its case, or shows no activity for a minute, this command runs the case
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub wait: u64,
    /// Run the cases in this process
    #[arg(long, hide = true)]
    pub within: bool,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub threads: Threads,
    #[command(flatten)]
    pub quiet: Quiet,
}

#[derive(Args, Debug)]
pub struct Reproduce {
    /// Name of a reproduction [default: all]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Shorter runs: minutes instead of hours. The bands stay those for full runs
    #[arg(long)]
    pub quick: bool,
    /// Exit with code 1 if a row is outside of its band, or if too few of the rows with a published number are decided
    #[arg(long)]
    pub check: bool,
    /// Write the rows to this Markdown page, after lines `<!-- rows of NAME -->`.
    /// Write the list of runs to PAGE.runs.json
    #[arg(long, value_name = "PAGE.md")]
    pub page: Option<PathBuf>,
    /// Clock of the runs: simulated, or wall (real hosts, docs/lab.md)
    #[arg(long, value_name = "CLOCK", default_value = "simulated")]
    pub clock: ReproduceOn,
    /// Factor by which the network of real hosts is slowed down, in place of each study's value
    #[arg(long, value_name = "N")]
    pub slowdown: Option<u32>,
    #[command(flatten)]
    pub finished: Finished,
    #[command(flatten)]
    pub shared: Shared,
}

/// Platform on which figures are reproduced.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum ReproduceOn {
    /// The simulator
    Simulated,
    /// Real hosts on this machine
    Wall,
}

#[derive(Args, Debug)]
pub struct Report {
    /// Directory with runs; several directories are joined, and the keys that differ become parameters
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Also write each plot as an image file
    #[arg(long, value_name = "FORMAT")]
    pub plots: Option<Picture>,
    /// Show the report in the browser
    #[arg(long)]
    pub open: bool,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub out: Out,
    #[command(flatten)]
    pub quiet: Quiet,
}

#[derive(Args, Debug)]
pub struct Bench {
    /// Workload to measure [default: all]
    #[arg(value_name = "WORKLOAD")]
    pub workload: Option<String>,
    /// Measure each workload N times and print the median
    #[arg(long, value_name = "N", default_value = "1")]
    pub repeat: std::num::NonZeroUsize,
    /// Measure one workload in this process
    #[arg(long, hide = true, requires = "workload")]
    pub within: bool,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub first: FirstSeed,
    #[command(flatten)]
    pub quiet: Quiet,
}

/// Engine that runs jobs.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// Slurm: an array of jobs
    Slurm,
}

/// Format of a job file.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobFile {
    /// HyperQueue
    Hq,
}

/// Kinds of names that can be listed.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    /// Parts of a design's name
    Designs,
    /// Queue disciplines of switch ports
    Disciplines,
    /// Flow sizes
    Workloads,
    /// Kinds of networks and their parameters
    Topologies,
    /// Built-in scenarios
    Scenarios,
    /// Published figures that `reproduce` compares with ours
    Reproductions,
    /// All keys of a scenario
    Keys,
}
