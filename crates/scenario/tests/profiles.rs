//! Profiles and timer sets of TCP set the defaults of keys. A key that the user writes overrides the default.

use tailcut_scenario::{Location, Scenario, Study};
use tailcut_sim::transport::tcp::{
    DelayedAck, HyStartClock, InitialWindow, LossRecovery, TcpConfig,
};
use tailcut_units::Duration;

fn study(keys: &str) -> Result<Study, String> {
    let scenario = scenario(keys);
    Study::of(&scenario).map_err(|error| error.to_string())
}

fn scenario(keys: &str) -> Scenario {
    let text = format!("designs = [\"tcp\"]\n[tcp]\n{keys}");
    Scenario::parse("s.toml", "", &text).expect("keys and values are valid")
}

fn tcp(keys: &str) -> TcpConfig {
    study(keys).expect("a study").runs[0].settings.tcp.clone()
}

fn same(a: &TcpConfig, b: &TcpConfig) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

#[test]
fn without_a_profile_tcp_is_that_of_linux_with_timers_of_a_data_centre() {
    let usual = tcp("");
    assert!(same(&usual, &tcp("profile = \"linux\"\n")));
    assert!(same(&usual, &tcp("timers = \"data-centre\"\n")));
    let rfc = tcp("profile = \"rfc\"\n");
    assert!(same(&rfc, &TcpConfig::data_centre()));
}

#[test]
fn linux_has_what_its_kernel_has_and_keeps_the_timers() {
    let linux = tcp("profile = \"linux\"\n");
    assert!(
        linux.sack && linux.restart_after_idle && linux.control_ect && linux.min_rto_above_srtt
    );
    assert!(linux.tail_loss_probe && linux.rate_reduction && linux.undo);
    assert_eq!(linux.loss_recovery, LossRecovery::Rack);
    assert_eq!(
        (
            linux.quick_acks,
            linux.lost_syn_keeps_window,
            linux.linear_syn_timeouts
        ),
        (16, true, 4)
    );
    assert_eq!(linux.slow_start_limit, None);
    assert_eq!(linux.hystart, Some(HyStartClock::Microseconds));
    assert_eq!(linux.min_rto, Duration::from_ms(10));
}

#[test]
fn ns2_acknowledges_every_segment_and_starts_with_two() {
    let ns2 = tcp("profile = \"ns2\"\n");
    assert_eq!(ns2.delayed_ack, None);
    assert_eq!(ns2.initial_window, InitialWindow::Segments(2));
    assert_eq!((ns2.slow_start_limit, ns2.quick_acks), (Some(1), 0));
}

#[test]
fn a_key_beside_the_profile_wins_wherever_it_stands() {
    for keys in [
        "profile = \"linux\"\nsack = false\nquick_acks = \"off\"\nhystart = \"1ms\"\n",
        "sack = false\nquick_acks = \"off\"\nhystart = \"1ms\"\nprofile = \"linux\"\n",
    ] {
        let tcp = tcp(keys);
        assert!(!tcp.sack && tcp.undo);
        assert_eq!(tcp.quick_acks, 0);
        assert_eq!(tcp.hystart, Some(HyStartClock::Ticks(Duration::from_ms(1))));
    }
    let ns2 = tcp("delayed_ack = 2\nprofile = \"ns2\"\n");
    let timeout = Duration::from_ms(5);
    assert_eq!(
        ns2.delayed_ack,
        Some(DelayedAck {
            segments: 2,
            timeout
        })
    );
}

#[test]
fn a_flag_sets_the_profile_of_a_file_with_keys() {
    let mut scenario = scenario("quick_acks = 8\n");
    let flag = Location::flag("--set");
    scenario
        .set("tcp.profile", "rfc", &flag)
        .expect("a profile");
    let study = Study::of(&scenario).expect("a study");
    let tcp = &study.runs[0].settings.tcp;
    assert_eq!((tcp.quick_acks, tcp.undo), (8, false));
}

#[test]
fn a_sweep_over_profiles_gives_each_run_its_own() {
    let study =
        study("[sweep]\n\"tcp.profile\" = [\"rfc\", \"linux\", \"ns2\"]\n").expect("a study");
    let quick: Vec<u8> = study
        .runs
        .iter()
        .map(|run| run.settings.tcp.quick_acks)
        .collect();
    assert_eq!(quick, [0, 16, 0]);
}

#[test]
fn stock_timers_are_those_of_linux_and_a_key_beside_them_wins() {
    let ms = Duration::from_ms;
    let timers = |tcp: &TcpConfig| {
        let delay = tcp.delayed_ack.map(|ack| ack.timeout);
        (tcp.min_rto, tcp.initial_rto, delay)
    };
    let stock = tcp("timers = \"stock\"\n");
    assert_eq!(timers(&stock), (ms(200), ms(1_000), Some(ms(40))));
    let mixed = tcp("min_rto = \"20ms\"\ntimers = \"stock\"\n");
    assert_eq!(timers(&mixed), (ms(20), ms(1_000), Some(ms(10))));
    let both = tcp("timers = \"stock\"\nprofile = \"linux\"\n");
    assert_eq!(timers(&both), (ms(200), ms(1_000), Some(ms(40))));
}

#[test]
fn the_recorded_configuration_shows_what_the_profile_decides() {
    let config = scenario("profile = \"linux\"\ntimers = \"stock\"\n").to_json();
    let tcp = &config["tcp"];
    assert_eq!(tcp["quick_acks"], 16);
    assert_eq!(tcp["hystart"], "microseconds");
    assert_eq!(tcp["slow_start_limit"], "unlimited");
    assert_eq!(
        tcp["initial_rto"],
        scenario("initial_rto = \"1s\"\n").to_json()["tcp"]["initial_rto"]
    );
}

#[test]
fn a_longer_least_timeout_raises_the_initial_one_unless_it_is_written() {
    let ms = Duration::from_ms;
    let raised = tcp("min_rto = \"200ms\"\n");
    assert_eq!((raised.min_rto, raised.initial_rto), (ms(200), ms(200)));
    let error = study("min_rto = \"200ms\"\ninitial_rto = \"10ms\"\n").expect_err("too short");
    assert!(
        error.starts_with("s.toml:4: tcp.initial_rto: found 10 ms") && error.contains("200 ms"),
        "{error}"
    );
}
