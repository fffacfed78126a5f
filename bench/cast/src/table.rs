//! Table of the results in Markdown.

use tailcut_units::median;

/// Results of one transfer.
#[derive(Clone, Copy)]
pub struct Sample {
    /// Number of bits that arrived, summed over all receivers.
    pub bits: f64,
    pub seconds: f64,
    /// CPU time of the programs at all ends, in seconds.
    pub ends: f64,
    /// CPU time of the whole machine, in seconds.
    pub machine: f64,
    /// Peak memory in bytes: the sender's value, followed by the largest value of the receivers.
    pub memory: [u64; 2],
}

/// Results of all transfers of one program.
pub struct Row {
    name: &'static str,
    samples: Vec<Sample>,
    pub failed: u32,
}

impl Row {
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            samples: Vec::new(),
            failed: 0,
        }
    }

    pub fn add(&mut self, sample: Sample) {
        self.samples.push(sample);
    }

    fn cell(&self, value: impl Fn(&Sample) -> f64) -> String {
        let mut values: Vec<f64> = self.samples.iter().map(value).collect();
        match median(&mut values) {
            None => "none".to_owned(),
            Some(median) => {
                format!(
                    "{median:.2} ({:.2} to {:.2})",
                    values[0],
                    values[values.len() - 1]
                )
            }
        }
    }
}

/// Prints medians, with the minimum and the maximum in brackets.
/// With six or more rounds, the range between them contains the true median with a probability of at least 96.9 %.
pub fn print(rows: &[Row]) {
    println!(
        "| program | n | Gbit per CPU-second of all ends | Gbit per CPU-second of the machine | Gb/s | seconds | peak MB, sender and receiver |"
    );
    println!("|---|---|---|---|---|---|---|");
    for row in rows {
        let memory = |end: usize| {
            row.samples
                .iter()
                .map(|one| one.memory[end])
                .max()
                .unwrap_or(0)
                / 1_000_000
        };
        let failed = if row.failed > 0 {
            format!(", {} failed", row.failed)
        } else {
            String::new()
        };
        println!(
            "| {} | {}{failed} | {} | {} | {} | {} | {}, {} |",
            row.name,
            row.samples.len(),
            row.cell(|one| one.bits / one.ends / 1e9),
            row.cell(|one| one.bits / one.machine / 1e9),
            row.cell(|one| one.bits / one.seconds / 1e9),
            row.cell(|one| one.seconds),
            memory(0),
            memory(1),
        );
    }
}
