//! Ties: no port, path or host has an advantage from its number. Each test compares the results of several seeds.

use std::collections::BTreeMap;
use tailcut_record::RunRecord;
use tailcut_scenario::{Scenario, Study};
use tailcut_sim::fabric::{ObservedPacket, Observer, PortId};
use tailcut_sim::transport::{Header, Segment};
use tailcut_sim::{Unattended, run, run_watched};

/// Returns the record of each run of a scenario, with the design's name.
fn runs(text: &str) -> Vec<(String, RunRecord)> {
    let scenario = Scenario::from_text(text).expect("a scenario");
    let study = Study::of(&scenario).expect("a study");
    let runs = study.runs.iter();
    runs.map(|config| {
        (
            config.key().design,
            run(config, &Unattended).expect("a run"),
        )
    })
    .collect()
}

/// Returns the retransmissions of all flows from each host.
fn retransmissions(record: &RunRecord) -> BTreeMap<u32, u64> {
    let mut hosts = BTreeMap::new();
    for flow in &record.flows {
        *hosts.entry(flow.src.0).or_default() += u64::from(flow.retransmissions);
    }
    hosts
}

const TWO_SENDERS: &str = r#"
seeds = 40
[topology]
kind = "single-switch"
hosts = 3
rate = "10Gbps"
[queue]
limit = "100 packets"
[[workload]]
kind = "burst"
sizes = "fixed:4MB"
matrix = "incast"
senders = 2
receiver = 0
"#;

#[test]
fn of_two_equal_senders_each_loses_more_in_about_half_of_the_seeds() {
    let designs = "designs = [\"tcp\", \"cubic\", \"dctcp\", \"pfabric\"]\n";
    let mut lower: BTreeMap<String, u32> = BTreeMap::new();
    for (design, record) in runs(&format!("{designs}{TWO_SENDERS}")) {
        let lost = retransmissions(&record);
        let count = lower.entry(design).or_default();
        *count += u32::from(lost[&1] > lost[&2]);
    }
    assert_eq!(lower.len(), 4);
    for (design, count) in lower {
        // A binomial number (40 trials, probability 1/2) is outside this range in 0.6 % of all cases.
        assert!((12..=28).contains(&count), "{design}: {count} of 40");
    }
}

/// Returns the rank correlation of Spearman between the number of a host and its retransmissions.
fn rank_correlation(values: &BTreeMap<u32, u64>) -> f64 {
    let ranks = |values: Vec<f64>| -> Vec<f64> {
        let below = |value: f64| values.iter().filter(|other| **other < value).count();
        let equal = |value: f64| values.iter().filter(|other| **other == value).count();
        let rank = |value: &f64| below(*value) as f64 + equal(*value) as f64 / 2.0;
        values.iter().map(rank).collect()
    };
    let hosts = ranks(values.keys().map(|host| f64::from(*host)).collect());
    let losses = ranks(values.values().map(|lost| *lost as f64).collect());
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let (host_mean, loss_mean) = (mean(&hosts), mean(&losses));
    let pairs = hosts.iter().zip(&losses);
    let covariance: f64 = pairs
        .map(|(host, loss)| (host - host_mean) * (loss - loss_mean))
        .sum();
    let spread = |of: &[f64], mean: f64| of.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
    covariance / (spread(&hosts, host_mean) * spread(&losses, loss_mean)).sqrt()
}

#[test]
fn of_sixteen_senders_at_random_times_no_number_loses_more_than_others() {
    let text = r#"
designs = ["tcp"]
loads = 0.05
seeds = 20
flows = 1500
duration = "10s"
[topology]
kind = "single-switch"
hosts = 17
rate = "10Gbps"
[[workload]]
kind = "open"
sizes = "websearch"
matrix = "incast"
senders = 16
receiver = 0
"#;
    let runs = runs(text);
    let values: Vec<f64> = runs
        .iter()
        .map(|(_, record)| rank_correlation(&retransmissions(record)))
        .collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0);
    // Student's t for 99 % and 19 degrees of freedom.
    let half_width = 2.861 * (variance / n).sqrt();
    assert!(mean.abs() < half_width, "{mean} +- {half_width}");
}

/// Counter of the episodes of loss of TCP senders, from the segments that leave their hosts.
/// An episode begins with a retransmission, after which the sender recovers or its timer has expired.
/// An episode ends when the ACKs pass the data that was in flight at its beginning (RFC 6582, 3.2).
/// Further retransmissions of data that was in flight belong to the same episode.
#[derive(Default)]
struct LossEpisodes {
    senders: BTreeMap<u32, SenderEpisodes>,
}

#[derive(Default)]
struct SenderEpisodes {
    /// Port of the host. Switches see the same segments later.
    port: Option<PortId>,
    /// End of the data that was sent so far.
    sent: u64,
    /// End of the data that was in flight when the last episode began.
    in_flight: u64,
    episodes: u64,
}

impl Observer<Segment> for LossEpisodes {
    fn enqueued(&mut self, seen: ObservedPacket<'_, Segment>) {
        let segment = seen.body;
        let Header::Tcp(header) = segment.header else {
            return;
        };
        let sender = self.senders.entry(segment.tuple.src.0).or_default();
        if *sender.port.get_or_insert(seen.port) != seen.port || segment.payload == 0 {
            return;
        }
        let is_again = header.offset < sender.sent;
        if is_again && header.offset >= sender.in_flight {
            sender.episodes += 1;
            sender.in_flight = sender.sent;
        }
        let end = header.offset + u64::from(segment.payload);
        sender.sent = sender.sent.max(end);
    }
}

#[test]
fn with_jitter_each_of_two_long_flows_has_about_half_of_the_episodes_of_loss() {
    let text = r#"
designs = ["cubic"]
seeds = 6
[topology]
kind = "single-switch"
hosts = 3
rate = "10Gbps"
[queue]
limit = "100 packets"
[host]
jitter = "1.2us"
[[workload]]
kind = "burst"
sizes = "fixed:40MB"
matrix = "incast"
senders = 2
receiver = 0
"#;
    let scenario = Scenario::from_text(text).expect("a scenario");
    let study = Study::of(&scenario).expect("a study");
    let (mut first, mut both) = (0, 0);
    for config in &study.runs {
        let mut seen = LossEpisodes::default();
        let record = run_watched(config, &Unattended, &mut seen).expect("a run");
        first += seen.senders[&1].episodes;
        both += seen.senders[&1].episodes + seen.senders[&2].episodes;
        let mut flows = record.flows.iter();
        assert!(flows.all(|flow| flow.fct >= Some(flow.ideal_fct)));
    }
    let share = first as f64 / both as f64;
    assert!(both > 20, "{both}");
    assert!((0.3..=0.7).contains(&share), "{share} of {both}");
}

#[test]
fn with_drift_hosts_send_at_rates_of_their_own_and_no_flow_beats_its_ideal_time() {
    let text = r#"
designs = ["tcp"]
[topology]
kind = "single-switch"
hosts = 9
rate = "10Gbps"
[host]
drift = 100
[[workload]]
kind = "burst"
sizes = "fixed:10MB"
matrix = "permutation"
"#;
    let runs = runs(text);
    let (_, record) = &runs[0];
    let mut ideals: Vec<_> = record.flows.iter().map(|flow| flow.ideal_fct).collect();
    ideals.sort_unstable();
    ideals.dedup();
    // The ideal time of each flow takes the clock of its sender into account.
    assert!(ideals.len() > record.flows.len() / 2, "{ideals:?}");
    let (fastest, slowest) = (ideals[0], ideals[ideals.len() - 1]);
    let spread = slowest.as_secs_f64() / fastest.as_secs_f64() - 1.0;
    assert!(spread > 1e-5 && spread <= 2.1e-4, "{spread}");
    for flow in &record.flows {
        let fct = flow.fct.expect("complete");
        assert!(fct >= flow.ideal_fct, "{flow:?}");
        assert!(
            fct.as_secs_f64() < flow.ideal_fct.as_secs_f64() * 1.05,
            "{flow:?}"
        );
    }
}
