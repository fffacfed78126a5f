//! Width and colours of the output to which text is written, and line breaks for this width.

use crate::table::Tendency;

/// Output to which text is written: a terminal, a pipe or a file.
#[derive(Clone, Copy, Default, Debug)]
pub struct Screen {
    /// Maximum number of characters in a line; `None` for no limit.
    pub width: Option<u16>,
    /// Whether the output shows colours.
    pub colours: bool,
}

impl Screen {
    /// Returns text with line breaks that fit the width.
    /// Lines are broken only at spaces, so a very long word stays whole.
    /// All lines of a paragraph except the first line begin with `indent`.
    pub fn wrap(&self, text: &str, indent: &str) -> String {
        let Some(width) = self.width else {
            return text.to_owned();
        };
        let width = usize::from(width);
        let lines = text.split('\n').map(|line| {
            if line.chars().count() <= width {
                return line.to_owned();
            }
            let text = line.trim_start_matches(' ');
            let lead = &line[..line.len() - text.len()];
            let room = width.saturating_sub(lead.len() + indent.len());
            let parts = broken(text, room);
            format!("{lead}{}", parts.join(&format!("\n{lead}{indent}")))
        });
        lines.collect::<Vec<String>>().join("\n")
    }

    /// Returns text in bold letters if the output shows colours.
    pub fn bold(&self, text: &str) -> String {
        self.styled(text, "1")
    }

    /// Returns text in the colour of a significant difference, if the output shows colours.
    pub(crate) fn of_tendency(&self, text: &str, tendency: Option<Tendency>) -> String {
        match tendency {
            Some(Tendency::Better) => self.styled(text, "32"),
            Some(Tendency::Worse) => self.styled(text, "31"),
            None => text.to_owned(),
        }
    }

    /// Returns text with the ANSI escape codes of a style, if the output shows colours.
    fn styled(&self, text: &str, code: &str) -> String {
        match self.colours {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }
}

/// Returns the parts of a text that must not be broken: words, and numbers together with their units.
pub(crate) fn units_of(text: &str) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let follows_number = units
            .last()
            .is_some_and(|last| last.ends_with(|c: char| c.is_ascii_digit()));
        match units.last_mut() {
            Some(last) if follows_number && is_unit(word) => last.push_str(&format!(" {word}")),
            _ => units.push(word.to_owned()),
        }
    }
    units
}

/// Returns whether a word is a unit, such as `%`, `ms` or `KB`.
fn is_unit(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '%');
    matches!(
        word,
        "%" | "ns" | "us" | "µs" | "ms" | "s" | "B" | "KB" | "MB" | "GB" | "Gb/s" | "Mb/s"
    )
}

/// Breaks a line into lines of at most `width` characters.
pub(crate) fn broken(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width {
        return vec![line.to_owned()];
    }
    let mut lines = vec![String::new()];
    let mut length = 0;
    for (index, unit) in units_of(line).into_iter().enumerate() {
        let letters = unit.chars().count();
        match lines.last_mut() {
            Some(last) if index == 0 || length + 1 + letters <= width => {
                if index > 0 {
                    last.push(' ');
                    length += 1;
                }
                last.push_str(&unit);
                length += letters;
            }
            _ => {
                lines.push(unit);
                length = letters;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_not_before_a_unit() {
        let screen = Screen {
            width: Some(20),
            colours: false,
        };
        let text = screen.wrap("- the mean of mice falls by 41 % (95 % CI)\nend", "  ");
        assert_eq!(
            text,
            "- the mean of mice\n  falls by 41 %\n  (95 % CI)\nend"
        );
        let long = screen.wrap("a-word-that-is-longer-than-a-line and more", "");
        assert_eq!(long, "a-word-that-is-longer-than-a-line\nand more");
        let indented = screen.wrap("  a-word-that-is-longer-than-a-line", "  ");
        assert_eq!(indented, "  a-word-that-is-longer-than-a-line");
    }
}
