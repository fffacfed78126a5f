//! Test of the size of a segment. Segments are copied at every hop and must stay small.

use tailcut_transport::Segment;

#[test]
fn segment_fits_88_bytes() {
    assert!(size_of::<Segment>() <= 88, "{} bytes", size_of::<Segment>());
}
