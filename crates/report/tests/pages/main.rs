//! Tests of the page in a real browser.
//!
//! They need Chromium: `CHROMIUM`, or `chromium`, `chromium-browser` or `google-chrome` in the path. Some also need Java
//! and the checkers: `npm ci` in `tests/checkers`. Without them, the tests report that they are skipped, and under CI
//! (`CI=true`) they fail.

mod browser;
mod chromium;
mod network;
mod reading;
#[path = "../synthetic/mod.rs"]
mod synthetic;
