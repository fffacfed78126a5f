//! `REPNET_*` variables, as the npm package reads them: `maxBytes` is `REPNET_MAX_BYTES`. They are the
//! defaults of keys that a route omits, and they alone set the options of the whole process.

use super::config::{MOST_SAFE, SETTINGS, set, value_of_text};
use crate::settings::Settings;
use anyhow::Result;
use std::time::Duration;
use tailcut_proxy::Place;

const LONGEST_MS: u64 = (1 << 31) - 1;

/// Settings of the process that have a variable, by the names of the npm package.
const OF_PROCESS: [&str; 8] = [
    "waitingListTimeout",
    "helloTimeout",
    "tombstoneTime",
    "tombstoneLimit",
    "pendingHellos",
    "capabilityTtl",
    "budget",
    "incastLimit",
];

/// Settings of the environment, over the defaults. `variable` gives the value of a variable; an empty one
/// is none.
///
/// # Errors
/// A value that is not allowed: the variable, the value found, and the values allowed.
pub fn settings_of_environment(variable: impl Fn(&str) -> Option<String>) -> Result<Settings> {
    let mut settings = Settings::default();
    let given = |key: &str| {
        let name = name_of(key);
        let text = variable(&name).filter(|text| !text.is_empty());
        text.map(|text| (format!("environment, {name}"), text))
    };
    for key in SETTINGS {
        if let Some((place, text)) = given(key) {
            let found = value_of_text(key, &text);
            set(Place::top(&place), &mut settings.flow, key, &found)?;
        }
    }
    for key in OF_PROCESS {
        if let Some((place, text)) = given(key) {
            set_of_process(&place, &mut settings, key, &text)?;
        }
    }
    Ok(settings)
}

/// `maxBytes` -> `REPNET_MAX_BYTES`.
fn name_of(key: &str) -> String {
    let mut name = "REPNET_".to_owned();
    for letter in key.chars() {
        if letter.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

fn set_of_process(place: &str, settings: &mut Settings, key: &str, text: &str) -> Result<()> {
    let at = Place::top(place);
    let found = value_of_text(key, text);
    let count = |most| at.number(key, &found, 1..=most);
    let size = |most| count(most).map(|found| usize::try_from(found).unwrap_or(usize::MAX));
    let time = || count(LONGEST_MS).map(Duration::from_millis);
    match key {
        "waitingListTimeout" => settings.waiting_list_timeout = time()?,
        "helloTimeout" => settings.hello_timeout = time()?,
        "tombstoneTime" => settings.tombstone_time = time()?,
        "tombstoneLimit" => settings.tombstone_limit = size(1 << 24)?,
        "pendingHellos" => settings.pending_hellos = size(1 << 20)?,
        "capabilityTtl" => settings.capability_ttl = time()?,
        "budget" => {
            let share = text
                .parse()
                .ok()
                .filter(|share| (0.0..=1.0).contains(share));
            settings.budget = match share {
                Some(share) => share,
                None => at.refuse(key, Some(&found), "a number from 0 to 1")?,
            };
        }
        _ => {
            let most = at.number_or_endless(key, &found, 0..=MOST_SAFE)?;
            settings.incast_limit = most.unwrap_or(u64::MAX);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_transport::repnet::Mode;

    fn read(given: &[(&str, &str)]) -> Result<Settings> {
        settings_of_environment(|name| {
            let found = given.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn each_variable_sets_what_it_names_and_an_empty_one_nothing() {
        let settings = read(&[
            ("REPNET_MODE", "repsyn"),
            ("REPNET_MAX_BYTES", "Infinity"),
            ("REPNET_ASSUME_CAPABLE", "true"),
            ("REPNET_TOMBSTONE_LIMIT", "7"),
            ("REPNET_BUDGET", "0.25"),
            ("REPNET_INCAST_LIMIT", "Infinity"),
            ("REPNET_HELLO_TIMEOUT", ""),
        ])
        .expect("allowed");
        let default = Settings::default();
        assert_eq!(settings.flow.mode, Some(Mode::RepSyn));
        assert_eq!(settings.flow.max_bytes, u64::MAX);
        assert!(settings.flow.assume_capable);
        assert_eq!((settings.tombstone_limit, settings.budget), (7, 0.25));
        assert_eq!(settings.incast_limit, u64::MAX);
        assert_eq!(settings.hello_timeout, default.hello_timeout);
        assert_eq!(settings.flow.lag_cap, default.flow.lag_cap);
    }

    #[test]
    fn a_value_that_is_not_allowed_is_named_with_its_variable() {
        for (name, text, message) in [
            (
                "REPNET_MAX_BYTES",
                "many",
                "environment, REPNET_MAX_BYTES: \"maxBytes\" is \"many\"; allowed: an integer from 0 \
                 to 9007199254740991, or \"Infinity\"",
            ),
            (
                "REPNET_BUDGET",
                "2",
                "environment, REPNET_BUDGET: \"budget\" is 2; allowed: a number from 0 to 1",
            ),
            (
                "REPNET_TOMBSTONE_TIME",
                "0",
                "environment, REPNET_TOMBSTONE_TIME: \"tombstoneTime\" is 0; allowed: an integer from 1 \
                 to 2147483647",
            ),
        ] {
            let error = read(&[(name, text)]).expect_err("not allowed");
            assert_eq!(error.to_string(), message);
        }
    }
}
