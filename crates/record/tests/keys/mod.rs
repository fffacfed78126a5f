//! What the runs of these tests are called.

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
