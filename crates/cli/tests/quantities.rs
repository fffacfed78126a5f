//! Test over a table of spellings of quantities.
//! All readers of the same kind of quantity must return the same value, or must all reject the text.
//! Python has a test over the same table.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use tailcut_proxy::config::Draft;
use tailcut_rans::gateway::GatewayConfig;
use tailcut_rans::guard::program::ProgramConfig;
use tailcut_repnet::proxy::ProxyConfig;
use tailcut_scenario::{Location, Scenario};
use tailcut_units::quantity::Quantity;
use tailcut_units::{Bytes, Duration, Rate};

const TABLE: &str = include_str!("../../units/tests/quantities.txt");

/// Value that a flag or key has after parsing, or the error.
type Read = Result<String, String>;

/// Function that reads a quantity of a kind.
/// The function returns `None` if the program has no key or flag of this kind.
type Reads = fn(kind: &str, text: &str) -> Option<Read>;

const PLACES: [(&str, Reads); 7] = [
    ("a scenario's file", scenario),
    ("flags of run and compare", simulator),
    ("a gateway's file", gateway),
    ("flags of guard", guard),
    ("a proxy's file", proxy),
    ("flags of probe", probe),
    ("flags of cast", cast),
];

/// Returns a value as TOML: numbers without quotation marks, and anything else as text.
fn toml(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(_) => text.to_owned(),
        Err(_) => format!("{text:?}"),
    }
}

fn of_kind<'a>(kind: &str, keys: &[(&str, &'a str)]) -> Option<&'a str> {
    let found = keys.iter().find(|(known, _)| *known == kind);
    found.map(|(_, key)| *key)
}

fn shown<T: Debug, E: ToString>(read: Result<T, E>) -> Read {
    read.map(|value| format!("{value:?}"))
        .map_err(|error| error.to_string())
}

const OF_SCENARIOS: [(&str, &str); 5] = [
    ("bytes", "tcp.max_cwnd"),
    ("rate", "topology.rate"),
    ("time", "tcp.min_rto"),
    ("share", "hull.phantom_drain"),
    ("count", "flows"),
];

fn scenario(kind: &str, text: &str) -> Option<Read> {
    let key = of_kind(kind, &OF_SCENARIOS)?;
    let (table, key) = key.rsplit_once('.').unwrap_or(("", key));
    let table = match table {
        "" => String::new(),
        table => format!("[{table}]\n"),
    };
    let read = Scenario::from_text(&format!("{table}{key} = {}\n", toml(text)));
    Some(shown(read.map(|scenario| scenario.to_json())))
}

/// Returns the value of a flag in the arguments of a command.
fn flag<T: Clone + Debug + Send + Sync + 'static>(words: &[&str], id: &str) -> Read {
    let matches = tailcut::definition().try_get_matches_from(["tailcut"].iter().chain(words));
    let mut matches = &matches.map_err(|error| error.to_string())?;
    while let Some((_, inner)) = matches.subcommand() {
        matches = inner;
    }
    Ok(format!("{:?}", matches.get_one::<T>(id)))
}

fn simulator(kind: &str, text: &str) -> Option<Read> {
    if kind == "count" {
        return Some(flag::<u64>(
            &["compare", "tcp", &format!("--seeds={text}")],
            "seeds",
        ));
    }
    let key = of_kind(kind, &OF_SCENARIOS)?;
    let mut scenario = Scenario::from_text("").expect("no text is a scenario");
    let set = scenario.set(key, text, &Location::flag("--set"));
    Some(shown(set.map(|()| scenario.to_json())))
}

fn of_file<T: Debug>(text: &str, read: fn(&Draft) -> anyhow::Result<T>) -> Read {
    shown(Draft::of_text("f", Path::new(""), text).and_then(|draft| read(&draft)))
}

fn gateway(kind: &str, text: &str) -> Option<Read> {
    let keys = [
        ("bytes", "limits.body"),
        ("time", "answer_timeout"),
        ("count", "limits.pending"),
    ];
    let key = of_kind(kind, &keys)?;
    let file = format!(
        "[[routes]]\nlisten = 1\nreplicas = [2]\n{key} = {}\n",
        toml(text)
    );
    Some(of_file(&file, GatewayConfig::read))
}

fn guard(kind: &str, text: &str) -> Option<Read> {
    let keys = [
        ("bytes", "limits.head"),
        ("time", "hold_timeout"),
        ("count", "queue"),
    ];
    let key = of_kind(kind, &keys)?;
    let mut draft = Draft::new(None).expect("nothing is a draft");
    for (key, value) in [("listen", "1"), ("to", "2"), ("workers", "3"), (key, text)] {
        draft.flag(key, Some(value)).expect("a key of the top");
    }
    Some(shown(ProgramConfig::read(&draft)))
}

fn proxy(kind: &str, text: &str) -> Option<Read> {
    let keys = [
        ("bytes", "max_bytes"),
        ("time", "leg_deadline"),
        ("share", "budget"),
        ("count", "tombstone_limit"),
    ];
    let key = of_kind(kind, &keys)?;
    let route = "[[routes]]\nname = \"a\"\nlisten = 1\nto = 2\nreplicate = \"out\"\n";
    Some(of_file(
        &format!("{route}{key} = {}\n", toml(text)),
        ProxyConfig::read,
    ))
}

fn probe(kind: &str, text: &str) -> Option<Read> {
    let every = format!("--every={text}");
    let volleys = format!("--volleys={text}");
    match kind {
        "time" => Some(flag::<std::time::Duration>(
            &["probe", "a:1", "--for=31d", &every],
            "every",
        )),
        "count" => Some(flag::<u32>(&["probe", "a:1", &volleys], "volleys")),
        _ => None,
    }
}

fn cast(kind: &str, text: &str) -> Option<Read> {
    let [size, rate, time] =
        ["max-size", "rate", "drop-after"].map(|name| format!("--{name}={text}"));
    match kind {
        "bytes" => Some(flag::<Bytes>(&["cast", "recv", "d", &size], "max_size")),
        "rate" => Some(flag::<Rate>(&["cast", "recv", "d", &rate], "rate")),
        "time" => Some(flag::<std::time::Duration>(
            &["cast", "send", "f", "h", &time],
            "drop_after",
        )),
        _ => None,
    }
}

/// Returns the name that errors use for the kind, and the value in the unit of the table.
fn plain(kind: &str, value: &str) -> (&'static str, String) {
    match kind {
        "bytes" => (Bytes::KIND, value.to_owned()),
        "rate" => (Rate::KIND, format!("{value}bps")),
        "time" => (Duration::KIND, format!("{value}ps")),
        "share" => ("", value.to_owned()),
        _ => (u64::KIND, value.to_owned()),
    }
}

#[test]
fn every_place_gives_the_same_value_or_the_same_refusal() {
    let rows = TABLE.lines().filter(|row| !row.starts_with('#'));
    let mut spellings = 0;
    let mut values: BTreeMap<(&str, &str, String), &str> = BTreeMap::new();
    for row in rows {
        spellings += 1;
        let columns: Vec<&str> = row.split('|').map(str::trim).collect();
        let [kind, text, value] = columns[..] else {
            panic!("three columns: {row}");
        };
        let (words, plain) = plain(kind, value);
        for (place, read) in PLACES {
            let Some(found) = read(kind, text) else {
                continue;
            };
            match (value, found, read(kind, &plain).expect("this kind")) {
                ("refused", Err(refusal), _) => {
                    assert!(refusal.contains(words), "{place}: {row}: {refusal}");
                }
                ("refused", Ok(found), _) => panic!("{place}: {row}: {found}"),
                (_, Ok(found), Ok(same)) => {
                    assert_eq!(found, same, "{place}: {row}");
                    let before = values.insert((place, kind, found), value);
                    assert!(
                        before.is_none_or(|before| before == value),
                        "{place}: {row}"
                    );
                }
                // The value is out of range for this key, no matter how it is spelled.
                (_, Err(found), Err(same)) => {
                    let allowed = |error: &str| {
                        error
                            .split_once("allowed: ")
                            .map(|parts| parts.1.to_owned())
                    };
                    assert!(allowed(&found).is_some(), "{place}: {row}: {found}");
                    assert_eq!(allowed(&found), allowed(&same), "{place}: {row}");
                }
                (_, found, same) => panic!("{place}: {row}: {found:?}, {same:?}"),
            }
        }
    }
    assert!(spellings >= 40, "{spellings} spellings");
    for (place, reads) in PLACES {
        for kind in ["bytes", "rate", "time", "share", "count"] {
            if reads(kind, "1").is_some() {
                let known = |(at, of, _): &&(&str, &str, String)| *at == place && *of == kind;
                let count = values.keys().filter(known).count();
                assert!(count >= 2, "{place}: {count} values of {kind}");
            }
        }
    }
}

#[test]
fn a_k_is_a_thousand_in_cast_too_and_its_help_says_so() {
    let size = |text: &str| cast("bytes", text).expect("a size");
    assert_eq!(size("1K"), size("1000"));
    let mut definition = tailcut::definition();
    let cast = definition.find_subcommand_mut("cast").expect("cast");
    let recv = cast.find_subcommand_mut("recv").expect("recv");
    let help = recv.render_long_help().to_string();
    assert!(help.contains("10G (10^10) or 10Gi (10 * 2^30)"), "{help}");
}
