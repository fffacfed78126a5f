//! Rules for the slabs of a stream. The length of a stream is unknown until its last slab arrives.

use super::transfer::Label;

/// Slabs of a stream that have arrived.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct StreamEnd {
    /// Number of the last slab. `None` until it has arrived.
    last: Option<u32>,
    /// Largest number of a slab that has arrived.
    furthest: Option<u32>,
}

impl StreamEnd {
    /// Checks a slab that has not arrived before. `full` is the length of all slabs except the last one.
    ///
    /// # Errors
    /// The slab contradicts another slab about the end of the stream. The error is the reason.
    pub fn check(&self, label: &Label, full: u32) -> Result<(), String> {
        let (slab, length) = (label.slab, label.length);
        match self.last {
            Some(last) if slab > last => Err(format!("slab {last} is the last one of the stream")),
            Some(last) if label.last => Err(format!("slab {last} is the last one, not this one")),
            None if label.last && self.furthest.is_some_and(|furthest| furthest > slab) => {
                Err("slabs after it have arrived, so it is not the last one".to_owned())
            }
            _ if length < full && !label.last => Err(format!(
                "it has {length} bytes, but only the last slab of a stream may be so short"
            )),
            _ => Ok(()),
        }
    }

    /// Records a slab that has arrived.
    pub fn arrived(&mut self, label: &Label) {
        self.furthest = self.furthest.max(Some(label.slab));
        if label.last {
            self.last.get_or_insert(label.slab);
        }
    }
}
