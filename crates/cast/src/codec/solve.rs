//! The missing source symbols as sums of what has arrived.

use super::kernel::{Kernel, inverse};

/// A system of equations: one for each repair symbol that is used, over the missing source symbols.
///
/// A line has a factor for each source symbol and then one for each used repair symbol. It says: the
/// sum of the source symbols equals that of the repair symbols. Lines are added, times factors, until
/// each has only one missing symbol, times 1.
pub(super) struct System {
    kernel: Kernel,
    source_symbols: usize,
    missing: Vec<usize>,
    /// Bytes from one line to the next: a multiple of the longest vector, so that none has a rest.
    stride: usize,
    lines: Vec<u8>,
    /// The missing symbol that is times 1 in a line and has been taken out of the later ones.
    pivots: Vec<usize>,
    scratch: Vec<u8>,
}

impl System {
    /// No equation yet for the source symbols `missing`, which ascend, of `source_symbols`.
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

    /// Whether there are as many independent equations as missing symbols.
    pub(super) fn is_solvable(&self) -> bool {
        self.pivots.len() == self.missing.len()
    }

    /// The equation of one more repair symbol, by its row of the generator. Says whether it is used: it
    /// is not if it follows from those before.
    pub(super) fn add(&mut self, row: &[u8]) -> bool {
        if self.is_solvable() {
            return false;
        }
        let line = &mut self.scratch;
        line.fill(0);
        line[..self.source_symbols].copy_from_slice(row);
        line[self.source_symbols + self.pivots.len()] = 1;
        for (&pivot, earlier) in self.pivots.iter().zip(self.lines.chunks(self.stride)) {
            let factor = line[pivot];
            if factor != 0 {
                self.kernel.add_scaled(line, earlier, factor);
            }
        }
        // Those that are pivots already are times 0.
        let Some(&pivot) = self.missing.iter().find(|&&symbol| line[symbol] != 0) else {
            return false;
        };
        let place = self.pivots.len() * self.stride;
        let place = &mut self.lines[place..place + self.stride];
        self.kernel.add_scaled(place, line, inverse(line[pivot]));
        self.pivots.push(pivot);
        true
    }

    /// For each missing symbol, in their order, the factors of the source symbols that are there, in
    /// theirs, and of the used repair symbols. Only if it is solvable.
    pub(super) fn solve(mut self) -> Vec<u8> {
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
