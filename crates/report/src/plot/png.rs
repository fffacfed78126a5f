//! PNG from a plot's SVG. The font is built in, so that the picture is the same on every machine.

use super::model::Picture;
use resvg::{tiny_skia, usvg};
use std::sync::Arc;

/// Pixels per unit of the SVG.
const ZOOM: f32 = 2.0;

/// Reason why a plot could not be rendered.
#[derive(Debug, thiserror::Error)]
#[error("cannot render the plot as PNG: {0}")]
pub struct PngError(String);

impl Picture {
    /// Returns the drawing as a PNG file. It has twice as many pixels per side as the SVG has units.
    ///
    /// # Errors
    /// [`PngError`] if the renderer fails.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        render(&self.svg)
    }
}

fn render(svg: &str) -> Result<Vec<u8>, PngError> {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let options = usvg::Options {
        fontdb: Arc::new(fonts),
        font_family: "Ubuntu".to_owned(),
        ..usvg::Options::default()
    };
    let tree = usvg::Tree::from_str(svg, &options).map_err(|error| PngError(error.to_string()))?;
    let size = tree.size();
    let (width, height) = (size.width() * ZOOM, size.height() * ZOOM);
    let mut pixels = tiny_skia::Pixmap::new(width.ceil() as u32, height.ceil() as u32)
        .ok_or_else(|| PngError(format!("{width} by {height} pixels are too many")))?;
    let zoom = tiny_skia::Transform::from_scale(ZOOM, ZOOM);
    resvg::render(&tree, zoom, &mut pixels.as_mut());
    pixels
        .encode_png()
        .map_err(|error| PngError(error.to_string()))
}
