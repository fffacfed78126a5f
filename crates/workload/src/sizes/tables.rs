//! Tables of flow sizes from the literature.
//!
//! The web-search table is from the DCTCP paper (Alizadeh et al., SIGCOMM 2010, Figure 4).
//! The web-search table exists in two variants, because simulators interpret it in different ways.
//! The released ns-2 scripts read its sizes as packets of 1460 bytes, with an atom at the first point.
//! Later simulators, such as HPCC's traffic generator, have a table in bytes that rises from zero.
//! The data-mining table (Greenberg et al., VL2, SIGCOMM 2009) has the same two variants.
//! The mean of a table is computed from its points.

use super::point::Point;
use alloc::vec::Vec;

/// Named table, as `tailcut list workloads` shows it.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Name in scenarios and flags.
    pub name: &'static str,
    /// Description with its source, in one line.
    pub description: &'static str,
    /// Bytes per unit of the table.
    unit: u64,
    /// Whether the first point is an atom (all its probability at one size). If not, the table rises from zero.
    atom: bool,
    table: &'static [(u64, f64)],
}

impl Named {
    /// Returns the points of the cumulative distribution, in bytes.
    pub(super) fn points(&self) -> Vec<Point> {
        let zero = (!self.atom).then_some(Point {
            bytes: 0,
            cumulative: 0.0,
        });
        let table = self.table.iter().map(|&(size, cumulative)| Point {
            bytes: size * self.unit,
            cumulative,
        });
        zero.into_iter().chain(table).collect()
    }
}

const PACKET: u64 = 1460;
const K: u64 = 1_000;
const M: u64 = 1_000_000;

/// All named tables.
pub const NAMES: &[Named] = &[
    Named {
        name: "websearch",
        description: "web search, DCTCP paper (SIGCOMM 2010), packets of 1460 bytes",
        unit: PACKET,
        atom: true,
        table: &[
            (6, 0.15),
            (13, 0.2),
            (19, 0.3),
            (33, 0.4),
            (53, 0.53),
            (133, 0.6),
            (667, 0.7),
            (1333, 0.8),
            (3333, 0.9),
            (6667, 0.97),
            (20_000, 1.0),
        ],
    },
    Named {
        name: "websearch-bytes",
        description: "web search, the same curve tabulated in round bytes, as in HPCC's generator",
        unit: 1,
        atom: false,
        table: &[
            (10 * K, 0.15),
            (20 * K, 0.2),
            (30 * K, 0.3),
            (50 * K, 0.4),
            (80 * K, 0.53),
            (200 * K, 0.6),
            (M, 0.7),
            (2 * M, 0.8),
            (5 * M, 0.9),
            (10 * M, 0.97),
            (30 * M, 1.0),
        ],
    },
    Named {
        name: "datamining",
        description: "data mining, VL2 (SIGCOMM 2009), packets of 1460 bytes; needs very long runs",
        unit: PACKET,
        atom: true,
        table: &[
            (1, 0.5),
            (2, 0.6),
            (3, 0.7),
            (7, 0.8),
            (267, 0.9),
            (2_107, 0.95),
            (66_667, 0.99),
            (666_667, 1.0),
        ],
    },
    Named {
        name: "datamining-bytes",
        description: "data mining, tabulated in bytes up to 1 GB; needs very long runs",
        unit: 1,
        atom: false,
        table: &[
            (180, 0.1),
            (216, 0.2),
            (560, 0.3),
            (900, 0.4),
            (1_100, 0.5),
            (1_870, 0.6),
            (3_160, 0.7),
            (10 * K, 0.8),
            (400 * K, 0.9),
            (3_160 * K, 0.95),
            (100 * M, 0.98),
            (1_000 * M, 1.0),
        ],
    },
    Named {
        name: "facebook-cache",
        description: "Facebook memcached, in bytes: nearly all flows of one packet",
        unit: 1,
        atom: false,
        table: &[
            (3, 0.28),
            (10, 0.32),
            (12, 0.44),
            (75, 0.5),
            (250, 0.75),
            (350, 0.9),
            (1_000, 0.965),
            (2_515, 0.98),
            (6_326, 0.99),
            (10_032, 0.995),
            (15_910, 0.997),
            (23_009, 0.9992),
            (24_094, 0.9996),
            (25_000, 0.9999),
            (100 * K, 0.99999),
            (M, 1.0),
        ],
    },
    Named {
        name: "facebook-hadoop",
        description: "Facebook Hadoop, in bytes, as in HPCC's generator",
        unit: 1,
        atom: false,
        table: &[
            (100, 0.01),
            (200, 0.02),
            (300, 0.05),
            (350, 0.15),
            (400, 0.2),
            (500, 0.3),
            (600, 0.4),
            (700, 0.5),
            (K, 0.6),
            (2 * K, 0.67),
            (7 * K, 0.7),
            (30 * K, 0.72),
            (50 * K, 0.82),
            (80 * K, 0.87),
            (120 * K, 0.9),
            (300 * K, 0.95),
            (M, 0.975),
            (2 * M, 0.99),
            (10 * M, 1.0),
        ],
    },
    Named {
        name: "alibaba-storage",
        description: "Alibaba block storage 2019, in bytes, as in HPCC's generator",
        unit: 1,
        atom: false,
        table: &[
            (4 * K, 0.2293),
            (8 * K, 0.6921),
            (16 * K, 0.8061),
            (32 * K, 0.9047),
            (64 * K, 0.9353),
            (128 * K, 0.9677),
            (256 * K, 0.9753),
            (2 * M, 1.0),
        ],
    },
];
