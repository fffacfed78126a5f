//! Traffic matrix: source and destination of flows, from the table of a workload.

use super::topology::Network;
use crate::error::Outcome;
use crate::scenario::Table;
use crate::value::Value;
use std::collections::BTreeSet;
use tailcut_sim::MatrixSpec;

/// Converts a share of all hosts to a number of hosts: rounded to the nearest number, and at least two.
pub fn hosts_of(share: f64, all: u32) -> u32 {
    ((share * f64::from(all)).round() as u32).max(2).min(all)
}

/// Returns the matrix of a workload.
pub fn matrix(table: &Table, network: &Network) -> Outcome<MatrixSpec> {
    let hosts = network.built.hosts();
    let racks = network.built.racks.iter().collect::<BTreeSet<_>>().len();
    let several_racks = |key: &str| match racks {
        0 | 1 => {
            let found = "a topology with one rack";
            Err(table.error(key, found, "at least two racks for flows between racks"))
        }
        _ => Ok(()),
    };
    let host = |key: &str, host: u32| match host < hosts {
        true => Ok(host),
        false => {
            let allowed = format!("a host of the topology, 0 to {}", hosts - 1);
            Err(table.error(key, format!("host {host}"), allowed))
        }
    };
    for (key, user) in [
        ("share", "permutation"),
        ("within_racks", "permutation"),
        ("leave_out", "anywhere"),
        ("senders", "incast"),
        ("receiver", "incast"),
        ("pairs", "pairs"),
    ] {
        if table.given(key).is_some() && table.word("matrix") != Some(user) {
            let allowed = format!("only with matrix {user}");
            return Err(table.error(key, "another matrix", allowed));
        }
    }
    match table.word("matrix") {
        Some("anywhere") => match (
            table.word("leave_out"),
            table.get::<Option<f64>>("leave_out"),
        ) {
            (Some("off"), _) | (None, None) => Ok(MatrixSpec::Anywhere),
            // In a sweep, the value is replaced later by a load of the study, so any number is valid here.
            (_, share) => {
                let left_out = hosts_of(share.unwrap_or(f64::MIN_POSITIVE), hosts);
                if left_out + 2 > hosts {
                    let found = format!("{left_out} of {hosts} hosts");
                    return Err(table.error(
                        "leave_out",
                        found,
                        "a share that leaves at least two hosts",
                    ));
                }
                Ok(MatrixSpec::AnywhereBeside { left_out })
            }
        },
        Some("between-racks") => several_racks("matrix").map(|()| MatrixSpec::BetweenRacks),
        Some("permutation") => {
            let within_racks: bool = table.get("within_racks");
            if !within_racks {
                several_racks("within_racks")?;
            }
            if table.given("share").is_none() {
                return Ok(MatrixSpec::Permutation { within_racks });
            }
            Ok(MatrixSpec::PermutationOf {
                // In a sweep, the value is replaced later by a load of the study, so any number is valid here.
                hosts: hosts_of(table.get_or("share", 1.0), hosts),
                within_racks,
            })
        }
        Some("incast") => {
            let receiver = host("receiver", table.get("receiver"))?;
            let senders = table.get_or("senders", hosts - 1);
            if senders >= hosts {
                let allowed = format!("1 to {}: all hosts except the receiver", hosts - 1);
                return Err(table.error("senders", senders.to_string(), allowed));
            }
            Ok(MatrixSpec::Incast { senders, receiver })
        }
        Some("pairs") => {
            let Some(Value::Pairs(pairs)) = table.value("pairs") else {
                return Err(table.error("pairs", "none", "pairs of source and destination"));
            };
            for &(src, dst) in &pairs {
                host("pairs", src)?;
                host("pairs", dst)?;
                if src == dst {
                    let found = format!("host {src} paired with itself");
                    return Err(table.error("pairs", found, "two different hosts in each pair"));
                }
            }
            Ok(MatrixSpec::Pairs(pairs))
        }
        _ if racks > 1 => Ok(MatrixSpec::BetweenRacks),
        _ => Ok(MatrixSpec::Anywhere),
    }
}
