//! The command line. Help, man page and completions come from these definitions.

use crate::shared::{FirstSeed, Json, JsonOfAll, Out, Seeds, Shared, Threads};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;
use tailcut_scenario::record::Earlier;
use tailcut_units::quantity;

/// Compare designs for short transfers in multi-path data-centre networks.
///
/// A design is named `[replication+]transport[@routing]`: tcp, dctcp, repflow, repsyn,
/// repflow+dctcp, dctcp@spray. `tailcut compare tcp repflow` simulates both under the same flows and
/// says which has the better tail.
#[derive(Parser, Debug)]
#[command(name = "tailcut", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Compare designs on one workload and say which has the better tail
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
    /// Run a scenario from a file (see docs/scenario.md), or one that is built in
    #[command(after_help = "\
Examples:
  tailcut run scenarios/two-racks.toml
  tailcut run scenarios/two-racks.toml --sweep queue.limit=25..400*2
  tailcut run two-racks --sweep tcp.min_rto=1,5,10ms --sweep tcp.initial_rto=3,15,30ms \\
      --zip tcp.min_rto,tcp.initial_rto
  tailcut run storage-rate.toml --find-limit workload.sessions_per_second=5000..30000 p99=5ms")]
    Run(Run),
    /// Run what a paper has published, and print ours beside theirs
    Reproduce(Reproduce),
    /// Plan a study as cases that any number of processes run, watch it, and collect its results
    Study(StudyOf),
    /// Run cases of a planned study; those that are done, or that another process is at, are skipped
    #[command(after_help = "\
Exit codes: 0 all of these cases are done, 3 some failed, 4 another process is at some,
130 interrupted, 2 wrong input or the system refused.

Examples:
  tailcut case grid
  tailcut case grid 0..11 --threads 1
  seq 0 35 | xargs -P 4 -I{} tailcut case grid {} --threads 1")]
    Case(Case),
    /// Write the report of finished runs again, of one study or of several as one, and their plots as
    /// pictures
    Report(Report),
    /// List the names that other commands take
    List(List),
    /// Run programs on Linux hosts of their own, over this simulator's switches, in wall-clock time
    #[cfg(all(feature = "lab", target_os = "linux"))]
    #[command(subcommand)]
    Lab(tailcut_lab::command::LabCommand),
    /// Run programs on Linux hosts of their own: not in this build
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
    /// Tell what RepNet would gain on this network, by handshakes with a server, without root
    #[cfg(all(feature = "probe", target_os = "linux"))]
    #[command(after_help = "\
Examples:
  tailcut probe web1:443
  tailcut probe 10.1.2.3:6379 --volleys 1000 --out probe-of-redis
  tailcut probe web1:443 --every 5m --for 6h --out probe-of-a-day")]
    Probe(ProbeOf),
    /// Tell what RepNet would gain on this network: not in this build
    #[cfg(not(all(feature = "probe", target_os = "linux")))]
    #[command(hide = true)]
    Probe(Absent),
    /// Carry connections of any program over two paths, as a sidecar
    #[cfg(feature = "proxy")]
    #[command(subcommand)]
    Proxy(tailcut_repnet::proxy::ProxyCommand),
    /// Carry connections of any program over two paths: not in this build
    #[cfg(not(feature = "proxy"))]
    #[command(hide = true)]
    Proxy(Absent),
    /// Stand before an HTTP service: bounded concurrency, three classes, work dropped when its client leaves
    #[cfg(feature = "guard")]
    Guard(tailcut_rans::guard::program::GuardCommand),
    /// Stand before an HTTP service: not in this build
    #[cfg(not(feature = "guard"))]
    #[command(hide = true)]
    Guard(Absent),
    /// Stand before replicas of an HTTP service: requests go to two of them, the first good answer counts
    #[cfg(feature = "gateway")]
    Gateway(tailcut_rans::gateway::GatewayCommand),
    /// Stand before replicas of an HTTP service: not in this build
    #[cfg(not(feature = "gateway"))]
    #[command(hide = true)]
    Gateway(Absent),
    /// Measure the speed of the simulator on this machine, on one core; with lab-udp, lab-queue, lab-tcp or
    /// lab-12x100M that of the lab
    Bench(Bench),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page
    Man,
}

/// What follows a command that is not in this build. Nobody reads it, and a whole build has none.
#[allow(dead_code)]
#[derive(Args, Debug)]
pub struct Absent {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<std::ffi::OsString>,
}

/// What may be changed of a scenario on the command line.
#[derive(Args, Clone, Default, Debug)]
pub struct Changes {
    /// Flow sizes by name (`tailcut list workloads`), fixed:BYTES, table:FILE.csv,
    /// requests:SIZES, or trace:FILE.csv
    #[arg(long, short, value_name = "WORKLOAD")]
    pub workload: Option<String>,
    /// The network, KIND or KIND:KEY=VALUE,... (`tailcut list topologies`)
    #[arg(long, short, value_name = "TOPOLOGY")]
    pub topology: Option<String>,
    /// Loads of the sending hosts' links, unless workload.load_of says whose; of the servers' busiest
    /// stations for requests. One, a list A,B,C, or a range A..B or A..B:STEP
    #[arg(long, short, value_name = "LOADS")]
    pub load: Option<String>,
    /// Who sends to whom
    #[arg(long, value_name = "MATRIX")]
    pub matrix: Option<String>,
    /// The arrival process: poisson, uniform or fixed
    #[arg(long, value_name = "PROCESS")]
    pub arrivals: Option<String>,
    /// How long flows arrive, in simulated time, such as 100ms
    #[arg(long, value_name = "TIME")]
    pub duration: Option<String>,
    /// How many flows there are at most
    #[arg(long, value_name = "N")]
    pub flows: Option<String>,
    /// The clock that runs are under: simulated, wall (real hosts, docs/lab.md) or both
    #[arg(long, value_name = "CLOCK")]
    pub clock: Option<String>,
    /// How many times slower real hosts' network runs
    #[arg(long, value_name = "N")]
    pub slowdown: Option<String>,
    /// Set any key of a scenario (`tailcut list keys`); may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Run with each value of any key: a list V1,V2,... or a range FROM..TO:STEP or FROM..TO*FACTOR.
    /// Several make a grid
    #[arg(long, value_name = "KEY=VALUES")]
    pub sweep: Vec<String>,
    /// Let swept keys change together, their first values first; may be given several times
    #[arg(long, value_name = "KEY,KEY")]
    pub zip: Vec<String>,
}

/// What else is run of a study.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct Variants {
    /// Run everything again with timers and buffers halved and doubled, one at a time, and say whether
    /// the order of the designs holds: five times as many runs
    #[arg(long)]
    pub sensitivity: bool,
}

/// A limit that is searched for.
#[derive(Args, Clone, Default, Debug)]
pub struct FindLimit {
    /// Find between which values of a key a figure passes a time, for each design: by bisection, with
    /// 6, 12 or 24 seeds at a point (--seeds: the most). METRIC is mean, p50, p95, p99 or p99.9 of what
    /// an answer is about: mice, requests, or sessions. Loads are searched from 0.05 to 1, other keys
    /// over what the scenario sweeps, unless =LOW..HIGH says where
    #[arg(
        long,
        num_args = 2,
        action = clap::ArgAction::Set,
        value_names = ["KEY[=LOW..HIGH]", "METRIC=VALUE"],
        conflicts_with = "sensitivity"
    )]
    pub find_limit: Option<Vec<String>>,
}

/// What becomes of runs that the directory holds already.
#[derive(Args, Clone, Copy, Default, Debug)]
pub struct Finished {
    /// Take finished runs of other builds of tailcut, too
    #[arg(long)]
    pub accept_older: bool,
    /// Remove the runs that the directory holds, and start over
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
    /// Designs, each with settings of its own if wanted (DESIGN:KEY=VALUE,...); the others are compared
    /// with the first
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
    /// The scenario's file, or the name of one that is built in (`tailcut list scenarios`)
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

/// What is captured of the packets, for tshark and Wireshark.
#[derive(Args, Clone, Default, Debug)]
pub struct Capture {
    /// Write packets into captures/ (pcapng): those of a host by its name (h3), of a port
    /// ('h3>leaf[0]'), or of all hosts
    #[arg(long, value_name = "HOST|PORT|all", conflicts_with = "find_limit")]
    pub capture: Option<String>,
    /// The most bytes of a capture file [default: 100MB]
    #[arg(long, value_name = "BYTES", requires = "capture")]
    pub capture_bytes: Option<String>,
    /// Capture the first N flows that come by [default: all]
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
    /// What to list
    pub what: Listing,
    #[command(flatten)]
    pub json: Json,
}

#[derive(Subcommand, Debug)]
pub enum Study {
    /// Write the plan of a study: its cases, and the CPU time that they are expected to take
    #[command(after_help = "\
Examples:
  tailcut study plan grid tcp dctcp --sweep queue.limit=50,100,200 --seeds 6
  tailcut study plan grid --scenario scenarios/two-racks.toml --load 0.1..0.7:0.2")]
    Plan(Box<Plan>),
    /// Have an engine run the cases that wait, as jobs: Slurm, as an array
    #[command(after_help = "\
Examples:
  tailcut study submit grid --on slurm --partition short --at-most 100
  tailcut study submit grid --on slurm --print > grid.sh
  tailcut study submit grid --on slurm -- --mem=2G --constraint=avx2")]
    Submit(Submit),
    /// Say which cases are done, failed, running or waiting, and how much CPU time is to go
    Status(Status),
    /// Make of the results what `compare` would have written, and print its answer
    Collect(Collect),
    /// Let failed cases be run again
    Retry(StudyAt),
    /// Remove results that are no longer planned, and what processes left that have ended
    Prune(Prune),
}

#[derive(Args, Debug)]
pub struct StudyAt {
    /// The study's directory
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
    /// The study's directory: new, empty, or that of a study, whose results are kept
    pub dir: PathBuf,
    /// Designs, as `compare` takes them
    #[arg(
        value_name = "DESIGN",
        required_unless_present = "scenario",
        conflicts_with = "scenario"
    )]
    pub designs: Vec<String>,
    /// The scenario's file, or the name of one that is built in, as `run` takes it
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    #[command(flatten)]
    pub changes: Changes,
    /// Plan also what takes more than a day of CPU time
    #[arg(long)]
    pub yes: bool,
    /// Also write the cases that wait as a job file. hq: DIR/hq.toml for HyperQueue, whose program has
    /// not been tested with it
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<JobFile>,
    #[command(flatten)]
    pub seeds: Seeds,
    #[command(flatten)]
    pub threads: Threads,
}

#[derive(Args, Debug)]
pub struct Submit {
    /// The study's directory, which all machines of the engine see under this path
    pub dir: PathBuf,
    /// The engine
    #[arg(long, value_name = "ENGINE")]
    pub on: Engine,
    /// Print the script, and submit nothing
    #[arg(long)]
    pub print: bool,
    /// The partition that the jobs run in
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// The account that pays for them
    #[arg(long, value_name = "NAME")]
    pub account: Option<String>,
    /// The most time of a job, as sbatch takes it [default: four times what its cases are expected to
    /// take, and 10 minutes]
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<String>,
    /// How many jobs run at the same time at most
    #[arg(long, value_name = "N")]
    pub at_most: Option<std::num::NonZeroUsize>,
    /// The CPU time that the cases of a job are expected to take, at least
    #[arg(long, value_name = "SECONDS", default_value = "60")]
    pub chunk: std::num::NonZeroU32,
    /// Further flags of sbatch
    #[arg(last = true, value_name = "FLAG")]
    pub flags: Vec<String>,
}

#[derive(Args, Debug)]
pub struct Collect {
    #[command(flatten)]
    pub study: StudyAt,
    /// Collect what is done where cases are missing or have failed
    #[arg(long)]
    pub partial: bool,
    /// Take cases of several builds of tailcut, too
    #[arg(long)]
    pub accept_older: bool,
    #[command(flatten)]
    pub out: Out,
}

#[derive(Args, Debug)]
pub struct Prune {
    #[command(flatten)]
    pub study: StudyAt,
    /// Remove it; without this only say what would be removed
    #[arg(long)]
    pub yes: bool,
}

#[derive(Args, Debug)]
pub struct Case {
    /// The study's directory
    pub dir: PathBuf,
    /// Which cases, by their places from 0: I, I..J (both ends included), I.. or ..J, or a list of these
    /// such as 0..3,7 [default: all]
    #[arg(value_name = "I..J", allow_hyphen_values = true)]
    pub cases: Option<String>,
    /// How long to wait for cases that other processes are at, once there is nothing else to run: a case
    /// is run whose process gives it up, or is silent for a minute
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub wait: u64,
    /// Run them within this process
    #[arg(long, hide = true)]
    pub within: bool,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub threads: Threads,
}

#[derive(Args, Debug)]
pub struct Reproduce {
    /// Which one; all of them when it is left out
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Shorter runs, for minutes rather than hours; bands are those of the full runs
    #[arg(long)]
    pub quick: bool,
    /// Exit with 1 when a row leaves its band, or when too few of the rows with a published number
    /// are decided
    #[arg(long)]
    pub check: bool,
    /// Put the rows into the tables of this Markdown page, after its lines `<!-- rows of NAME -->`,
    /// and list the runs behind them beside it, in PAGE.runs.json
    #[arg(long, value_name = "PAGE.md")]
    pub page: Option<PathBuf>,
    /// The clock that runs are under: simulated, or wall (real hosts, docs/lab.md)
    #[arg(long, value_name = "CLOCK", default_value = "simulated")]
    pub clock: ReproduceOn,
    /// How many times slower real hosts' network runs than each study says
    #[arg(long, value_name = "N")]
    pub slowdown: Option<u32>,
    #[command(flatten)]
    pub finished: Finished,
    #[command(flatten)]
    pub shared: Shared,
}

/// What a figure is reproduced on.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub enum ReproduceOn {
    /// The simulator
    Simulated,
    /// Real hosts on this machine
    Wall,
}

#[derive(Args, Debug)]
pub struct Report {
    /// The directory of the runs; several are joined by the keys that they differ in
    #[arg(required = true, value_name = "DIR")]
    pub dirs: Vec<PathBuf>,
    /// Also write each plot as a picture
    #[arg(long, value_name = "FORMAT")]
    pub plots: Option<Picture>,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub out: Out,
}

#[derive(Args, Debug)]
pub struct Bench {
    /// Only this workload
    #[arg(value_name = "WORKLOAD")]
    pub workload: Option<String>,
    /// Measure each workload N times and give the median
    #[arg(long, value_name = "N", default_value = "1")]
    pub repeat: std::num::NonZeroUsize,
    /// Measure one workload within this process
    #[arg(long, hide = true, requires = "workload")]
    pub within: bool,
    #[command(flatten)]
    pub json: Json,
    #[command(flatten)]
    pub first: FirstSeed,
}

/// What runs jobs.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Engine {
    /// Slurm: an array of jobs
    Slurm,
}

/// The format of a job file.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobFile {
    /// HyperQueue's
    Hq,
}

/// The format of a picture.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Picture {
    /// Scalable
    Svg,
    /// Pixels
    Png,
}

/// What can be listed.
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
    /// Scenarios that are built in
    Scenarios,
    /// Every key of a scenario
    Keys,
}
