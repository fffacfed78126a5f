//! Table as aligned text.

use crate::screen::{Screen, broken, units_of};
use crate::table::{Cell, Table};

/// Spaces between two columns.
const GAP: usize = 2;

impl Table {
    /// Returns the table as aligned text with its title and caption, in lines that fit on a screen. Cells are wrapped
    /// between words. Columns without room follow below, with the first column repeated.
    pub fn to_text(&self, screen: Screen) -> String {
        let mut text = format!("{}\n", screen.wrap(&self.title, "  "));
        let columns: Vec<Column> = (0..self.columns.len())
            .map(|index| self.column(index))
            .collect();
        let width = screen.width.map_or(usize::MAX, usize::from);
        for (index, block) in blocks(&columns, width).iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            self.write_block(&mut text, block, &columns, screen);
        }
        if !self.caption.is_empty() {
            text.push_str(&screen.wrap(&self.caption, ""));
            text.push('\n');
        }
        text
    }

    fn column(&self, index: usize) -> Column {
        let cells = self.rows.iter().map(|row| row[index].text.as_str());
        let texts: Vec<&str> = std::iter::once(self.columns[index].as_str())
            .chain(cells)
            .collect();
        let letters = |text: &str| text.chars().count();
        let longest = |text: &&str| units_of(text).iter().map(|unit| letters(unit)).max();
        Column {
            index,
            natural: texts.iter().map(|text| letters(text)).max().unwrap_or(0),
            least: texts.iter().filter_map(longest).max().unwrap_or(0),
        }
    }

    fn write_block(&self, text: &mut String, block: &[usize], columns: &[Column], screen: Screen) {
        let widths = self.widths(block, columns, screen);
        let header = block.iter().map(|&index| Cell::text(&self.columns[index]));
        let header: Vec<Cell> = header.collect();
        write_row(text, &header.iter().collect::<Vec<_>>(), &widths, screen);
        for row in &self.rows {
            let cells: Vec<&Cell> = block.iter().map(|&index| &row[index]).collect();
            write_row(text, &cells, &widths, screen);
        }
    }

    /// Returns the widths of the columns of a block. Each column has room for its longest word. The other room goes to
    /// the columns whose cells have the most lines.
    fn widths(&self, block: &[usize], columns: &[Column], screen: Screen) -> Vec<usize> {
        let gaps = GAP * block.len().saturating_sub(1);
        let room = screen
            .width
            .map_or(usize::MAX, |width| usize::from(width).saturating_sub(gaps));
        let natural: Vec<usize> = block.iter().map(|&index| columns[index].natural).collect();
        if natural.iter().sum::<usize>() <= room {
            return natural;
        }
        let mut widths: Vec<usize> = block.iter().map(|&index| columns[index].least).collect();
        let height = |column: usize, width: usize| {
            let cells = self.rows.iter().map(|row| row[column].text.as_str());
            let texts = std::iter::once(self.columns[column].as_str()).chain(cells);
            texts
                .map(|text| broken(text, width).len())
                .max()
                .unwrap_or(0)
        };
        let mut heights: Vec<usize> = (0..block.len())
            .map(|i| height(block[i], widths[i]))
            .collect();
        while widths.iter().sum::<usize>() < room {
            let narrow = (0..block.len()).filter(|&i| widths[i] < natural[i]);
            let Some(highest) = narrow.max_by_key(|&i| (heights[i], block.len() - i)) else {
                break;
            };
            widths[highest] += 1;
            heights[highest] = height(block[highest], widths[highest]);
        }
        widths
    }
}

/// Column, with its widths in characters.
struct Column {
    index: usize,
    /// Width of the longest cell.
    natural: usize,
    /// Width of the longest word.
    least: usize,
}

/// Returns the columns in blocks that fit next to each other. Each block begins with the first column.
fn blocks(columns: &[Column], width: usize) -> Vec<Vec<usize>> {
    let Some((first, others)) = columns.split_first() else {
        return Vec::new();
    };
    let mut blocks = vec![vec![first.index]];
    let mut used = first.least;
    for column in others {
        let more = GAP + column.least;
        match blocks.last_mut() {
            Some(block) if used + more <= width || block.len() == 1 => {
                block.push(column.index);
                used += more;
            }
            _ => {
                blocks.push(vec![first.index, column.index]);
                used = first.least + more;
            }
        }
    }
    blocks
}

/// Writes a row with as many lines as its highest cell. Numbers are aligned right.
fn write_row(text: &mut String, cells: &[&Cell], widths: &[usize], screen: Screen) {
    let lines: Vec<Vec<String>> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| broken(&cell.text, *width))
        .collect();
    let height = lines.iter().map(Vec::len).max().unwrap_or(0);
    for number in 0..height {
        let mut line = String::new();
        for ((cell, width), lines) in cells.iter().zip(widths).zip(&lines) {
            let part = lines.get(number).map_or("", String::as_str);
            let pad = " ".repeat(width.saturating_sub(part.chars().count()));
            let part = match part.is_empty() {
                true => String::new(),
                false => screen.of_tendency(part, cell.tendency),
            };
            match cell.is_number() {
                true => line.push_str(&format!("{pad}{part}")),
                false => line.push_str(&format!("{part}{pad}")),
            }
            line.push_str(&" ".repeat(GAP));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}
