//! A figure as a picture, for what takes no SVG: [`png`].

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, Query};
use resvg::usvg::{Options, Tree};
use std::sync::Arc;

/// Pixels of the picture for a unit of the figure: sharp on paper and on dense screens.
const SCALE: f32 = 2.0;

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    #[error("a picture needs a font, and none is installed (on Debian: fonts-dejavu-core); a .svg needs none")]
    NoFont,
    #[error("the figure cannot be drawn: {0}; a .svg can be written")]
    Undrawn(String),
}

/// The SVG as a PNG of two pixels for each unit, with the fonts of this machine.
///
/// # Errors
/// [`PictureError::NoFont`] if the machine has no font, [`PictureError::Undrawn`] if it is no SVG, or one without a size.
pub fn png(svg: &str) -> Result<Vec<u8>, PictureError> {
    let undrawn = |what: &dyn ToString| PictureError::Undrawn(what.to_string());
    let options = Options { fontdb: Arc::new(fonts()?), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| undrawn(&error))?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or_else(|| undrawn(&"it has no size"))?;
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or_else(|| undrawn(&"it has no size"))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| undrawn(&error))
}

/// The fonts of this machine; `sans-serif` is one that there is.
fn fonts() -> Result<Database, PictureError> {
    let mut fonts = Database::new();
    fonts.load_system_fonts();
    let has_sans = fonts.query(&Query { families: &[Family::SansSerif], ..Query::default() }).is_some();
    let names = fonts.faces().flat_map(|face| &face.families).map(|(name, _)| name.clone());
    let best = names.max_by_key(|name| name.contains("Sans") && !name.contains("Mono")).ok_or(PictureError::NoFont)?;
    if !has_sans {
        fonts.set_sans_serif_family(best);
    }
    Ok(fonts)
}

#[cfg(test)]
mod tests {
    use super::png;

    #[test]
    fn what_is_no_figure_is_said() {
        let error = png("<svg").expect_err("it is cut off");
        assert!(error.to_string().contains("a .svg"), "{error}");
    }
}
