//! Metrics in Prometheus' text format 0.0.4.

use std::fmt::{Display, Write};

/// A page of metrics.
#[derive(Clone, Debug)]
pub struct Page {
    prefix: &'static str,
    family: String,
    text: String,
}

impl Page {
    /// A page whose families are named `{prefix}_...`.
    pub const fn new(prefix: &'static str) -> Self {
        Self {
            prefix,
            family: String::new(),
            text: String::new(),
        }
    }

    /// Begins a family: `kind` is counter, gauge, histogram or untyped.
    pub fn family(&mut self, name: &str, kind: &str, help: Option<&str>) {
        self.family = format!("{}_{name}", self.prefix);
        let family = &self.family;
        // Writing to a string does not fail.
        if let Some(help) = help {
            let _ = writeln!(self.text, "# HELP {family} {help}");
        }
        let _ = writeln!(self.text, "# TYPE {family} {kind}");
    }

    /// A sample of the family.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.part("", labels, value);
    }

    /// A sample of a part of the family, such as `_bucket`.
    pub fn part(&mut self, part: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.text, "{}{part}", self.family);
        for (index, (name, text)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{before}{name}=\"");
            for c in text.chars() {
                let _ = match c {
                    '\\' => self.text.write_str("\\\\"),
                    '"' => self.text.write_str("\\\""),
                    '\n' => self.text.write_str("\\n"),
                    _ => self.text.write_char(c),
                };
            }
            self.text.push('"');
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{end} {value}");
    }

    /// A family of one sample.
    pub fn single(&mut self, name: &str, kind: &str, help: Option<&str>, value: impl Display) {
        self.family(name, kind, help);
        self.sample(&[], value);
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let mut page = Page::new("x");
        page.family("y_total", "counter", Some("Ys."));
        page.sample(&[("a", "b\"c\\d\n"), ("e", "f")], 1.5);
        page.single("z", "gauge", None, 2);
        assert_eq!(
            page.finish(),
            "# HELP x_y_total Ys.\n# TYPE x_y_total counter\nx_y_total{a=\"b\\\"c\\\\d\\n\",e=\"f\"} 1.5\n\
             # TYPE x_z gauge\nx_z 2\n"
        );
    }
}
