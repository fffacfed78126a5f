//! Tests of the endpoint's answers to the cases of `tests/cases`.

mod known_differences;
mod simulated;

use crate::cases::parse::{Case, parse};
use crate::cases::play::play;
use known_differences::KNOWN_DIFFERENCES;
use simulated::Simulated;
use std::collections::BTreeMap;

/// Cases that were measured on Linux.
const LINUX: &str = include_str!("../cases/linux.txt");
/// Cases that follow from RFC 8257.
const DCTCP: &str = include_str!("../cases/dctcp.txt");

/// Case and its differences from the expected answers.
type Played = (Case, Vec<String>);

fn played(text: &str) -> Vec<Played> {
    let cases = parse(text).unwrap_or_else(|error| panic!("{error}"));
    let played = cases.into_iter().map(|case| {
        let deviations = play(&case, &mut Simulated::new(&case.settings));
        (case, deviations)
    });
    played.collect()
}

/// Prints the number of cases that agree, for each mechanism, and all differences.
fn report(played: &[Played]) {
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (case, deviations) in played {
        let (agree, all) = counts.entry(&case.mechanism).or_default();
        *agree += usize::from(deviations.is_empty());
        *all += 1;
        if !deviations.is_empty() {
            let reason = known_reason(&case.name).unwrap_or("not in the list");
            println!(
                "case {} ({reason})\n  {}",
                case.name,
                deviations.join("\n  ")
            );
        }
    }
    for (mechanism, (agree, all)) in &counts {
        println!("{agree:4} of {all:2} agree: {mechanism}");
    }
    let agree: usize = counts.values().map(|(agree, _)| agree).sum();
    println!("{agree:4} of {} agree", played.len());
}

#[test]
fn answers_of_linux_are_ours_apart_from_known_differences() {
    let played = played(LINUX);
    report(&played);
    let deviates = |name: &str| {
        let mut deviating = played.iter().filter(|(_, list)| !list.is_empty());
        deviating.any(|(case, _)| case.name == name)
    };
    let names = || KNOWN_DIFFERENCES.iter().flat_map(|known| known.cases);
    let agreeing: Vec<_> = names().filter(|name| !deviates(name)).collect();
    let cases = played.iter().map(|(case, _)| case.name.as_str());
    let new: Vec<_> = cases
        .filter(|name| deviates(name) && known_reason(name).is_none())
        .collect();
    assert!(new.is_empty(), "these cases deviate, see above: {new:?}");
    assert!(
        agreeing.is_empty(),
        "these cases agree or are missing, so remove them from the list: {agreeing:?}"
    );
}

#[test]
fn answers_of_rfc_8257_are_ours() {
    let played = played(DCTCP);
    report(&played);
    assert!(played.iter().all(|(_, deviations)| deviations.is_empty()));
}

#[test]
fn lines_outside_the_notation_are_rejected() {
    for (step, reason) in [
        ("100 ack 1", "a step starts with +MS"),
        ("+100 ack", "the line is incomplete"),
        ("+100 ack 1 fin ece", "the word ece is too many"),
        (
            "+100 ack 99999999999999999999",
            "99999999999999999999 is no number",
        ),
        ("+-5 ack 1", "-5 is no time in ms"),
        ("+5 write 1 -> 0-1", "0-1 is no range"),
        ("+5 write 1 ? cwnd many", "many is no number"),
        ("with sack=maybe", "sack is on or off, not maybe"),
    ] {
        let error = parse(&format!("case one\n{step}")).expect_err(step);
        assert_eq!(error.to_string(), format!("line 2: {reason}"));
    }
}

fn known_reason(name: &str) -> Option<&'static str> {
    let known = KNOWN_DIFFERENCES.iter();
    let known = known.filter(|known| known.cases.contains(&name));
    known.map(|known| known.reason).next()
}
