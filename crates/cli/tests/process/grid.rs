//! A grid that every engine runs: a tenth of the flows of `make demo`.

/// Three keys with four values each, and ten seeds: cases that take a moment.
pub const GRID: [&str; 15] = [
    "tcp",
    "--topology",
    "leaf-spine:leaves=2,spines=2,hosts=3",
    "--workload",
    "fixed:20KB",
    "--flows",
    "100",
    "--seeds",
    "10",
    "--sweep",
    "queue.limit=10,25,50,100",
    "--sweep",
    "tcp.min_rto=1,2,5,10ms",
    "--sweep",
    "tcp.initial_window=2,4,10,20 segments",
];

/// Its cases.
pub const CASES: usize = 640;
