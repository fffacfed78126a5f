//! What kernels make of a scenario's timers and of its hosts' queues: timers are kept in ticks, and some are
//! the kernel's own.

use super::settings::USUAL_QUEUE;
use anyhow::{Result, bail};
use rustix::time::{ClockId, clock_getres};
use tailcut_scenario::{Place, Scenario, Study};
use tailcut_sim::{Kernel, RunClock, RunConfig, Traffic};
use tailcut_units::Duration;

/// The timeout before the first sample: the kernel's own (RFC 6298).
const INITIAL_RTO: Duration = Duration::from_ms(1_000);

/// Puts what the hosts' kernels will do in place of what a scenario asks for, so that a simulated run beside
/// them does the same. Gives what has changed, in words.
///
/// # Errors
/// A key that was asked for and that is the kernel's own.
pub fn settle(scenario: &mut Scenario) -> Result<Vec<String>> {
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
    let place = Place::flag("--clock");
    let mut words = Vec::new();
    let has_requests = |run: &RunConfig| run.traffic() == Traffic::Requests;
    if study.runs.iter().any(has_requests) {
        let queue = study.runs.iter().find_map(|run| run.settings.nic.queue);
        words.push(format!(
            "hosts of simulated runs serve their connections in turn, real ones have a FIFO of {} packets for \
             each class of copies",
            queue.unwrap_or(USUAL_QUEUE)
        ));
    } else if scenario.table("host").given("queue").is_none() {
        // PIAS' card serves its classes in order, be the queue as long as it may.
        let in_order = |run: &RunConfig| {
            run.settings.designs.pias.host_order && run.stack.design.hosts.have_tags()
        };
        let of_scdp = |run: &RunConfig| matches!(run.stack.design.kernel(), Kernel::Cast { .. });
        // Hosts of SCDP serve classes in order on both sides; no TCP, none of its keys.
        if study.runs.iter().all(of_scdp) {
            return Ok(words);
        }
        let packets = USUAL_QUEUE.to_string();
        match study.runs.iter().any(|run| in_order(run) || of_scdp(run)) {
            true => words.push(format!(
                "host.queue: hosts of simulated runs serve their connections in turn, real ones have a FIFO of \
                 {packets} packets; --set host.queue={packets} gives it to both"
            )),
            false => {
                scenario.set("host.queue", &packets, &place)?;
                words.push(format!("host.queue is a FIFO of {packets} packets on real hosts"));
            }
        }
    }
    let own = Duration::from_ps(INITIAL_RTO.as_ps() / u64::from(slowdown));
    if initial_rto != own {
        if is_given {
            bail!(
                "tcp.initial_rto: found {initial_rto}; allowed on real hosts: {own}, the kernels' own (1 s \
                 by the wall's clock)"
            );
        }
        scenario.set("tcp.initial_rto", &written(own), &place)?;
        words.push(format!(
            "tcp.initial_rto is {own} on real hosts: the kernels' own"
        ));
    }
    let tick = tick();
    let kept = in_ticks(min_rto, slowdown, tick);
    if kept != min_rto {
        if kept.as_ps() / 2 > min_rto.as_ps() {
            bail!(
                "tcp.min_rto: found {min_rto}; allowed on real hosts: {} or more, half of what the kernel, \
                 whose clock ticks every {tick}, makes of it",
                Duration::from_ps(kept.as_ps() / 2)
            );
        }
        scenario.set("tcp.min_rto", &written(kept), &place)?;
        words.push(format!(
            "tcp.min_rto: {min_rto} is {kept} on real hosts, whose clock ticks every {tick}"
        ));
    }
    Ok(words)
}

/// A span as a scenario has it.
fn written(span: Duration) -> String {
    format!("{}ps", span.as_ps())
}

/// How often the kernel's clock ticks.
fn tick() -> Duration {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    Duration::from_ns(tick.tv_sec as u64 * 1_000_000_000 + tick.tv_nsec as u64)
}

/// What a timer of `span` by the network's clock is, where the wall's clock has `tick`s.
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
        settle(&mut usual).expect("nothing was asked for");
        assert_eq!(initial_rto(&usual), INITIAL_RTO);
        let mut slower = scenario("slowdown = 4\n");
        settle(&mut slower).expect("nothing was asked for");
        assert_eq!(initial_rto(&slower), Duration::from_ms(250));
        let asked = settle(&mut scenario("[tcp]\ninitial_rto = \"3ms\"\n"));
        let said = asked.expect_err("the kernel's own").to_string();
        assert!(said.starts_with("tcp.initial_rto: found 3 ms"), "{said}");
    }

    #[test]
    fn simulated_hosts_beside_real_ones_have_their_queue_unless_the_card_serves_classes() {
        let queue = |designs: &str, text: &str| {
            let text = format!("designs = {designs}\nclock = \"both\"\n{text}");
            let mut scenario = Scenario::from_text(&text).expect("a scenario");
            let words = settle(&mut scenario).expect("nothing is refused").concat();
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
        let said = settle(&mut scenario("[tcp]\nmin_rto = \"1ms\"\n"));
        let said = said.expect_err("far below a tick").to_string();
        assert!(said.starts_with("tcp.min_rto: found 1 ms"), "{said}");
    }
}
