//! Tests of the storage workload: clients of sessions, and hosts of replicas.

use std::collections::BTreeSet;
use tailcut_units::{HostId, Time};
use tailcut_workload::{
    Arrivals, Class, Operation, Racks, Session, SizeDistribution, Storage, StorageSpec,
};

fn spec(hosts: u32, per_rack: u32) -> StorageSpec {
    StorageSpec {
        seed: 11,
        label: 0,
        hosts: (0..hosts).map(HostId).collect(),
        racks: Racks::even(hosts, per_rack),
        sizes: SizeDistribution::named("fixed:1MB").expect("sizes"),
        replicas: 3,
        reads: 0.5,
        blocks: 1,
        arrivals: Arrivals::Poisson,
        per_second: 10_000.0,
        start: Time::ZERO,
        until: Time::from_ns(1_000_000_000),
        at_most: None,
        class: Class::Foreground,
    }
}

fn sessions(spec: StorageSpec) -> Vec<Session> {
    let mut storage = Storage::new(spec).expect("a sound workload");
    std::iter::from_fn(|| storage.next_session()).collect()
}

#[test]
fn clients_hold_no_replica_and_the_second_and_third_share_another_rack() {
    let racks = Racks::even(54, 9);
    let all = sessions(spec(54, 9));
    for session in &all {
        let replicas = &session.blocks[0].replicas;
        let different: BTreeSet<_> = replicas.iter().chain([&session.client]).collect();
        assert_eq!(different.len(), 4, "{session:?}");
        let of = |index: usize| racks.of(replicas[index]);
        assert_ne!(of(0), of(1), "{session:?}");
        assert_eq!(of(1), of(2), "{session:?}");
    }
    // In a second, 10,000 sessions are expected, with a standard deviation of 100.
    // Half of the sessions are reads, with a standard deviation of 50.
    assert!((9_600..10_400).contains(&all.len()), "{}", all.len());
    let reads = all
        .iter()
        .filter(|s| s.operation == Operation::Read)
        .count();
    let expected = all.len() / 2;
    assert!(
        reads.abs_diff(expected) < 200,
        "{reads} reads of {}",
        all.len()
    );
    let starts: Vec<Time> = all.iter().map(|session| session.start).collect();
    assert!(starts.is_sorted());
}

#[test]
fn every_host_is_a_client_and_a_data_node_about_as_often() {
    let all = sessions(spec(20, 5));
    let mut by_client = [0u32; 20];
    let mut held = [0u32; 20];
    for session in &all {
        by_client[session.client.0 as usize] += 1;
        for replica in &session.blocks[0].replicas {
            held[replica.0 as usize] += 1;
        }
    }
    // Per host, 500 sessions and 1,500 replicas are expected. The standard deviations are 22 and less than 40.
    assert!(
        by_client.iter().all(|n| (400..600).contains(n)),
        "{by_client:?}"
    );
    assert!(held.iter().all(|n| (1_300..1_700).contains(n)), "{held:?}");
}

#[test]
fn a_read_goes_to_the_replica_in_the_clients_rack_or_to_any() {
    let racks = Racks::even(54, 9);
    let mut remote = [0u32; 3];
    for session in sessions(spec(54, 9)) {
        let block = &session.blocks[0];
        let near = |host: &HostId| racks.of(*host) == racks.of(session.client);
        if block.replicas.iter().any(near) {
            assert!(near(&block.read_from), "{session:?}");
        } else {
            let at = block.replicas.iter().position(|h| *h == block.read_from);
            remote[at.expect("a replica")] += 1;
        }
    }
    let least = remote.iter().min().expect("three");
    assert!(least * 10 > remote.iter().sum::<u32>() * 3, "{remote:?}");
}

#[test]
fn a_read_of_several_blocks_splits_its_bytes_over_blocks_placed_apart() {
    let spec = StorageSpec {
        blocks: 3,
        reads: 1.0,
        sizes: SizeDistribution::named("fixed:1000").expect("sizes"),
        ..spec(54, 9)
    };
    let all = sessions(spec);
    let bytes = |session: &Session| (0..3).map(|i| session.block_bytes(i)).collect::<Vec<_>>();
    assert_eq!(bytes(&all[0]), [334, 333, 333]);
    assert!(
        all.iter()
            .any(|s| s.blocks[0].replicas != s.blocks[1].replicas)
    );
}

#[test]
fn hosts_without_racks_to_choose_from_hold_blocks_anywhere_else() {
    for session in sessions(spec(4, 4)) {
        let different: BTreeSet<_> = session.blocks[0].replicas.iter().collect();
        assert_eq!(different.len(), 3);
        assert!(!different.contains(&session.client));
    }
    let one_a_rack = sessions(spec(5, 1));
    assert!(one_a_rack.iter().all(|s| s.blocks[0].replicas.len() == 3));
}

#[test]
fn what_cannot_be_placed_is_refused() {
    let too_many = StorageSpec {
        replicas: 4,
        ..spec(4, 2)
    };
    let error = Storage::new(too_many).expect_err("four hosts and a client");
    assert!(error.to_string().contains("4 among 4 hosts"), "{error}");
    let error = Storage::new(StorageSpec {
        reads: 1.5,
        ..spec(8, 2)
    });
    assert!(error.is_err());
    let error = Storage::new(StorageSpec {
        per_second: 0.0,
        ..spec(8, 2)
    });
    assert!(error.is_err());
}

#[test]
fn a_further_host_changes_nobody_elses_arrivals() {
    let of_host = |hosts: u32| {
        let per_second = 100.0 * f64::from(hosts);
        let all = sessions(StorageSpec {
            per_second,
            ..spec(hosts, 4)
        });
        let of_host = all.into_iter().filter(|s| s.client == HostId(3));
        of_host.map(|s| s.start).collect::<Vec<_>>()
    };
    assert_eq!(of_host(8), of_host(9));
}
