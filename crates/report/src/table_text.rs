//! Conversion of tables to aligned text.

use crate::screen::{Screen, broken, units_of};
use crate::table::{Cell, Table};

/// Number of spaces between two columns.
const GAP: usize = 2;

impl Table {
    /// Returns the table as aligned text, with its title and caption. The lines fit the width of the screen.
    /// Cells are broken between words. Columns that do not fit follow in further blocks below.
    /// Each block starts with the columns that name the rows.
    pub fn to_text(&self, screen: Screen) -> String {
        let mut text = format!("{}\n", screen.wrap(&self.title, "  "));
        let columns: Vec<Column> = (0..self.columns.len())
            .map(|index| self.column(index))
            .collect();
        let width = screen.width.map_or(usize::MAX, usize::from);
        for (index, block) in blocks(&columns, self.keys(), width).iter().enumerate() {
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

    /// Returns the number of columns that name the rows: all columns up to the design, or only the first column.
    fn keys(&self) -> usize {
        let design = self.columns.iter().position(|name| name == "design");
        design
            .filter(|place| *place < 3)
            .map_or(1, |place| place + 1)
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

    /// Returns the widths of the columns of a block. Each column has space for its longest word.
    /// The remaining space is given to the columns whose cells have the most lines.
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
        let texts = |column: usize| {
            let cells = self.rows.iter().map(move |row| row[column].text.as_str());
            std::iter::once(self.columns[column].as_str()).chain(cells)
        };
        let height = |column: usize, width: usize| {
            let heights = texts(column).map(|text| broken(text, width).len());
            heights.max().unwrap_or(0)
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
        // If no line of a column uses the whole width, the column becomes narrower.
        let longest = |column: usize, width: usize| {
            let lines = texts(column).flat_map(|text| broken(text, width));
            lines.map(|line| line.chars().count()).max().unwrap_or(0)
        };
        let widths = block.iter().zip(&widths);
        widths
            .map(|(&column, &width)| longest(column, width))
            .collect()
    }
}

/// Column of a table, with its widths in characters.
struct Column {
    index: usize,
    /// Width of the column's longest cell.
    natural: usize,
    /// Width of the column's longest word.
    least: usize,
}

/// Returns the columns in blocks. The columns of a block fit next to each other.
/// Each block begins with the first `keys` columns, which name the rows.
fn blocks(columns: &[Column], keys: usize, width: usize) -> Vec<Vec<usize>> {
    let (keys, others) = columns.split_at(keys.min(columns.len()));
    let indices = || keys.iter().map(|key| key.index).collect::<Vec<usize>>();
    let of_keys: usize = keys.iter().map(|key| GAP + key.least).sum();
    let mut blocks = vec![indices()];
    let mut used = of_keys;
    for column in others {
        let is_empty = blocks.last().is_none_or(|block| block.len() == keys.len());
        if used + column.least > width && !is_empty {
            blocks.push(indices());
            used = of_keys;
        }
        if let Some(block) = blocks.last_mut() {
            block.push(column.index);
        }
        used += column.least + GAP;
    }
    blocks
}

/// Writes a row with as many lines as its highest cell. Cells with numbers are aligned right.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wide_table_wraps_between_words_and_names_its_rows_again() {
        let row = |design: &str| {
            let cells = [
                "10.3 ms (10.2 to 12.3)",
                "unfinished",
                "12,345",
                "unlimited",
            ];
            let mut row = vec![Cell::text(design)];
            row.extend(cells.map(Cell::text));
            row
        };
        let table = Table {
            id: String::new(),
            title: "Mice".to_owned(),
            caption: String::new(),
            columns: ["design", "p99", "state", "flows", "limit"]
                .map(str::to_owned)
                .to_vec(),
            rows: vec![row("tcp"), row("dctcp")],
        };
        let screen = Screen {
            width: Some(40),
            colours: false,
        };
        let text = table.to_text(screen);
        let expected = "Mice\n\
                        design  p99       state       flows\n\
                        tcp     10.3 ms   unfinished  12,345\n\
                        \x20       (10.2 to\n\
                        \x20       12.3)\n\
                        dctcp   10.3 ms   unfinished  12,345\n\
                        \x20       (10.2 to\n\
                        \x20       12.3)\n\
                        \n\
                        design  limit\n\
                        tcp     unlimited\n\
                        dctcp   unlimited\n";
        assert_eq!(text, expected);
    }
}
