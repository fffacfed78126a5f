//! Tests with arbitrary scenario texts: the parser never panics, and an error names a line.

use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;
use tailcut_fuzz::scenario;
use tailcut_scenario::{Scenario, Study};

fn scenarios() -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut texts = Vec::new();
    for sub in ["", "bench", "reproduce"] {
        for entry in fs::read_dir(folder.join(sub)).expect("the folder of scenarios") {
            let path = entry.expect("an entry").path();
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                texts.push(fs::read_to_string(path).expect("a scenario"));
            }
        }
    }
    texts.sort();
    texts
}

/// Change of a text.
#[derive(Clone, Debug)]
enum Mutation {
    /// Inserts a text at a position.
    Insert(usize, String),
    /// Deletes this number of characters at a position.
    Delete(usize, usize),
    /// Replaces the value after the equals sign of a line.
    Value(usize, String),
    /// Copies a line to another position.
    Repeat(usize, usize),
    /// Swaps two lines.
    Swap(usize, usize),
}

fn pieces() -> impl Strategy<Value = String> {
    let known = [
        "0",
        "-1",
        "1e400",
        "nan",
        "inf",
        "0x1F",
        "18446744073709551616",
        "65535",
        "true",
        "\"\"",
        "\"off\"",
        "\"auto\"",
        "\"10ms\"",
        "\"99999999999s\"",
        "\"0.0000001ns\"",
        "\"10Gbps\"",
        "\"1bps\"",
        "\"0.1..9:0\"",
        "\"1e9 packets\"",
        "\"150KB\"",
        "[]",
        "[[]]",
        "[[0, 1], [1, 0]]",
        "[0.1, \"x\"]",
        "{}",
        "{ a = 1 }",
        "1979-05-27",
        "'''",
        "[workload]",
        "[[workload]]",
        "[[tcp]]",
        "[topology.kind]",
        "kind = \"trace\"",
        "kind = \"custom\"",
        "matrix = \"pairs\"",
        "load = 3",
        "=",
        "#",
        "\n",
        "\r\n",
        "\u{feff}",
        "\0",
        "\u{1F9EA}",
    ];
    prop_oneof![
        prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        "[ -~\n]{0,12}",
        any::<String>(),
    ]
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let place = any::<usize>;
    let one = prop_oneof![
        (place(), pieces()).prop_map(|(at, piece)| Mutation::Insert(at, piece)),
        (place(), 1usize..20).prop_map(|(at, count)| Mutation::Delete(at, count)),
        (place(), pieces()).prop_map(|(at, piece)| Mutation::Value(at, piece)),
        (place(), place()).prop_map(|(from, to)| Mutation::Repeat(from, to)),
        (place(), place()).prop_map(|(a, b)| Mutation::Swap(a, b)),
    ];
    prop::collection::vec(one, 1..6)
}

fn mutate(text: &str, mutations: &[Mutation]) -> String {
    let mut text = text.to_owned();
    for mutation in mutations {
        let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let count = lines.len();
        let boundary = |at: usize| {
            // A string can only be cut between two characters.
            (0..=at % (text.len() + 1))
                .rev()
                .find(|&at| text.is_char_boundary(at))
        };
        text = match mutation {
            Mutation::Insert(at, piece) => {
                let at = boundary(*at).unwrap_or(0);
                format!("{}{piece}{}", &text[..at], &text[at..])
            }
            Mutation::Delete(at, many) => {
                let at = boundary(*at).unwrap_or(0);
                text[..at]
                    .chars()
                    .chain(text[at..].chars().skip(*many))
                    .collect()
            }
            Mutation::Value(at, piece) => {
                let line = &mut lines[at % count];
                if let Some(equals) = line.find('=') {
                    *line = format!("{}= {piece}", &line[..equals]);
                }
                lines.join("\n")
            }
            Mutation::Repeat(from, to) => {
                let line = lines[from % count].clone();
                lines.insert(to % count, line);
                lines.join("\n")
            }
            Mutation::Swap(a, b) => {
                lines.swap(a % count, b % count);
                lines.join("\n")
            }
        };
    }
    text
}

#[test]
fn every_scenario_of_the_project_is_sound() {
    let texts = scenarios();
    assert!(texts.len() >= 9, "{} scenarios", texts.len());
    for text in texts {
        let outcome =
            Scenario::parse("s.toml", "/nonexistent", &text).and_then(|s| Study::of(&s).map(drop));
        assert!(
            outcome.is_ok(),
            "{}\n{text}",
            outcome.expect_err("not sound")
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_scenario_changed_at_random_is_read_or_refused_with_a_line(
        text in prop::sample::select(scenarios()),
        mutations in mutations(),
    ) {
        scenario(mutate(&text, &mutations).as_bytes());
    }

    #[test]
    fn any_text_is_read_or_refused_with_a_line(text in any::<String>()) {
        scenario(text.as_bytes());
    }
}
