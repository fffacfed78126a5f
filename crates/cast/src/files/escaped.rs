//! Paths as text for a terminal.
//! A name may contain any byte except `/` and 0, so also characters that control a terminal.

use std::fmt::{self, Write};
use std::path::Path;

/// Path whose control characters are displayed as escapes, such as `\u{1b}`. A backslash is displayed as two.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(pub &'a Path);

/// Returns whether a character changes the order or the lines of the text around it.
const fn steers(letter: char) -> bool {
    matches!(
        letter,
        '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for letter in self.0.to_string_lossy().chars() {
            match letter {
                '\\' => f.write_str("\\\\")?,
                letter if letter.is_control() || steers(letter) => {
                    write!(f, "{}", letter.escape_default())?;
                }
                letter => f.write_char(letter)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Escaped;
    use std::path::Path;

    #[test]
    fn a_name_cannot_steer_a_terminal_or_forge_a_line() {
        let name = Path::new("a\u{1b}[2J\u{7}\nb\u{9b}1m\u{202e}c\\d");
        let expected = r"a\u{1b}[2J\u{7}\nb\u{9b}1m\u{202e}c\\d";
        assert_eq!(Escaped(name).to_string(), expected);
        let usual = Path::new("/srv/models/Größe 1.bin");
        assert_eq!(Escaped(usual).to_string(), "/srv/models/Größe 1.bin");
    }
}
