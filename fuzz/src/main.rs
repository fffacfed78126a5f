//! Fuzzer: libFuzzer with the target that the environment variable `FUZZ_TARGET` names.

#![no_main]

use std::sync::OnceLock;
use tailcut_fuzz::TARGETS;

/// Function of the target.
static TARGET: OnceLock<fn(&[u8])> = OnceLock::new();

libfuzzer_sys::fuzz_target!(
    init: {
        // libfuzzer-sys ends the process at each panic, also at panics that the code under test catches.
        // Without its hook, only a panic that leaves the target ends the process.
        drop(std::panic::take_hook());
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        let found = TARGETS.iter().find(|target| target.0 == name);
        let Some((_, target)) = found else {
            let names = TARGETS.map(|target| target.0).join(", ");
            eprintln!("FUZZ_TARGET={name}; allowed: {names}");
            std::process::exit(2);
        };
        TARGET.set(*target).expect("the target is set once");
    },
    |bytes: &[u8]| {
        let target = TARGET.get().expect("libFuzzer calls the initialisation first");
        target(bytes);
    }
);
