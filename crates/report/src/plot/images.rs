//! PDF and PNG from a plot's SVG. The font is built in, so that the picture is the same on every machine.

use super::file::Picture;
use krilla::Document;
use krilla::geom::Size;
use krilla::page::PageSettings;
use krilla_svg::{SurfaceExt, SvgSettings};
use resvg::{tiny_skia, usvg};
use std::sync::{Arc, LazyLock};

/// Number of dots per inch in a PNG file. Journals require 300.
const DOTS_PER_INCH: f32 = 300.0;
/// Number of dots per metre, which the header of a PNG file contains.
const DOTS_PER_METRE: u32 = 11_811;
/// Number of units per inch in an SVG file.
const UNITS_PER_INCH: f32 = 96.0;
/// Number of points per inch in a PDF file.
const POINTS_PER_INCH: f32 = 72.0;

/// Reason why a plot could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The drawing is not an SVG file.
    #[error("cannot read the drawing: {0}")]
    Svg(#[from] usvg::Error),
    /// The size of the drawing is not allowed for a file.
    #[error("cannot render the drawing: found {width} by {height} units")]
    Size {
        /// Width of the drawing in units.
        width: f32,
        /// Height of the drawing in units.
        height: f32,
    },
    /// The PNG file cannot be written.
    #[error("cannot write the picture as PNG: {0}")]
    Png(#[from] png::EncodingError),
    /// The PDF file cannot be written.
    #[error("cannot write the picture as PDF: {0}")]
    Pdf(String),
}

impl Picture {
    /// Returns the drawing as a PNG file with 300 dots per inch.
    ///
    /// # Errors
    /// [`ImageError`] if the renderer fails.
    pub fn png(&self) -> Result<Vec<u8>, ImageError> {
        let tree = tree(&self.svg)?;
        let zoom = DOTS_PER_INCH / UNITS_PER_INCH;
        let dots = |units: f32| (units * zoom).ceil() as u32;
        let (width, height) = (dots(tree.size().width()), dots(tree.size().height()));
        let mut pixels = tiny_skia::Pixmap::new(width, height).ok_or_else(|| no_size(&tree))?;
        let transform = tiny_skia::Transform::from_scale(zoom, zoom);
        resvg::render(&tree, transform, &mut pixels.as_mut());
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, width, height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_pixel_dims(Some(png::PixelDimensions {
            xppu: DOTS_PER_METRE,
            yppu: DOTS_PER_METRE,
            unit: png::Unit::Meter,
        }));
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&pixels.take_demultiplied())?;
        writer.finish()?;
        Ok(file)
    }

    /// Returns the drawing as a PDF file of one page, with its font embedded.
    ///
    /// # Errors
    /// [`ImageError`] if the renderer fails.
    pub fn pdf(&self) -> Result<Vec<u8>, ImageError> {
        let tree = tree(&self.svg)?;
        let points = |units: f32| units / UNITS_PER_INCH * POINTS_PER_INCH;
        let size = Size::from_wh(points(tree.size().width()), points(tree.size().height()));
        let size = size.ok_or_else(|| no_size(&tree))?;
        let mut document = Document::new();
        let mut page = document.start_page_with(PageSettings::new(size));
        let mut surface = page.surface();
        let drawn = surface.draw_svg(&tree, size, SvgSettings::default());
        surface.finish();
        page.finish();
        drawn.ok_or_else(|| no_size(&tree))?;
        document
            .finish()
            .map_err(|error| ImageError::Pdf(format!("{error:?}")))
    }
}

/// Built-in font. All drawings share it, so that it is read only once.
static FONTS: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = usvg::fontdb::Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    Arc::new(fonts)
});

fn tree(svg: &str) -> Result<usvg::Tree, usvg::Error> {
    let options = usvg::Options {
        fontdb: Arc::clone(&FONTS),
        font_family: "Ubuntu".to_owned(),
        ..usvg::Options::default()
    };
    usvg::Tree::from_str(svg, &options)
}

fn no_size(tree: &usvg::Tree) -> ImageError {
    let size = tree.size();
    ImageError::Size {
        width: size.width(),
        height: size.height(),
    }
}
