#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tailcut_fuzz::configuration(bytes));
