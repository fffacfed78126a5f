//! A segment is copied at every hop: it must stay small.

use tailcut_transport::Segment;

#[test]
fn segment_fits_88_bytes() {
    assert!(size_of::<Segment>() <= 88, "{} bytes", size_of::<Segment>());
}
