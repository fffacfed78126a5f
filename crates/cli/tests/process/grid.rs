//! Grid of cases that the tests run on all engines. The flows are a tenth of the flows of `make demo`.

/// Arguments of the grid: three keys with four values each, and ten seeds. Each case takes less than a second.
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

/// Number of cases of the grid.
pub const CASES: usize = 640;
