//! Measured part of a run: the flows, requests and sessions from which a study takes its figures.

use std::fmt;
use tailcut_units::Duration;
use tailcut_units::quantity;

/// Start or end of the measured part of a run.
/// Flows, requests and sessions that start in the measured part are measured, even if they end after this part.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum MeasureBound {
    /// Automatic bound: the analysis of the results finds the end of the warm-up.
    Auto,
    /// No bound: the end of the run.
    End,
    /// Time since the start of the run.
    At(Duration),
    /// Share of the flows in the order of their starts, 0 to 1.
    Share(f64),
}

impl MeasureBound {
    /// Parses a bound: `auto`, `end`, a time such as `10ms`, or a share such as `20%`. Returns `None` for other texts.
    pub fn read(text: &str) -> Option<Self> {
        match text.trim() {
            "auto" => Some(Self::Auto),
            "end" => Some(Self::End),
            text => match text.strip_suffix('%') {
                Some(percent) => {
                    let share = percent.trim().parse::<f64>().ok()? / 100.0;
                    (0.0..=1.0).contains(&share).then_some(Self::Share(share))
                }
                None => quantity::duration(text).ok().map(Self::At),
            },
        }
    }

    /// Returns the bound that the configuration of a study contains under a key of its section `measure`.
    pub fn of(config: &serde_json::Value, key: &str) -> Option<Self> {
        Self::read(config.get("measure")?.get(key)?.as_str()?)
    }
}

/// Writes the text that [`MeasureBound::read`] parses.
impl fmt::Display for MeasureBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::End => f.write_str("end"),
            Self::At(span) => write!(f, "{span}"),
            Self::Share(share) => write!(f, "{}%", (share * 1e8).round() / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_a_word_a_time_or_a_share() {
        assert_eq!(MeasureBound::read("auto"), Some(MeasureBound::Auto));
        assert_eq!(MeasureBound::read("end"), Some(MeasureBound::End));
        let at = MeasureBound::At(Duration::from_ms(10));
        assert_eq!(MeasureBound::read("10ms"), Some(at));
        assert_eq!(MeasureBound::read("20%"), Some(MeasureBound::Share(0.2)));
        for text in ["auto", "end", "10ms", "1.5us", "0s", "20%", "12.5%"] {
            let bound = MeasureBound::read(text).expect(text);
            assert_eq!(
                MeasureBound::read(&bound.to_string()),
                Some(bound),
                "{bound}"
            );
        }
        for wrong in ["", "10", "101%", "-1%", "nan%", "%", "late"] {
            assert_eq!(MeasureBound::read(wrong), None, "{wrong}");
        }
    }
}
