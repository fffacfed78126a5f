//! Random identifiers of 128 bits. They come from the operating system's random source, one memory page at a time.
//! An identifier must be hard to guess: a peer that knows a flow's identifier may join the flow.

use std::sync::{Mutex, PoisonError};

const PAGE: usize = 256;

struct Page {
    ids: [[u8; 16]; PAGE],
    left: usize,
}

static DRAWN: Mutex<Page> = Mutex::new(Page {
    ids: [[0; 16]; PAGE],
    left: 0,
});

/// Returns an identifier that is not all zeros.
///
/// # Errors
/// The operating system returns no random bytes.
pub(crate) fn random() -> std::io::Result<u128> {
    let mut page = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if page.left == 0 {
            getrandom::fill(page.ids.as_flattened_mut()).map_err(std::io::Error::from)?;
            page.left = PAGE;
        }
        page.left -= 1;
        let at = page.left;
        let id = u128::from_be_bytes(std::mem::take(&mut page.ids[at]));
        if id != 0 {
            return Ok(id);
        }
    }
}
