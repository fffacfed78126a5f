//! Packet capture of a study: the captured runs, their hosts or ports, and the amount of data.

use crate::error::{Location, Outcome, ScenarioError, did_you_mean};
use crate::study::Study;
use crate::value::{Kind, Raw, Value, shortened};
use std::io::Write;
use std::sync::Arc;
use tailcut_capture::{Capture, CapturePoints, Limits, WireOptions};
use tailcut_sim::fabric::topology::Topology;
use tailcut_sim::{RunConfig, carried};

/// Default limit of a capture file, in bytes.
const FILE_BYTES: u64 = 100_000_000;

/// Smallest limit that a user can set, in bytes.
const LEAST_FILE_BYTES: u64 = 1_000;

/// Capture of one run into a writer.
pub type RunCapture<W> = Capture<W>;

/// Plan of the packet captures of a study. The default captures every flow of the first seed, up to 100 MB per file.
#[derive(Clone, Debug)]
pub struct CapturePlan {
    points: Arc<CapturePoints>,
    limits: Limits,
    first_seed: u64,
    seeds: u64,
}

/// Rejects a sweep over networks with different port names, because a capture refers to ports by name.
fn one_network(study: &Study, network: &Topology, place: &Location) -> Outcome<()> {
    let of_network = |key: &str| {
        ["topology", "nodes", "links"]
            .iter()
            .any(|s| key.starts_with(s))
    };
    let names: Vec<String> = CapturePoints::names(network).collect();
    for run in study.runs.iter().filter(|run| run.seed == study.seed) {
        let Some(swept) = run.parameters.iter().find(|one| of_network(&one.key)) else {
            continue;
        };
        let is_same = |other: Topology| CapturePoints::names(&other).eq(names.iter().cloned());
        if !run.topology.shape.build().is_ok_and(is_same) {
            let found = format!("a sweep over networks with different ports ({})", swept.key);
            let allowed = format!("one network: --set {}=VALUE", swept.key);
            return Err(ScenarioError::new(place, "", found, allowed));
        }
    }
    Ok(())
}

impl CapturePlan {
    /// Creates a plan that captures a host (`h3`), a port (`h3>leaf[0]`) or `all` hosts.
    /// The study's tables contain the names.
    ///
    /// # Errors
    /// The study's network does not contain the name, or the study has no packets.
    pub fn new(study: &Study, what: &str) -> Outcome<Self> {
        let flag = Location::flag("--capture");
        let Some(run) = study.runs.iter().find(|run| run.stack.design.has_packets()) else {
            let found = "a study without packets";
            let allowed = "designs over a network: `stations` has none";
            return Err(ScenarioError::new(&flag, "", found, allowed));
        };
        let topology = run.topology.shape.build().map_err(|error| {
            let found = format!("a network that cannot be built: {error}");
            ScenarioError::new(&flag, "", found, "")
        })?;
        one_network(study, &topology, &flag)?;
        let points = CapturePoints::named(&topology, what).map_err(|unknown| {
            let names: Vec<String> = CapturePoints::names(&topology).collect();
            let meant = did_you_mean(what, names.iter().map(String::as_str));
            let found = format!("'{}'", shortened(what));
            ScenarioError::new(&flag, "", found, unknown.allowed).meaning(meant.map(str::to_owned))
        })?;
        Ok(Self {
            points: Arc::new(points),
            limits: Limits {
                bytes: FILE_BYTES,
                flows: None,
            },
            first_seed: study.seed,
            seeds: 1,
        })
    }

    /// Sets the largest size of a capture file, such as `10MB`.
    ///
    /// # Errors
    /// The text is not a number of bytes, or the number is below 1 KB.
    pub fn with_bytes(mut self, text: &str) -> Outcome<Self> {
        let kind = Kind::Bytes {
            least: LEAST_FILE_BYTES,
        };
        let Some(Value::Bytes(bytes)) = kind.read(&Raw::Argument(text.to_owned())) else {
            let flag = Location::flag("--capture-bytes");
            let found = format!("'{}'", shortened(text));
            return Err(ScenarioError::new(&flag, "", found, kind.allowed()));
        };
        self.limits.bytes = bytes.0;
        Ok(self)
    }

    /// Limits each file to this number of flows. The flows whose packets appear first are captured.
    pub const fn with_flows(mut self, flows: u64) -> Self {
        self.limits.flows = Some(flows);
        self
    }

    /// Captures this number of seeds, starting with the first.
    pub const fn with_seeds(mut self, seeds: u64) -> Self {
        self.seeds = seeds;
        self
    }

    /// Returns whether this run is captured.
    pub fn takes(&self, run: &RunConfig) -> bool {
        run.stack.design.has_packets() && run.seed.saturating_sub(self.first_seed) < self.seeds
    }

    /// Starts the capture of a run. The capture is written to `out`.
    pub fn capture<W: Write>(&self, run: &RunConfig, out: W) -> RunCapture<W> {
        let wire_options = WireOptions {
            seed: run.seed,
            mss: u16::try_from(run.settings.framing.payload).unwrap_or(u16::MAX),
            sack: run.settings.tcp.sack,
        };
        Capture::new(
            out,
            Arc::clone(&self.points),
            wire_options,
            self.limits,
            carried,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn study(more: &str) -> Study {
        let text = format!(
            "designs = [\"tcp\"]\nseeds = 3\nloads = 0.3\n{more}[topology]\n\
             kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts = 4\n[[workload]]\n\
             sizes = \"fixed:20KB\"\n"
        );
        Study::of(&Scenario::from_text(&text).expect("a scenario")).expect("a study")
    }

    #[test]
    fn the_first_seed_is_captured_unless_more_are_asked_for() {
        let study = study("seed = 7\n");
        let taken = |plan: &CapturePlan| -> Vec<u64> {
            let runs = study.runs.iter().filter(|run| plan.takes(run));
            runs.map(|run| run.seed).collect()
        };
        let plan = CapturePlan::new(&study, "h5").expect("a host");
        assert_eq!(taken(&plan), [7]);
        assert_eq!(taken(&plan.with_seeds(2)), [7, 8]);
    }

    #[test]
    fn a_study_of_stations_alone_has_nothing_to_capture() {
        let text = "designs = [\"das\"]\nloads = 0.3\n[[workload]]\nkind = \"requests\"\n\
                    sizes = \"fixed:20KB\"\n";
        let study = Study::of(&Scenario::from_text(text).expect("a scenario")).expect("a study");
        let error = CapturePlan::new(&study, "all").expect_err("no packets");
        assert_eq!(
            error.to_string(),
            "--capture: found a study without packets; allowed: designs over a network: `stations` \
             has none"
        );
    }

    #[test]
    fn a_wrong_name_is_told_with_those_that_there_are() {
        let error = CapturePlan::new(&study(""), "h0>leaf[3]").expect_err("no such port");
        assert_eq!(
            error.to_string(),
            "--capture: found 'h0>leaf[3]'; allowed: all, one of 8 hosts (h0, h1, h2, ...), or one of 24 \
             ports, FROM>TO (h0>leaf[0], h1>leaf[0], h2>leaf[0], ...): the table `topology` has their \
             names; did you mean 'h0>leaf[0]'?"
        );
        let bytes = CapturePlan::new(&study(""), "all").and_then(|plan| plan.with_bytes("10"));
        assert_eq!(
            bytes.expect_err("too few").to_string(),
            "--capture-bytes: found '10'; allowed: bytes from 1KB to 1000TB, a number or with a \
             unit, such as \"100KB\" (10^5) or \"64KiB\" (2^16)"
        );
    }
}
