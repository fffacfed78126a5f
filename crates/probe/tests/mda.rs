//! Tests of walks over model networks whose next hops are known.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use tailcut_probe::mda::{Answer, Doubt, Flow, Limits, Map, Probe, StoppingRule, Walk};

/// Model network with stages of routers. No two routers share a next hop.
/// Each router of a stage has `widths[stage]` next hops in the next stage.
/// If the width is 0, all routers of the stage have the same next hop.
struct Model {
    widths: Vec<u32>,
    seed: u64,
    /// Share of unanswered probes, 0 to 1.
    loss: f64,
    /// Number of the hop that never answers.
    silent: Option<u8>,
    /// Whether each packet takes a random path.
    sprays: bool,
    random: Xoshiro256PlusPlus,
}

fn mix(value: u64) -> u64 {
    Xoshiro256PlusPlus::seed_from_u64(value).next_u64()
}

impl Model {
    fn new(widths: &[u32], seed: u64) -> Self {
        Self {
            widths: widths.to_vec(),
            seed,
            loss: 0.0,
            silent: None,
            sprays: false,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Returns the router that a flow reaches at a TTL, as an index within the stage.
    fn place(&self, flow: Flow, ttl: u8) -> u32 {
        let widths = self.widths.iter().take(usize::from(ttl)).enumerate();
        widths.fold(0, |at, (stage, width)| {
            if *width == 0 {
                return 0;
            }
            let drawn = mix(self.seed ^ mix(flow as u64) ^ (stage as u64) << 32);
            at * width + (drawn % u64::from(*width)) as u32
        })
    }

    fn answer(&mut self, probe: Probe) -> Answer {
        if usize::from(probe.ttl) > self.widths.len() {
            return Answer::Target;
        }
        let lost = (self.random.next_u32() as f64 / f64::from(u32::MAX)) < self.loss;
        if lost || self.silent == Some(probe.ttl) {
            return Answer::Silent;
        }
        let flow = match self.sprays {
            true => self.random.next_u32() as usize,
            false => probe.flow,
        };
        router(probe.ttl, self.place(flow, probe.ttl))
    }

    fn walk(&mut self, limits: Limits, wanted: usize) -> Map {
        let mut walk = Walk::new(StoppingRule::of_graph(0.999), limits, wanted);
        while !walk.is_over() {
            // Several probes are in flight, and answers arrive out of order.
            let mut sent: Vec<Probe> = std::iter::from_fn(|| walk.next_probe()).take(50).collect();
            sent.reverse();
            assert!(
                !sent.is_empty(),
                "a walk that has not ended has probes to send"
            );
            for probe in sent {
                let answer = self.answer(probe);
                walk.answer(probe, answer);
            }
        }
        walk.map()
    }

    fn is_found(&self, map: &Map) -> bool {
        let widths = self.widths.iter().map(|width| u64::from(*width).max(1));
        let paths: u64 = widths.product();
        let mut expected = 1;
        let stages = self.widths.iter().enumerate().all(|(stage, width)| {
            let hop = &map.hops[stage];
            let each = (*width).max(1);
            let right = hop.nodes.len() as u32 == expected
                && hop.nodes.iter().all(|node| node.next.len() as u32 == each);
            expected *= width;
            expected = expected.max(1);
            right
        });
        stages && map.paths == paths && map.is_complete()
    }
}

fn router(ttl: u8, place: u32) -> Answer {
    let [_, b, c, d] = place.to_be_bytes();
    Answer::Router(IpAddr::V4(Ipv4Addr::new(10 + ttl, b, c, d)))
}

#[test]
fn next_hops_are_exact_in_all_but_one_of_a_hundred_runs() {
    // The networks have one or two stages with several routers, between single routers.
    // Leaf-spine networks and networks of pods look like this.
    for paths in [1, 2, 4, 8] {
        for widths in [vec![1, paths, 0], vec![1, paths, paths, 1, 0]] {
            let runs = 300;
            let exact = (0..runs).filter(|run| {
                let mut model = Model::new(&widths, mix(*run + 1_000 * u64::from(paths)));
                let map = model.walk(Limits::default(), 48);
                model.is_found(&map)
            });
            let exact = exact.count();
            assert!(
                exact * 100 >= 99 * runs as usize,
                "{widths:?}: {exact} of {runs}"
            );
        }
    }
}

#[test]
fn the_probes_of_the_stopping_rule_come_first_and_a_walk_may_be_stopped_after_them() {
    let mut model = Model::new(&[1, 1], 7);
    let mut walk = Walk::new(StoppingRule::of_graph(0.999), Limits::default(), 48);
    // 17 flows that see one next hop are enough, at each of three hops.
    for _ in 0..3 * 17 {
        let probe = walk.next_probe().expect("a probe");
        let answer = model.answer(probe);
        walk.answer(probe, answer);
    }
    walk.stop();
    assert!(walk.is_over() && walk.next_probe().is_none());
    let map = walk.map();
    assert_eq!((map.paths, map.hops.len()), (1, 3));
    assert_eq!(map.doubts, [Doubt::TooSlow { ttl: 2 }]);
    assert_eq!(map.count(), "at least 1");
    // A walk that was stopped at its first hop has not looked for the target.
    let mut walk = Walk::new(StoppingRule::of_graph(0.999), Limits::default(), 48);
    walk.stop();
    assert_eq!(walk.map().doubts, [Doubt::TooSlow { ttl: 0 }]);
}

#[test]
fn the_ways_of_the_flows_that_were_wanted_are_known_to_the_end() {
    let mut model = Model::new(&[1, 4, 1], 7);
    let map = model.walk(Limits::default(), 48);
    for flow in 0..48 {
        let known: Vec<Answer> = map.ways[flow].iter().flatten().copied().collect();
        let expected = (1..=4).map(|ttl| model.answer(Probe { flow, ttl }));
        assert_eq!(known, expected.collect::<Vec<Answer>>(), "flow {flow}");
    }
    assert!(map.way(0).expect("a way").starts_with("11.0.0.0 12.0.0."));
}

#[test]
fn one_path_takes_few_probes() {
    let mut model = Model::new(&[1, 1, 1], 7);
    let map = model.walk(Limits::default(), 0);
    // 17 flows are probed at four distances.
    assert_eq!((map.paths, map.probes), (1, 68));
    assert_eq!(map.count(), "1");
}

#[test]
fn a_hop_that_never_answers_leaves_a_lower_bound() {
    let mut model = Model::new(&[1, 4, 2, 1], 7);
    model.silent = Some(2);
    let map = model.walk(Limits::default(), 0);
    assert_eq!(map.doubts, [Doubt::SilentHop { ttl: 2 }]);
    // The hops before and after the silent hop have 4 and 2 routers, so 4 * 2 paths are possible.
    assert_eq!((map.paths, map.count()), (8, "at least 8".to_owned()));
}

#[test]
fn lost_answers_never_count_as_a_path() {
    let mut times: BTreeMap<u64, u32> = BTreeMap::new();
    for seed in 0..50 {
        let mut model = Model::new(&[1, 4, 1], seed);
        model.loss = 0.3;
        let map = model.walk(Limits::default(), 0);
        assert!(
            map.doubts.contains(&Doubt::SomeUnanswered { ttl: 2 }),
            "{:?}",
            map.doubts
        );
        *times.entry(map.paths).or_default() += 1;
    }
    assert_eq!(times, BTreeMap::from([(4, 50)]));
}

#[test]
fn a_network_that_ends_nowhere_is_given_up() {
    let mut model = Model::new(&[1, 2], 7);
    model.widths.extend([1; 20]);
    model.loss = 0.0;
    let mut walk = Walk::new(StoppingRule::of_graph(0.999), Limits::default(), 0);
    while let Some(probe) = walk.next_probe() {
        let answer = match probe.ttl {
            1 | 2 => model.answer(probe),
            _ => Answer::Silent,
        };
        walk.answer(probe, answer);
    }
    let map = walk.map();
    assert!(walk.is_over());
    let doubts: BTreeSet<Doubt> = map.doubts.iter().copied().collect();
    let silent = [3, 4, 5].map(|ttl| Doubt::SilentHop { ttl });
    let expected = silent
        .into_iter()
        .chain([Doubt::TargetNotReached])
        .collect();
    assert_eq!(doubts, expected);
    assert_eq!(map.paths, 2);
}

#[test]
fn packets_of_one_flow_on_several_paths_are_told() {
    let mut model = Model::new(&[1, 4, 1], 7);
    model.sprays = true;
    let map = model.walk(Limits::default(), 0);
    assert!(
        map.doubts.contains(&Doubt::PathsChange { ttl: 2 }),
        "{:?}",
        map.doubts
    );
}

#[test]
fn flows_are_bounded() {
    let limits = Limits {
        flows: 200,
        ..Limits::default()
    };
    let mut model = Model::new(&[1, 8, 8, 1], 7);
    let map = model.walk(limits, 0);
    assert!(map.ways.len() <= 200);
    assert!(
        map.doubts.contains(&Doubt::TooManyFlows { ttl: 2 }),
        "{:?}",
        map.doubts
    );
    assert!(map.count().starts_with("at least "));
}

#[test]
fn an_answer_to_what_was_not_asked_is_passed_over() {
    let mut walk = Walk::new(StoppingRule::of_graph(0.999), Limits::default(), 0);
    let first = walk.next_probe().expect("a probe");
    walk.answer(
        Probe {
            flow: 9_999,
            ttl: 9,
        },
        Answer::Target,
    );
    walk.answer(first, Answer::Target);
    walk.answer(first, router(1, 1));
    assert_eq!(walk.map().hops[0].nodes[0].next, [Answer::Target]);
}
