//! Computes the missing source symbols as sums of symbols that have arrived.

use super::kernel::{Kernel, inverse};

/// System of linear equations for the missing source symbols. Each used repair symbol gives one equation.
///
/// A line of the system has a factor for each source symbol, followed by a factor for each used repair symbol.
/// The line states that the sum of the source symbols equals the sum of the repair symbols.
/// Lines are multiplied by factors and added to each other.
/// At the end, each line has only one missing symbol, with the factor 1.
pub(super) struct System {
    kernel: Kernel,
    source_symbols: usize,
    missing: Vec<usize>,
    /// Distance in bytes between the starts of two lines. It is a multiple of the longest vector.
    /// So the loops need no code for a shorter last vector.
    stride: usize,
    lines: Vec<u8>,
    /// Pivot of each line: the missing symbol that has the factor 1 in this line and the factor 0 in all later lines.
    pivots: Vec<usize>,
    scratch: Vec<u8>,
}

impl System {
    /// Creates a system without equations. The block has `source_symbols` source symbols.
    /// `missing` contains the missing source symbols in ascending order.
    pub(super) fn new(kernel: Kernel, source_symbols: usize, missing: Vec<usize>) -> Self {
        let stride = (source_symbols + missing.len()).next_multiple_of(64);
        Self {
            kernel,
            source_symbols,
            stride,
            lines: vec![0; stride * missing.len()],
            pivots: Vec::with_capacity(missing.len()),
            scratch: vec![0; stride],
            missing,
        }
    }

    /// Returns whether the system has as many independent equations as missing symbols.
    pub(super) fn is_solvable(&self) -> bool {
        self.pivots.len() == self.missing.len()
    }

    /// Adds the equation of a repair symbol, which is its row of the generator matrix.
    /// Returns whether the symbol is used. A symbol is not used if its equation follows from the earlier equations.
    pub(super) fn add(&mut self, row: &[u8]) -> bool {
        if self.is_solvable() {
            return false;
        }
        // The line is computed in a separate buffer. So a dependent equation changes nothing.
        let line = &mut self.scratch;
        line.fill(0);
        line[..self.source_symbols].copy_from_slice(row);
        // This column contains the factor of the repair symbol itself.
        line[self.source_symbols + self.pivots.len()] = 1;
        for (&pivot, earlier) in self.pivots.iter().zip(self.lines.chunks(self.stride)) {
            let factor = line[pivot];
            if factor != 0 {
                self.kernel.add_scaled(line, earlier, factor);
            }
        }
        // Earlier pivots already have the factor 0 in this line.
        // If no missing symbol is left, the equation follows from the earlier equations.
        let Some(&pivot) = self.missing.iter().find(|&&symbol| line[symbol] != 0) else {
            return false;
        };
        let place = self.pivots.len() * self.stride;
        let place = &mut self.lines[place..place + self.stride];
        self.kernel.add_scaled(place, line, inverse(line[pivot]));
        self.pivots.push(pivot);
        true
    }

    /// Returns a row of factors for each missing symbol, in ascending order.
    /// A row begins with the factors of the source symbols that have arrived, in ascending order.
    /// The factors of the used repair symbols follow. The system must be solvable.
    pub(super) fn solve(mut self) -> Vec<u8> {
        // Each pivot has the factor 0 in all later lines.
        // The elimination begins at the last line, so that an eliminated factor stays 0.
        for (later, &pivot) in self.pivots.iter().enumerate().rev() {
            let (before, line) = self.lines.split_at_mut(later * self.stride);
            let line = &line[..self.stride];
            for earlier in before.chunks_mut(self.stride) {
                let factor = earlier[pivot];
                if factor != 0 {
                    self.kernel.add_scaled(earlier, line, factor);
                }
            }
        }
        let columns = self.source_symbols + self.missing.len();
        let mut factors = Vec::with_capacity(self.source_symbols * self.missing.len());
        for symbol in &self.missing {
            let line = self.pivots.iter().position(|pivot| pivot == symbol);
            let line = &self.lines[line.map_or(0, |line| line * self.stride)..];
            let mut from = 0;
            for &missing in &self.missing {
                factors.extend_from_slice(&line[from..missing]);
                from = missing + 1;
            }
            factors.extend_from_slice(&line[from..columns]);
        }
        factors
    }
}
