//! Test of the list of deliberate faults: each one can be put into the code.

use std::fs;
use std::path::Path;
use tailcut_fuzz::TARGETS;
use toml::de::{DeTable, DeValue};

#[test]
fn each_deliberate_fault_has_its_place_in_the_code_and_a_target() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("faults/faults.toml")).expect("the list");
    let list = DeTable::parse(&text).expect("TOML").into_inner();
    let Some(DeValue::Array(faults)) = list.get("fault").map(|faults| faults.get_ref()) else {
        panic!("no faults");
    };
    assert!(faults.len() >= 20, "{} faults", faults.len());
    for fault in faults {
        let field = |name: &str| {
            let fields = fault.get_ref().as_table().expect("a table");
            let value = fields.get(name).and_then(|value| value.get_ref().as_str());
            value.expect("a text").to_owned()
        };
        let (name, file) = (field("name"), field("file"));
        let code = fs::read_to_string(root.join("..").join(&file)).expect("a source");
        assert_eq!(code.matches(&field("old")).count(), 1, "{name}: {file}");
        assert_ne!(field("old"), field("new"), "{name}");
        let target = field("target");
        assert!(
            TARGETS.iter().any(|(known, _)| *known == target),
            "{name}: {target}"
        );
    }
}
