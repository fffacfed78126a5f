//! Tests of the statistics of volleys. They use model networks whose true values are known.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use tailcut_probe::stats::{Figure, Handshake, Volley, groups, predict};

/// Model of a network and two hosts. The queues of the paths grow and shrink. The hosts' kernels add noise.
struct Model {
    random: Xoshiro256PlusPlus,
    /// Mean waiting time in the queue of each path, in microseconds.
    loads: Vec<f64>,
    queues: Vec<f64>,
    /// Share of a queue that remains until the next volley, 0 to 1.
    memory: f64,
}

impl Model {
    fn new(seed: u64, loads: &[f64], memory: f64) -> Self {
        Self {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            loads: loads.to_vec(),
            queues: loads.to_vec(),
            memory,
        }
    }

    fn uniform(&mut self) -> f64 {
        (f64::from(self.random.next_u32()) + 0.5) / 4_294_967_296.0
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }

    /// Draws the time that a handshake spends in the kernels of both hosts.
    /// On an idle machine, about 50 us were measured, often a few microseconds more.
    /// In rare cases, the time slice of another program is added.
    fn kernel(&mut self) -> f64 {
        let seldom = match self.uniform() < 0.01 {
            true => self.exponential(400.0),
            false => 0.0,
        };
        50.0 + self.exponential(6.0) + seldom
    }

    fn volley(&mut self, number: usize, ports: usize) -> Volley {
        for path in 0..self.loads.len() {
            let drawn = self.exponential(self.loads[path].max(1e-9));
            let left = self.memory * self.queues[path];
            self.queues[path] = left + (1.0 - self.memory) * drawn;
        }
        // Ports are assigned to paths in turn.
        let handshakes = (0..ports).map(|port| {
            let queue = self.queues[port % self.loads.len()];
            Some(Handshake {
                us: self.kernel() + queue,
                sent_us: 0.0,
                resent: 0,
                is_answered: true,
            })
        });
        Volley {
            at: number as f64 * 0.075,
            handshakes: handshakes.collect(),
        }
    }

    fn volleys(&mut self, volleys: usize, ports: usize) -> Vec<Volley> {
        (0..volleys)
            .map(|number| self.volley(number, ports))
            .collect()
    }
}

fn within(figure: Figure, low: f64, high: f64) {
    let rounding = 1e-9 * figure.value;
    assert!(
        (low - rounding..=high + rounding).contains(&figure.value),
        "{figure:?}"
    );
    assert!(figure.low <= figure.value + rounding, "{figure:?}");
    assert!(figure.value <= figure.high + rounding, "{figure:?}");
}

#[test]
fn the_faster_of_two_is_that_of_all_pairs_of_a_volley() {
    let times = [[10.0, 20.0, 40.0], [100.0, 30.0, 50.0]];
    let volleys: Vec<Volley> = (0..60)
        .map(|number| Volley {
            at: f64::from(number),
            handshakes: times[number as usize % 2]
                .iter()
                .map(|us| {
                    Some(Handshake {
                        us: *us,
                        sent_us: 0.0,
                        resent: 0,
                        is_answered: true,
                    })
                })
                .collect(),
        })
        .collect();
    let prediction = predict(&volleys).expect("enough");
    // The pairs of (10, 20, 40) have the faster times 10, 10, 20. The pairs of (30, 50, 100) have 30, 30, 50.
    within(prediction.mean.single, 41.6, 41.7);
    within(prediction.mean.pair, 25.0, 25.0);
    within(prediction.p50.pair, 20.0, 20.0);
    assert!(prediction.p99.is_none(), "180 handshakes have no p99");
    assert_eq!(predict(&volleys[..59]), None);
}

#[test]
fn delays_that_depend_on_each_other_are_not_taken_for_independent_ones() {
    // All ports use one path, so all handshakes of a volley wait in the same queue.
    let mut model = Model::new(1, &[800.0], 0.0);
    let volleys = model.volleys(400, 48);
    let prediction = predict(&volleys).expect("enough");
    let change = prediction.p99.expect("enough").change;
    // With two independent queues, the faster handshake would wait half as long.
    assert!(change.value > -0.15, "{change:?}");
    // The two paths have separate queues, so the faster of two handshakes waits less.
    let mut model = Model::new(1, &[800.0, 800.0], 0.0);
    let volleys = model.volleys(400, 48);
    let prediction = predict(&volleys).expect("enough");
    let mean = prediction.mean;
    // Half of the pairs share a path. For all other pairs, the mean waiting time is halved.
    let truth = (850.0 * 0.49 + (850.0 - 400.0) * 0.51) / 850.0 - 1.0;
    assert!(
        (mean.change.value - truth).abs() < 0.05,
        "{mean:?}, truth {truth}"
    );
}

#[test]
fn intervals_hold_where_volleys_follow_each_other() {
    let (mut held, runs) = (0, 60);
    // The mean of many volleys approximates the true value.
    let truth = predict(&Model::new(999, &[500.0, 500.0], 0.7).volleys(6_000, 8));
    let truth = truth.expect("enough").mean.change.value;
    for seed in 0..runs {
        let volleys = Model::new(seed, &[500.0, 500.0], 0.7).volleys(300, 8);
        let change = predict(&volleys).expect("enough").mean.change;
        held += u32::from(change.low <= truth && truth <= change.high);
    }
    // On average, 57 of the 60 intervals contain the true value. The probability of 50 or fewer is about 0.001.
    assert!(held >= 51, "{held} of {runs} intervals hold {truth}");
}

#[test]
fn one_path_or_an_idle_network_has_groups_in_one_run_of_twenty_at_most() {
    // The networks are: one path with a changing queue, one path without a queue, and four idle paths.
    for loads in [vec![300.0], vec![0.0], vec![0.0; 4]] {
        let runs = 200;
        let falsely = (0..runs).filter(|seed| {
            let volleys = Model::new(*seed, &loads, 0.5).volleys(60, 24);
            groups(&volleys).expect("enough").differ()
        });
        let falsely = falsely.count();
        assert!(
            falsely * 20 <= runs as usize,
            "{loads:?}: {falsely} of {runs}"
        );
    }
}

#[test]
fn four_loaded_paths_are_found_exactly() {
    let volleys = Model::new(3, &[400.0; 4], 0.3).volleys(100, 48);
    let found = groups(&volleys).expect("enough");
    assert!(found.differ());
    let expected: Vec<Vec<usize>> = (0..4)
        .map(|path| (0..48).filter(|port| port % 4 == path).collect())
        .collect();
    let mut groups = found.groups;
    groups.sort();
    assert_eq!(groups, expected);
}

#[test]
fn of_unequal_paths_the_loaded_ones_are_found() {
    let volleys = Model::new(3, &[600.0, 600.0, 1.0, 1.0], 0.3).volleys(200, 48);
    let found = groups(&volleys).expect("enough");
    for path in [0, 1] {
        let ports: Vec<usize> = (0..48).filter(|port| port % 4 == path).collect();
        assert!(found.groups.contains(&ports), "{:?}", found.groups);
    }
}

#[test]
fn lost_syns_count_as_long_as_they_took() {
    let mut volleys = Model::new(5, &[0.0], 0.0).volleys(200, 10);
    // Every tenth handshake loses its SYN, each time at another port.
    for (number, volley) in volleys.iter_mut().enumerate() {
        volley.handshakes[number % 10] = Some(Handshake {
            us: 1_000_050.0,
            sent_us: 0.0,
            resent: 1,
            is_answered: true,
        });
    }
    let prediction = predict(&volleys).expect("enough");
    let p99 = prediction.p99.expect("enough");
    assert!(p99.single.value > 1e6 && p99.pair.value < 1e4, "{p99:?}");
}

#[test]
fn ports_that_were_not_free_leave_their_volleys_usable() {
    let mut volleys = Model::new(5, &[400.0; 4], 0.3).volleys(120, 12);
    for volley in volleys.iter_mut().step_by(2) {
        volley.handshakes[3] = None;
    }
    assert_eq!(groups(&volleys).expect("enough").volleys, 60);
    assert_eq!(predict(&volleys).expect("enough").volleys, 120);
    let alone = Volley {
        at: 0.0,
        handshakes: vec![None; 4],
    };
    let alone = [alone];
    assert_eq!((groups(&alone), predict(&alone)), (None, None));
}
