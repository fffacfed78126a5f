//! Limits of the hosts' kernels for the values of a scenario.
//! Kernels round timers to clock ticks, and have some fixed timers. Their queues differ from those in the simulator.

use super::settings::USUAL_QUEUE;
use anyhow::{Result, bail};
use rustix::time::{ClockId, clock_getres};
use tailcut_scenario::{Location, Scenario, Study};
use tailcut_sim::{Kernel, RunClock, RunConfig, Traffic};
use tailcut_units::Duration;

/// Retransmission timeout before the first RTT sample. The kernel's value is fixed (RFC 6298).
const INITIAL_RTO: Duration = Duration::from_ms(1_000);

/// Replaces values of a scenario with the values that the hosts' kernels use.
/// Simulated runs of the same study use the kernels' values too. Returns texts that describe the changes.
///
/// # Errors
/// The scenario sets a key that is fixed in the kernel.
pub fn apply_kernel_limits(scenario: &mut Scenario) -> Result<Vec<String>> {
    let study = Study::of(scenario)?;
    let on_hosts = study.runs.iter().find_map(|run| match run.clock {
        RunClock::Wall { slowdown } => Some((&run.settings.tcp, slowdown.get())),
        RunClock::Simulated => None,
    });
    let Some((tcp, slowdown)) = on_hosts else {
        return Ok(Vec::new());
    };
    let (min_rto, initial_rto) = (tcp.min_rto, tcp.initial_rto);
    let is_given = scenario.table("tcp").given("initial_rto").is_some();
    let place = Location::flag("--clock");
    let mut words = Vec::new();
    let has_requests = |run: &RunConfig| run.traffic() == Traffic::Requests;
    if study.runs.iter().any(has_requests) {
        let queue = study.runs.iter().find_map(|run| run.settings.nic.queue);
        words.push(format!(
            "simulated hosts serve their connections in turn, but real hosts have a FIFO of {} packets for \
             each class of copies",
            queue.unwrap_or(USUAL_QUEUE)
        ));
    } else if scenario.table("host").given("queue").is_none() {
        // The NIC of PIAS always serves its classes in order, so its queue length does not matter here.
        let in_order = |run: &RunConfig| {
            run.settings.designs.pias.host_order && run.stack.design.hosts.have_tags()
        };
        let of_scdp = |run: &RunConfig| matches!(run.stack.design.kernel(), Kernel::Cast { .. });
        // If all designs are SCDP, no value changes.
        // SCDP hosts serve classes in order both in the simulator and on real hosts. The keys below apply only to TCP.
        if study.runs.iter().all(of_scdp) {
            return Ok(words);
        }
        let packets = USUAL_QUEUE.to_string();
        match study.runs.iter().any(|run| in_order(run) || of_scdp(run)) {
            true => words.push(format!(
                "host.queue: simulated hosts serve their connections in turn, but real hosts have a FIFO of \
                 {packets} packets; with --set host.queue={packets} both have this FIFO"
            )),
            false => {
                scenario.set("host.queue", &packets, &place)?;
                words.push(format!("host.queue is a FIFO of {packets} packets on real hosts"));
            }
        }
    }
    let own = Duration::from_ps(INITIAL_RTO.as_ps() / u64::from(slowdown));
    if initial_rto != own {
        // The user may write "1s", the kernel's value on the wall clock, even if the network's clock is slower.
        if is_given && initial_rto != INITIAL_RTO {
            bail!(
                "tcp.initial_rto: found {initial_rto}; allowed on real hosts: {own}, the kernel's fixed value (1 s \
                 on the wall clock)"
            );
        }
        scenario.set("tcp.initial_rto", &written(own), &place)?;
        words.push(format!(
            "tcp.initial_rto is {own} on real hosts, the kernel's fixed value"
        ));
    }
    let tick = tick();
    let kept = in_ticks(min_rto, slowdown, tick);
    if kept != min_rto {
        // If the kernel more than doubled the timer, real and simulated hosts would give different results.
        if kept.as_ps() / 2 > min_rto.as_ps() {
            bail!(
                "tcp.min_rto: found {min_rto}; allowed on real hosts: {} or more, because the kernel \
                 rounds it up to its clock tick of {tick}, and may at most double it",
                Duration::from_ps(kept.as_ps() / 2)
            );
        }
        scenario.set("tcp.min_rto", &written(kept), &place)?;
        words.push(format!(
            "tcp.min_rto: {min_rto} becomes {kept} on real hosts, which have a clock tick of {tick}"
        ));
    }
    Ok(words)
}

/// Returns a duration in the text format of scenarios.
fn written(span: Duration) -> String {
    format!("{}ps", span.as_ps())
}

/// Returns the length of one tick of the kernel's clock.
fn tick() -> Duration {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    Duration::from_ns(tick.tv_sec as u64 * 1_000_000_000 + tick.tv_nsec as u64)
}

/// Returns the value that the kernel uses for a timer of `span`. `span` and the result are on the network's clock.
/// The kernel rounds the timer up to ticks of the wall clock.
fn in_ticks(span: Duration, slowdown: u32, tick: Duration) -> Duration {
    let wall = span.saturating_mul(slowdown.into()).as_ps();
    let ticks = wall.div_ceil(tick.as_ps().max(1)).max(1);
    Duration::from_ps(ticks.saturating_mul(tick.as_ps()) / u64::from(slowdown))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    fn scenario(text: &str) -> Scenario {
        let common = "designs = [\"cubic\"]\nclock = \"both\"\n";
        Scenario::from_text(&format!("{common}{text}")).expect("a scenario")
    }

    fn initial_rto(scenario: &Scenario) -> Duration {
        let study = Study::of(scenario).expect("a study");
        study.runs[0].settings.tcp.initial_rto
    }

    #[test]
    fn a_timer_is_rounded_up_to_ticks_of_the_walls_clock() {
        let tick = Duration::from_ms(4);
        assert_eq!(
            in_ticks(Duration::from_ms(10), 1, tick),
            Duration::from_ms(12)
        );
        assert_eq!(
            in_ticks(Duration::from_ms(12), 1, tick),
            Duration::from_ms(12)
        );
        assert_eq!(
            in_ticks(Duration::from_ms(10), 4, tick),
            Duration::from_ms(10)
        );
        assert_eq!(in_ticks(Duration::from_us(1), 1, tick), tick);
    }

    #[test]
    fn the_first_timeout_is_the_kernels_own_unless_another_was_asked_for() {
        let mut usual = scenario("");
        apply_kernel_limits(&mut usual).expect("the key is not set");
        assert_eq!(initial_rto(&usual), INITIAL_RTO);
        let mut slower = scenario("slowdown = 4\n");
        apply_kernel_limits(&mut slower).expect("the key is not set");
        assert_eq!(initial_rto(&slower), Duration::from_ms(250));
        let mut named = scenario("slowdown = 4\n[tcp]\ninitial_rto = \"1s\"\n");
        apply_kernel_limits(&mut named).expect("the kernel's own");
        assert_eq!(initial_rto(&named), Duration::from_ms(250));
        let asked = apply_kernel_limits(&mut scenario("[tcp]\ninitial_rto = \"300ms\"\n"));
        let said = asked.expect_err("the kernel's own").to_string();
        assert!(said.starts_with("tcp.initial_rto: found 300 ms"), "{said}");
    }

    #[test]
    fn simulated_hosts_beside_real_ones_have_their_queue_unless_the_card_serves_classes() {
        let queue = |designs: &str, text: &str| {
            let text = format!("designs = {designs}\nclock = \"both\"\n{text}");
            let mut scenario = Scenario::from_text(&text).expect("a scenario");
            let words = apply_kernel_limits(&mut scenario)
                .expect("nothing is refused")
                .concat();
            assert_eq!(
                words.contains("host.queue"),
                text == format!("designs = {designs}\nclock = \"both\"\n")
            );
            let study = Study::of(&scenario).expect("a study");
            study.runs[0].settings.nic.queue.map(NonZeroU32::get)
        };
        assert_eq!(queue("[\"cubic\"]", ""), Some(1_000));
        assert_eq!(queue("[\"cubic\", \"pias\"]", ""), None);
        assert_eq!(queue("[\"pias\"]", "[host]\nqueue = 50\n"), Some(50));
    }

    #[test]
    fn a_timer_that_the_kernel_would_more_than_double_is_refused() {
        let said = apply_kernel_limits(&mut scenario("[tcp]\nmin_rto = \"1ms\"\n"));
        let said = said.expect_err("far below a tick").to_string();
        assert!(said.starts_with("tcp.min_rto: found 1 ms"), "{said}");
    }
}
