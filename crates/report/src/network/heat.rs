//! Encoding of values as levels. A level is one character in the data of the page, and one class in a drawing.

/// Returns the characters of the levels in ascending order.
/// The characters of the levels need no escape in JSON or in a script element.
fn letters() -> impl Iterator<Item = char> {
    ('#'..='~').filter(|letter| !matches!(letter, '<' | '\\'))
}

/// Highest level. The lowest level is 0.
pub(super) const FULL: u8 = 89;

/// Returns the level of a share, 0 to 1. A share above zero has at least level 1.
pub(super) fn level(share: f64) -> u8 {
    let level = (share * f64::from(FULL))
        .round()
        .clamp(0.0, f64::from(FULL)) as u8;
    match share > 0.0 {
        true => level.max(1),
        false => 0,
    }
}

/// Returns the share that a level represents.
pub(super) fn share(level: u8) -> f64 {
    f64::from(level) / f64::from(FULL)
}

/// Returns levels as a text with one character for each level.
pub(super) fn text(levels: impl Iterator<Item = u8>) -> String {
    let letters: Vec<char> = letters().collect();
    levels.map(|level| letters[usize::from(level)]).collect()
}

/// Returns the characters of all levels in ascending order, for the script of the page.
pub(super) fn alphabet() -> String {
    letters().collect()
}

/// Lowest level of each step of a scale. A level belongs to the highest step that it reaches.
pub(super) type Steps = &'static [u8];

/// Steps of utilisation: idle, above 0, and from 20, 40, 60, 80 and 95 %.
pub(super) const BUSY: Steps = &[0, 1, 18, 36, 54, 72, 85];

/// Steps of backlog, as a share of the longest backlog in the drawing: none, above 0, and from 10, 40 and 70 %.
pub(super) const WAITING: Steps = &[0, 1, 9, 36, 63];

/// Returns the step to which a level belongs.
pub(super) fn step(steps: Steps, level: u8) -> usize {
    steps.partition_point(|from| *from <= level) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_has_a_character_of_its_own() {
        let alphabet = alphabet();
        assert_eq!(alphabet.chars().count(), usize::from(FULL) + 1);
        assert_eq!(text(0..=FULL), alphabet);
        assert!(!alphabet.contains(['<', '\\', '"']));
    }

    #[test]
    fn a_level_is_within_half_a_level_of_its_share_and_nothing_is_only_nothing() {
        for thousandth in 0..=1_000 {
            let value = f64::from(thousandth) / 1_000.0;
            let error = (share(level(value)) - value).abs();
            assert!(error <= 0.5 / f64::from(FULL) + 1e-9 || level(value) == 1);
            assert_eq!(level(value) == 0, thousandth == 0);
        }
        assert_eq!(level(7.0), FULL);
    }

    #[test]
    fn steps_begin_where_the_legend_says() {
        let reached = [0.0, 0.001, 0.19, 0.21, 0.94, 0.96, 1.0].map(|s| step(BUSY, level(s)));
        assert_eq!(reached, [0, 1, 1, 2, 5, 6, 6]);
        let waiting = [0.0, 0.01, 0.11, 0.5, 0.8].map(|s| step(WAITING, level(s)));
        assert_eq!(waiting, [0, 1, 2, 3, 4]);
    }
}
