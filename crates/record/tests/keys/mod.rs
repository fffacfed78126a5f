//! Keys of runs for the tests.

use tailcut_record::RunKey;

pub fn key(design: &str, seed: u64) -> RunKey {
    RunKey {
        design: design.to_owned(),
        topology: "leaf-spine".to_owned(),
        workload: "websearch".to_owned(),
        load: Some(0.5),
        seed,
        ..RunKey::default()
    }
}
