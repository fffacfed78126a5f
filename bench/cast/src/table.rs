//! What was measured, as a table in Markdown.

use tailcut_units::median;

/// One transfer.
#[derive(Clone, Copy)]
pub struct Sample {
    /// Bits that arrived, at all receivers together.
    pub bits: f64,
    pub seconds: f64,
    /// Seconds of CPU of the programs at all ends.
    pub ends: f64,
    /// Seconds of CPU of the whole machine.
    pub machine: f64,
    /// The most memory of a sender and of a receiver, in bytes.
    pub memory: [u64; 2],
}

/// All transfers of one program.
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

/// Medians, and in brackets the least and the most: with six rounds or more that interval holds the true
/// median with at least 96.9 %.
pub fn print(rows: &[Row]) {
    println!(
        "| program | n | Gbit a CPU-second of all ends | of the whole machine | Gb/s | seconds | peak MB, sender and receiver |"
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
