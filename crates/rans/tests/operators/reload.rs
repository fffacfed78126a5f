//! Test of reloads in the error log.

use super::programs::{dir, lines, until};
use std::fs;
use std::path::Path;
use tailcut_proxy::config::Flags;
use tailcut_rans::gateway::{Gateway, GatewayConfig};

fn has(dir: &Path, message: &str) -> Option<serde_json::Value> {
    let lines = lines(dir, "errors.log");
    lines.into_iter().find(|line| line["message"] == message)
}

#[tokio::test]
async fn the_error_log_has_a_line_for_each_reload_and_for_each_that_failed() {
    let dir = dir();
    let file = dir.path().join("gateway.toml");
    let write = |more: &str| {
        let text = format!(
            "admin = false\nlog.errors = \"errors.log\"\nlog.format = \"json\"\n{more}\n\
             [[routes]]\nlisten = 0\nreplicas = [1]\n"
        );
        fs::write(&file, text).expect("written");
    };
    write("");
    let flags = Flags {
        config: Some(file.clone()),
        ..Flags::default()
    };
    // The gateway runs until the process of the test ends.
    std::thread::spawn(move || {
        let read = || GatewayConfig::read(&flags.draft()?);
        tailcut_proxy::run::<Gateway>(&flags, read)
    });
    until(|| has(dir.path(), "started")).await;
    write("drain_timeout = \"soon\"");
    let failed = until(|| has(dir.path(), "not reloaded")).await;
    let error = failed["error"].as_str().expect("an error");
    assert!(
        error.contains("gateway.toml:4:17: \"drain_timeout\" is \"soon\""),
        "{error}"
    );
    assert_eq!(failed["level"], "ERROR");
    write("drain_timeout = \"2s\"");
    let reloaded = until(|| has(dir.path(), "reloaded")).await;
    assert!(
        reloaded["cause"]
            .as_str()
            .is_some_and(|cause| cause.contains("has changed"))
    );
}
