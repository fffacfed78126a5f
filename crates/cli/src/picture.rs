//! Formats of image files.

use clap::ValueEnum;

/// Format of an image file.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Picture {
    /// Vector graphics, 7.5 inches wide
    Svg,
    /// One page of vector graphics with an embedded font, 7.5 inches wide
    Pdf,
    /// Pixel graphics with 300 dots per inch, 7.5 inches wide
    Png,
    /// PDF for one column (3.3 inches) and for both columns (7 inches) of a paper, with text of 8 points
    Paper,
}
