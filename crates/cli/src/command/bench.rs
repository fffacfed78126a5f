//! `tailcut bench`: measures the speed of the simulator on one core of this machine.
//! Each workload runs in a separate process, so that the workload's peak memory can be measured.

use crate::args::Bench;
use crate::command::lab;
use crate::failure::Failure;
use crate::output::{note, print, print_json};
use anyhow::{Context, anyhow, bail};
use serde::{Deserialize, Serialize};
use std::process::Command;
use tailcut_scenario::sim::{self, Unattended};
use tailcut_scenario::{Location, Scenario, Study, did_you_mean};

/// Returns the name of a workload and the text of its scenario.
macro_rules! workload {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../scenarios/bench/", $name, ".toml")),
        )
    };
}

/// Names of the workloads, each with the text of its scenario.
const WORKLOADS: [(&str, &str); 12] = [
    workload!("dctcp-permutation-k8"),
    workload!("dctcp-permutation-k16"),
    workload!("dctcp-permutation-k32"),
    workload!("dctcp-permutation-k48"),
    workload!("websearch-k8"),
    workload!("ndp-permutation-k8"),
    workload!("ndp-permutation-k16"),
    workload!("scdp-websearch-k8"),
    workload!("scdp-storage-k8"),
    workload!("pfabric-websearch-k8"),
    workload!("websearch-k16"),
    workload!("dctcp@expeditus-websearch-k16"),
];

/// Measured values of one workload.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Measurement {
    workload: String,
    packet_hops: u64,
    cpu_seconds: f64,
    packet_hops_per_cpu_second: f64,
    events: u64,
    peak_rss_bytes: Option<u64>,
}

/// Runs the command.
///
/// # Errors
/// The workload is unknown, or a measurement fails.
pub fn execute(arguments: &Bench) -> Result<(), Failure> {
    if let Some(name) = arguments.workload.as_deref()
        && let Some(done) = lab::bench(name, arguments.repeat.get(), arguments.json)
    {
        return done;
    }
    let names = chosen(arguments.workload.as_deref())?;
    let mut medians = Vec::with_capacity(names.len());
    for name in names {
        let mut measured = Vec::with_capacity(arguments.repeat.get());
        for repeat in 1..=arguments.repeat.get() {
            if arguments.within {
                measured.push(measure(name, arguments.first.seed)?);
                continue;
            }
            note(&format!("{name}, {repeat} of {}", arguments.repeat));
            measured.push(measure_apart(name, arguments.first.seed)?);
        }
        medians.extend(middle(measured));
    }
    if arguments.json.json || arguments.within {
        return print_json(&medians);
    }
    print(&table(&medians))
}

fn chosen(name: Option<&str>) -> anyhow::Result<Vec<&'static str>> {
    let names = WORKLOADS.map(|(name, _)| name);
    let Some(name) = name else {
        return Ok(names.to_vec());
    };
    if let Some(known) = names.into_iter().find(|known| *known == name) {
        return Ok(vec![known]);
    }
    let guess = did_you_mean(name, names)
        .map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
    bail!(
        "WORKLOAD: found '{name}'; allowed: {}{guess}",
        names.join(", ")
    )
}

/// Returns the measurement with the median speed.
/// For an even number of measurements, returns the slower of the two measurements in the middle.
fn middle(mut measured: Vec<Measurement>) -> Option<Measurement> {
    measured.sort_by(|a, b| {
        a.packet_hops_per_cpu_second
            .total_cmp(&b.packet_hops_per_cpu_second)
    });
    let middle = measured.len().checked_sub(1)? / 2;
    Some(measured.swap_remove(middle))
}

/// Measures a workload in this process.
fn measure(name: &str, seed: Option<u64>) -> Result<Measurement, Failure> {
    let text = WORKLOADS
        .iter()
        .find(|(known, _)| *known == name)
        .map_or("", |(_, text)| text);
    let mut scenario = Scenario::parse(&format!("scenarios/bench/{name}.toml"), "", text)?;
    if let Some(seed) = seed {
        scenario.set("seed", &seed.to_string(), &Location::flag("--seed"))?;
    }
    let study = Study::of(&scenario)?;
    let config = study.runs.first().context("a bench has a run")?;
    let record = sim::run(config, &Unattended).map_err(anyhow::Error::new)?;
    let cpu_seconds = record
        .cost
        .cpu_seconds
        .context("this system does not report the CPU time of a thread")?;
    Ok(Measurement {
        workload: name.to_owned(),
        packet_hops: record.totals.packet_hops,
        cpu_seconds,
        packet_hops_per_cpu_second: record.totals.packet_hops as f64 / cpu_seconds.max(1e-9),
        events: record.totals.events,
        peak_rss_bytes: record.cost.peak_rss_bytes,
    })
}

/// Measures a workload in a separate process.
fn measure_apart(name: &str, seed: Option<u64>) -> anyhow::Result<Measurement> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let mut command = Command::new(own);
    command.args(["bench", name, "--within"]);
    if let Some(seed) = seed {
        command.args(["--seed", &seed.to_string()]);
    }
    let output = command
        .output()
        .with_context(|| format!("cannot start the measurement of {name}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!(
            "the measurement of {name} failed ({}): {}",
            output.status,
            stderr.trim()
        );
    }
    let measured: Vec<Measurement> = serde_json::from_slice(&output.stdout)
        .with_context(|| format!("the measurement of {name} printed an unexpected result"))?;
    measured
        .into_iter()
        .next()
        .ok_or_else(|| anyhow!("the measurement of {name} printed nothing"))
}

fn table(measured: &[Measurement]) -> String {
    let mut text = format!(
        "{:30} {:>14} {:>10} {:>16} {:>14} {:>10}\n",
        "workload", "packet-hops", "CPU s", "M hops a CPU s", "events", "peak MB"
    );
    for one in measured {
        let peak = one.peak_rss_bytes.map_or_else(
            || "unknown".to_owned(),
            |b| format!("{:.1}", b as f64 / 1e6),
        );
        text.push_str(&format!(
            "{:30} {:>14} {:>10.2} {:>16.2} {:>14} {:>10}\n",
            one.workload,
            one.packet_hops,
            one.cpu_seconds,
            one.packet_hops_per_cpu_second / 1e6,
            one.events,
            peak
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_measurement_that_was_made() {
        let at = |speed: f64| Measurement {
            workload: "w".to_owned(),
            packet_hops: 1,
            cpu_seconds: 1.0,
            packet_hops_per_cpu_second: speed,
            events: 1,
            peak_rss_bytes: None,
        };
        let speeds = [3.0, 1.0, 2.0, 9.0];
        assert_eq!(middle(speeds.map(at).to_vec()), Some(at(2.0)));
        assert_eq!(middle(vec![at(5.0)]), Some(at(5.0)));
        assert_eq!(middle(Vec::new()), None);
    }

    #[test]
    fn every_bench_workload_is_one_run_of_the_design_in_its_name() {
        for (name, text) in WORKLOADS {
            let scenario = Scenario::parse(name, "", text).expect(name);
            let study = Study::of(&scenario).expect(name);
            let designs: Vec<String> = study.runs.iter().map(|run| run.stack.to_string()).collect();
            let design = name.split('-').next().filter(|part| *part != "websearch");
            assert_eq!(designs, [design.unwrap_or("dctcp")], "{name}");
        }
    }
}
