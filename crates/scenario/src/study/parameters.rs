//! Parameters of runs from their keys, and checks across several keys.

use crate::error::{Outcome, did_you_mean};
use crate::parameters::RunOptions;
use crate::scenario::Scenario;
use crate::schema::{Fallback, sections};
use crate::value::{Value, shortened};
use std::collections::BTreeMap;
use tailcut_sim::requests::{Discipline, Preemption};
use tailcut_sim::transport::Demotion;
use tailcut_sim::transport::tcp::TcpConfig;
use tailcut_sim::{
    DesignParameters, NamedQueue, ParameterValue, Registered, RequestParameters, Settings, Values,
    section_of, with_parameters,
};
use tailcut_units::Duration;

/// Name of the queue discipline with which every design keeps its own queue.
pub const FIFO: &str = "fifo";

/// Returns the settings of the designs and the options of runs.
pub fn read(scenario: &Scenario) -> Outcome<(Settings, RunOptions)> {
    let mut parameters = scenario.table("tcp").parameters();
    for section in sections().into_iter().filter(|section| !section.repeated) {
        let table = scenario.table(section.name);
        for key in section.keys {
            if let (Fallback::Field(field), Some(entry)) = (key.default, table.given(key.name)) {
                (field.set)(&mut parameters, &entry.value);
            }
        }
    }
    let (mut settings, options) = parameters.resolve();
    if scenario.table("tcp").given("initial_rto").is_none() {
        // The first timeout is at least `min_rto`.
        // A user raises `min_rto` for a long path, and an earlier timeout would expire before the answer.
        let tcp = &mut settings.tcp;
        tcp.initial_rto = tcp.initial_rto.max(tcp.min_rto);
    }
    settings.discipline = discipline(scenario)?;
    settings.values = values(scenario);
    designs(scenario, &settings.designs)?;
    requests(scenario, &settings.designs.requests)?;
    tcp(scenario, &settings.tcp)?;
    let nic = scenario.table("nic");
    if nic.get::<bool>("gro") && settings.nic.coalescing.is_none() {
        return Err(nic.error("gro", "true", "only with nic.rx_frames above 1"));
    }
    Ok((settings, options))
}

/// Returns the queue discipline that the user chose. `None` for FIFO: each design keeps its own discipline.
fn discipline(scenario: &Scenario) -> Outcome<Option<&'static NamedQueue>> {
    let table = scenario.table("queue");
    let name = table.text("discipline").unwrap_or_default();
    if let Some(known) = NamedQueue::named(&name) {
        return Ok((known.name != FIFO).then_some(known));
    }
    let names: Vec<&str> = NamedQueue::all().iter().map(|one| one.name).collect();
    let meant = did_you_mean(&name, names.iter().copied()).map(str::to_owned);
    let found = format!("\"{}\"", shortened(&name));
    Err(table
        .error("discipline", found, names.join(", "))
        .meaning(meant))
}

/// Returns the parameters of all parts whose sections are in the scenario.
fn values(scenario: &Scenario) -> BTreeMap<&'static str, Values> {
    let mut all = BTreeMap::new();
    for (part, _, parameters) in with_parameters() {
        let table = scenario.table(&section_of(part));
        for parameter in parameters {
            if let Some(entry) = table.given(parameter.name) {
                let values = all.entry(part).or_insert_with(|| Values::of(parameters));
                values.set(parameter.name, parameter_value(&entry.value));
            }
        }
    }
    all
}

/// Converts the value of a key to the value of a parameter.
fn parameter_value(value: &Value) -> ParameterValue {
    match value {
        Value::Flag(flag) => ParameterValue::Flag(*flag),
        Value::Count(count) => ParameterValue::Count(*count),
        Value::Number(number) => ParameterValue::Number(*number),
        Value::Duration(span) => ParameterValue::Duration(*span),
        Value::Bytes(bytes) => ParameterValue::Bytes(*bytes),
        Value::Word(word) => ParameterValue::Word(word),
        other => unreachable!("a key of a part holds no {other:?}"),
    }
}

fn designs(scenario: &Scenario, designs: &DesignParameters) -> Outcome<()> {
    for (section, thresholds) in [
        ("pias", &designs.pias.thresholds),
        ("ndp", &designs.ndp.thresholds),
        ("scdp", &designs.scdp.thresholds),
    ] {
        if Demotion::at(thresholds).is_none() {
            let (table, found) = (scenario.table(section), format!("{thresholds:?}"));
            return Err(table.error("thresholds", found, "each greater than the one before"));
        }
    }
    if let Some(pacer) = designs.hull.pacer
        && let (Some(least), Some(most)) = (pacer.min_rate, pacer.max_rate)
        && least > most
    {
        let allowed = format!("at least pacer_min_rate, {least}");
        let table = scenario.table("hull");
        return Err(table.error("pacer_max_rate", most.to_string(), allowed));
    }
    let (least, initial) = (designs.ndp.min_rto, designs.ndp.initial_rto);
    if initial < least {
        let allowed = format!("at least min_rto, {least}");
        let table = scenario.table("ndp");
        return Err(table.error("initial_rto", initial.to_string(), allowed));
    }
    let scdp = scenario.table("scdp");
    if scdp.given("quorum").is_some() && scdp.word("stragglers") != Some("quorum") {
        return Err(scdp.error("quorum", "another policy", "only with stragglers quorum"));
    }
    Ok(())
}

fn requests(scenario: &Scenario, requests: &RequestParameters) -> Outcome<()> {
    let (servers, rans) = (scenario.table("servers"), scenario.table("rans"));
    let (copies, quorum) = (requests.copies, requests.quorum);
    if quorum > copies {
        let allowed = format!("1 to {copies}, the number of copies");
        return Err(rans.error("quorum", quorum.to_string(), allowed));
    }
    if requests.swap_lead.is_some() && (copies, quorum) != (2, 1) {
        let found = format!("{copies} copies and a quorum of {quorum}");
        return Err(rans.error("swap_lead", found, "two copies and a quorum of 1"));
    }
    let delay = requests.delay;
    if let Some(purge) = requests.purge_delay.filter(|purge| *purge < delay) {
        let allowed =
            format!("at least servers.delay, {delay}: messages do not overtake each other");
        return Err(servers.error("purge_delay", purge.to_string(), allowed));
    }
    let (seek, factor) = (requests.work.seek, requests.work.straggler_factor);
    if factor < 1.0 {
        return Err(servers.error("straggler_factor", factor.to_string(), "at least 1"));
    }
    if seek > Duration::ZERO && requests.disk.is_none() {
        return Err(servers.error("seek", seek.to_string(), "only with servers.disk"));
    }
    let shares = requests.discipline == Discipline::ProcessorSharing;
    if shares && requests.preemption != Preemption::Resume {
        let found = servers.word("preemption").unwrap_or_default();
        let allowed = "\"resume\" with processor sharing, because it has no copy in service";
        return Err(servers.error("preemption", format!("\"{found}\""), allowed));
    }
    Ok(())
}

fn tcp(scenario: &Scenario, config: &TcpConfig) -> Outcome<()> {
    config.validate().map_err(|error| {
        let key = match error.key {
            "delayed_ack.segments" => "delayed_ack",
            "delayed_ack.timeout" => "delayed_ack_timeout",
            "lso_bytes" => "lso",
            key => key,
        };
        scenario.table("tcp").error(key, error.found, error.allowed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Location;
    use tailcut_sim::transport::StragglerPolicy;
    use tailcut_sim::transport::scdp::DecodeSpeed;
    use tailcut_units::{Bytes, Rate};

    fn of(text: &str) -> Outcome<Settings> {
        let scenario = Scenario::parse("s.toml", "", text).expect("keys and values are valid");
        read(&scenario).map(|(settings, _)| settings)
    }

    #[test]
    fn an_ack_is_never_held_back_for_as_long_as_the_peer_waits() {
        let held_back = |settings: Settings| settings.tcp.delayed_ack.map(|ack| ack.timeout);
        let ms = |ms| Some(Duration::from_ms(ms));
        assert_eq!(held_back(of("").expect("sound")), ms(5));
        let long = of("[tcp]\nmin_rto = \"1s\"\ninitial_rto = \"1s\"\n");
        assert_eq!(held_back(long.expect("sound")), ms(40));
        let text = "[tcp]\nmin_rto = \"10ms\"\n";
        let mut scenario = Scenario::parse("s.toml", "", text).expect("sound");
        let flag = Location::flag("--set");
        scenario
            .set("tcp.delayed_ack_timeout", "20ms", &flag)
            .expect("a span");
        let error = read(&scenario)
            .expect_err("longer than min_rto")
            .to_string();
        assert!(
            error.starts_with("--set: tcp.delayed_ack_timeout: found 20 ms"),
            "{error}"
        );
    }

    #[test]
    fn a_full_packet_carries_what_tcp_sends() {
        let settings = of("[tcp]\nmss = 1000\n").expect("sound");
        assert_eq!((settings.tcp.mss, settings.framing.payload), (1_000, 1_000));
    }

    #[test]
    fn the_parts_of_hull_are_turned_off_one_by_one() {
        let settings =
            of("[hull]\nphantom_drain = \"off\"\n[nic]\nrx_frames = 8\n").expect("sound");
        let hull = settings.designs.hull;
        assert!(hull.phantom.is_none() && hull.pacer.is_some());
        assert_eq!(settings.nic.coalescing.map(|nic| nic.frames), Some(8));
        let hull = of("[hull]\npacer = false\n").expect("sound").designs.hull;
        assert!(hull.phantom.is_some() && hull.pacer.is_none());
    }

    #[test]
    fn the_codec_is_as_the_scenario_says() {
        let text = "[scdp]\ndecode_rate = [\"10:3Gbps\", \"100:2Gbps\"]\n\
                    decode_failure = [0.5, 0.25, 0]\n";
        let read = of(text).expect("sound").designs.scdp;
        let (three, two) = (Rate::from_gbps(3), Rate::from_gbps(2));
        assert_eq!(
            Some(read.decode_speed),
            DecodeSpeed::new(vec![(10, three), (100, two)])
        );
        assert_eq!(read.decode_failure, [0.5, 0.25, 0.0]);
    }

    #[test]
    fn a_quorum_is_a_policy_for_stragglers() {
        let read = of("[scdp]\nstragglers = \"quorum\"\nquorum = 1\n").expect("sound");
        let policy = read.designs.scdp.stragglers.policy;
        assert_eq!(policy, StragglerPolicy::Quorum(1));
    }

    #[test]
    fn a_chunk_is_as_large_as_written() {
        let read = of("[servers]\nchunk = \"64KB\"\n").expect("sound");
        assert_eq!(read.designs.requests.chunk, Bytes(64_000));
    }

    #[test]
    fn what_does_not_go_together_is_refused_where_it_stands() {
        for (text, beginning) in [
            (
                "[pias]\nthresholds = [\"10KB\", \"10KB\"]\n",
                "s.toml:2: pias.thresholds",
            ),
            (
                "[hull]\npacer_min_rate = \"2Gbps\"\npacer_max_rate = \"1Gbps\"\n",
                "s.toml:3: hull.pacer_max_rate: found 1 Gb/s; allowed: at least pacer_min_rate, 2 Gb/s",
            ),
            (
                "[ndp]\nmin_rto = \"30ms\"\ninitial_rto = \"10ms\"\n",
                "s.toml:3: ndp.initial_rto",
            ),
            ("[scdp]\nquorum = 1\n", "s.toml:2: scdp.quorum"),
            ("[nic]\ngro = true\n", "s.toml:2: nic.gro"),
            (
                "[rans]\ncopies = 2\nquorum = 3\n",
                "s.toml:3: rans.quorum: found 3",
            ),
            (
                "[rans]\ncopies = 3\nswap_lead = \"1MB\"\n",
                "s.toml:3: rans.swap_lead",
            ),
            (
                "[servers]\ndelay = \"1ms\"\npurge_delay = \"1us\"\n",
                "s.toml:3: servers.purge_delay",
            ),
            ("[servers]\nseek = \"1ms\"\n", "s.toml:2: servers.seek"),
            (
                "[servers]\nstraggler_factor = 0.5\n",
                "s.toml:2: servers.straggler_factor",
            ),
            (
                "[servers]\ndiscipline = \"processor-sharing\"\npreemption = \"never\"\n",
                "s.toml:3: servers.preemption",
            ),
        ] {
            let error = of(text).expect_err(text).to_string();
            assert!(error.starts_with(beginning), "{error}");
        }
    }
}
