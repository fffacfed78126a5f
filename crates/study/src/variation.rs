//! Variations of a study.
//! A variation has the same runs with one change: halved or doubled timers, or halved or doubled buffers.

use std::sync::Arc;
use tailcut_record::Parameter;
use tailcut_scenario::Study;
use tailcut_scenario::sim::fabric::SharedBuffer;
use tailcut_scenario::sim::fabric::queue::{Limit, QueueConfig};
use tailcut_scenario::sim::{RunConfig, Shape};
use tailcut_scenario::units::{Bytes, Duration};

/// Factor as a fraction: the first number divided by the second number.
#[derive(Clone, Copy)]
struct Factor(u64, u64);

const HALF: Factor = Factor(1, 2);
const DOUBLE: Factor = Factor(2, 1);

impl Factor {
    const fn of(self, value: u64) -> u64 {
        let product = value.saturating_mul(self.0) / self.1;
        // Zero is not allowed for a timer or a buffer.
        if product == 0 { 1 } else { product }
    }

    fn span(self, span: &mut Duration) {
        *span = Duration::from_ps(self.of(span.as_ps()));
    }

    fn limit(self, limit: &mut Limit) {
        *limit = match *limit {
            // `u32::MAX` means that the queue has no limit, so the value does not change.
            Limit::Packets(u32::MAX) => return,
            Limit::Packets(packets) => {
                Limit::Packets(u32::try_from(self.of(packets.into())).unwrap_or(u32::MAX))
            }
            Limit::Bytes(bytes) => Limit::Bytes(self.of(bytes)),
        };
    }
}

/// Variation of a study: one change of the parameters of all its runs, such as halved timers.
#[derive(Clone, Copy, Debug)]
pub struct Variation {
    /// Description of the change.
    pub what: &'static str,
    /// Name of the directory for the results of the variation.
    pub name: &'static str,
    change: fn(&mut RunConfig),
}

const fn variation(
    what: &'static str,
    name: &'static str,
    change: fn(&mut RunConfig),
) -> Variation {
    Variation { what, name, change }
}

/// All variations.
pub const VARIATIONS: [Variation; 4] = [
    variation("timers halved", "timers-halved", |run| timers(run, HALF)),
    variation("timers doubled", "timers-doubled", |run| {
        timers(run, DOUBLE)
    }),
    variation("buffers halved", "buffers-halved", |run| buffers(run, HALF)),
    variation("buffers doubled", "buffers-doubled", |run| {
        buffers(run, DOUBLE)
    }),
];

/// Multiplies the retransmission timeouts of all designs and the delay of delayed ACKs by `factor`.
/// A timeout of pFabric that follows from the round-trip time stays unchanged.
fn timers(run: &mut RunConfig, factor: Factor) {
    factor.span(&mut run.settings.tcp.min_rto);
    run.settings.tcp.clock_granularity = run
        .settings
        .tcp
        .clock_granularity
        .min(run.settings.tcp.min_rto);
    factor.span(&mut run.settings.tcp.initial_rto);
    run.settings.tcp.max_rto = run.settings.tcp.max_rto.max(run.settings.tcp.initial_rto);
    if let Some(ack) = &mut run.settings.tcp.delayed_ack {
        factor.span(&mut ack.timeout);
    }
    if let Some(rto) = &mut run.settings.designs.pfabric.rto {
        factor.span(rto);
    }
    factor.span(&mut run.settings.designs.ndp.min_rto);
    factor.span(&mut run.settings.designs.ndp.initial_rto);
    factor.span(&mut run.settings.designs.scdp.timeout);
    factor.span(&mut run.settings.designs.scdp_plain.min_timeout);
    if let Some(timeout) = &mut run.settings.designs.scdp_plain.timeout {
        factor.span(timeout);
    }
}

/// Multiplies the buffers of switches by `factor`: queues, memory that ports share, and queues of designs.
/// Marking thresholds stay unchanged, except packet thresholds above 65 % of the queue.
/// Packet thresholds above 65 % of the queue become 65 % of the queue, as with `mark_above = "auto"`.
fn buffers(run: &mut RunConfig, factor: Factor) {
    let (queue, shared) = match &mut run.topology.shape {
        Shape::SingleSwitch(shape) => (&mut shape.queue, &mut shape.shared_buffer),
        Shape::LeafSpine(shape) => (&mut shape.queue, &mut shape.shared_buffer),
        Shape::FatTree(shape) => (&mut shape.queue, &mut shape.shared_buffer),
        Shape::Custom(shape) => {
            let shape = Arc::make_mut(shape);
            (&mut shape.queue, &mut shape.shared_buffer)
        }
    };
    if let QueueConfig::DropTail(queue) = queue {
        factor.limit(&mut queue.limit);
        if let (Limit::Packets(limit), Some(Limit::Packets(mark))) =
            (queue.limit, &mut queue.mark_above)
        {
            *mark = (*mark).min((u64::from(limit) * 65 / 100) as u32);
        }
    }
    if let Some(SharedBuffer { capacity, .. }) = shared {
        *capacity = Bytes(factor.of(capacity.0));
    }
    let designs = &mut run.settings.designs;
    factor.limit(&mut designs.pfabric.queue);
    factor.limit(&mut designs.pias.limit);
    factor.limit(&mut designs.ndp.queue);
    factor.limit(&mut designs.scdp.queue);
}

impl Variation {
    /// Returns the study with this change in each run.
    #[must_use]
    pub fn of(&self, study: &Study) -> Study {
        let mut varied = study.clone();
        self.name.clone_into(&mut varied.name);
        self.what.clone_into(&mut varied.about);
        for run in &mut varied.runs {
            (self.change)(run);
            let parameter = Parameter::text("sensitivity", self.what);
            run.parameters.push(parameter);
        }
        if let Some(keys) = varied.config.as_object_mut() {
            keys.insert("sensitivity".to_owned(), self.what.into());
        }
        varied
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tailcut_scenario::Scenario;

    fn study(text: &str) -> Study {
        let scenario = Scenario::parse("s.toml", "", text).expect("a scenario");
        Study::of(&scenario).expect("a study")
    }

    #[test]
    fn one_thing_at_a_time_is_half_or_twice_what_it_was() {
        let study = study("designs = [\"tcp\"]\n[tcp]\nmin_rto = \"6ms\"\ninitial_rto = \"8ms\"\n");
        let figures = |study: &Study| {
            let run = &study.runs[0];
            let Shape::LeafSpine(shape) = &run.topology.shape else {
                panic!("{:?}", run.topology);
            };
            let QueueConfig::DropTail(queue) = &shape.queue else {
                panic!("{shape:?}");
            };
            let Limit::Packets(limit) = queue.limit else {
                panic!("{queue:?}");
            };
            let ms = |span: Duration| span.as_us_f64() / 1e3;
            (
                ms(run.settings.tcp.min_rto),
                ms(run.settings.tcp.initial_rto),
                limit,
            )
        };
        assert_eq!(figures(&study), (6.0, 8.0, 100));
        let all = VARIATIONS.map(|variation| figures(&variation.of(&study)));
        assert_eq!(
            all,
            [
                (3.0, 4.0, 100),
                (12.0, 16.0, 100),
                (6.0, 8.0, 50),
                (6.0, 8.0, 200)
            ]
        );
    }

    #[test]
    fn every_change_leaves_parameters_that_can_be_run() {
        let study = study(
            "designs = [\"tcp\"]\n[tcp]\nclock_granularity = \"2us\"\nmin_rto = \"2us\"\ninitial_rto = \"60s\"\n",
        );
        for variation in VARIATIONS {
            let tcp = &variation.of(&study).runs[0].settings.tcp;
            assert!(
                tcp.validate().is_ok(),
                "{}: {:?}",
                variation.what,
                tcp.validate()
            );
        }
    }
}
