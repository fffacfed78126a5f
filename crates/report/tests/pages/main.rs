//! Tests of the page in a real browser.
//!
//! The tests need Chromium: `CHROMIUM`, or `chromium`, `chromium-browser` or `google-chrome` in `PATH`.
//! Some tests also need Java and the checkers: `npm ci` in `tests/checkers`.
//! If a program is missing, the tests report that they are skipped. Under CI (`CI=true`), they fail instead.

mod browser;
mod chromium;
mod network;
mod reading;
#[path = "../synthetic/mod.rs"]
mod synthetic;
