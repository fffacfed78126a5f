//! Tests of the waiting list of a server: pairs of connections, late connections, and the lifetime of entries.

use tailcut_transport::repnet::{Arrival, ClientAddress, Leg, Unseen, WaitingList};
use tailcut_units::{Duration, HostId, Time};

const TIMEOUT: Duration = Duration::from_ms(100);

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_ms(milliseconds)
}

fn client(port: u16) -> ClientAddress {
    ClientAddress {
        host: HostId(3),
        port,
    }
}

fn list() -> WaitingList<u32> {
    WaitingList::new(TIMEOUT)
}

#[test]
fn the_second_connection_finds_the_first_by_the_clients_port() {
    let mut list = list();
    assert_eq!(list.arrival(at(0), client(7), Leg::Second), Arrival::First);
    list.enter(at(0), client(7), Leg::Second, 70);
    assert_eq!(list.arrival(at(1), client(8), Leg::First), Arrival::First);
    list.enter(at(1), client(8), Leg::First, 80);
    let second = list.arrival(at(2), client(7), Leg::First);
    assert_eq!(second, Arrival::Second(70));
    let second = list.arrival(at(2), client(8), Leg::Second);
    assert_eq!(second, Arrival::Second(80));
}

#[test]
fn the_same_connection_twice_is_no_pair() {
    let mut list = list();
    list.enter(at(0), client(7), Leg::First, 70);
    let again = list.arrival(at(1), client(7), Leg::First);
    assert_eq!(again, Arrival::Late(70));
}

#[test]
fn flows_time_out_in_the_order_in_which_they_came_unless_they_were_paired() {
    let mut list = list();
    let entries = [(0, 1), (10, 2), (20, 3)]
        .map(|(ms, port)| list.enter(at(ms), client(port), Leg::First, u32::from(port)));
    assert_eq!(list.next_timeout(), Some(at(100)));
    list.leave(entries[0]);
    assert_eq!(list.next_timeout(), Some(at(110)));
    list.keep(entries[1]);
    assert_eq!(list.next_timeout(), Some(at(120)));
    assert_eq!(list.pop_timed_out(at(119)), None);
    assert_eq!(list.pop_timed_out(at(120)), Some(3));
    assert_eq!(list.next_timeout(), None);
}

#[test]
fn a_flow_in_the_place_of_one_that_has_ended_has_a_timeout_of_its_own() {
    let mut list = list();
    list.enter(at(0), client(7), Leg::First, 70);
    let ended = list.enter(at(1), client(8), Leg::First, 80);
    list.arrival(at(2), client(8), Leg::Second);
    assert_eq!(list.bury(at(3), ended), None);
    list.enter(at(50), client(9), Leg::First, 90);
    assert_eq!(list.pop_timed_out(at(100)), Some(70));
    assert_eq!(list.pop_timed_out(at(101)), None);
    assert_eq!(list.next_timeout(), Some(at(150)));
    assert_eq!(list.pop_timed_out(at(150)), Some(90));
}

#[test]
fn a_flow_off_the_list_is_known_as_long_as_it_lives() {
    let mut list = list();
    let entry = list.enter(at(0), client(7), Leg::First, 70);
    list.leave(entry);
    let late = list.arrival(at(1_000_000), client(7), Leg::Second);
    assert_eq!(late, Arrival::Late(70));
}

#[test]
fn a_flow_that_ended_half_seen_turns_its_other_half_away_once() {
    let mut list = list();
    let entry = list.enter(at(0), client(7), Leg::First, 70);
    list.bury(at(50), entry);
    assert_eq!((list.live(), list.tombstones()), (0, 1));
    let late = list.arrival(at(249), client(7), Leg::Second);
    assert_eq!(late, Arrival::TooLate);
    assert_eq!(list.tombstones(), 0);
    let fresh = list.arrival(at(249), client(7), Leg::Second);
    assert_eq!(fresh, Arrival::First);
}

#[test]
fn a_flow_that_ended_while_it_would_still_have_waited_lets_its_other_half_run() {
    let mut list = list();
    let entry = list.enter(at(0), client(7), Leg::First, 70);
    list.bury(at(50), entry);
    let other = list.arrival(at(99), client(7), Leg::Second);
    assert_eq!(other, Arrival::AfterTheEnd);
    assert_eq!(list.tombstones(), 0);
}

#[test]
fn a_port_in_use_again_is_a_new_flow_in_spite_of_the_tombstone() {
    let mut list = list();
    let entry = list.enter(at(0), client(7), Leg::First, 70);
    list.bury(at(50), entry);
    assert_eq!(list.arrival(at(60), client(7), Leg::First), Arrival::First);
    list.enter(at(60), client(7), Leg::First, 71);
    let second = list.arrival(at(61), client(7), Leg::Second);
    assert_eq!(second, Arrival::Second(71));
}

#[test]
fn a_flow_that_both_connections_were_seen_of_leaves_no_tombstone() {
    let mut list = list();
    let entry = list.enter(at(0), client(7), Leg::First, 70);
    list.arrival(at(1), client(7), Leg::Second);
    list.leave(entry);
    list.bury(at(2), entry);
    assert_eq!((list.live(), list.tombstones()), (0, 0));
    assert_eq!(list.next_timeout(), None);
}

#[test]
fn tombstones_outlive_their_flows_by_two_timeouts_and_name_what_was_not_seen() {
    let mut list = list();
    let entry = list.enter(at(0), client(7), Leg::First, 70);
    let unseen = Unseen {
        client: client(7),
        leg: Leg::Second,
    };
    assert_eq!(list.bury(at(50), entry), None);
    assert_eq!(list.pop_forgotten(at(249)), None);
    assert_eq!(list.pop_forgotten(at(250)), Some(unseen));
    assert_eq!(list.tombstones(), 0);
    assert_eq!(
        list.arrival(at(250), client(7), Leg::Second),
        Arrival::First
    );
}

#[test]
fn a_flow_that_lived_longer_than_a_tombstone_needs_none() {
    let mut list = list();
    let entry = list.enter(at(0), client(7), Leg::First, 70);
    assert_eq!(list.pop_timed_out(at(100)), Some(70));
    list.leave(entry);
    assert!(
        list.bury(at(200), entry).is_some(),
        "the SYN has arrived, or will never arrive"
    );
    assert_eq!(list.tombstones(), 0);
}

#[test]
fn a_flood_of_flows_costs_bounded_memory_and_the_youngest_are_remembered() {
    let mut list = list();
    let flows = 70_000u32;
    for flow in 0..flows {
        let from = ClientAddress {
            host: HostId(flow),
            port: 1,
        };
        let entry = list.enter(at(0), from, Leg::First, flow);
        list.bury(at(0), entry);
        list.pop_forgotten(at(0));
    }
    assert_eq!(list.tombstones(), 1 << 16);
    let from = |flow| ClientAddress {
        host: HostId(flow),
        port: 1,
    };
    let youngest = list.arrival(at(150), from(flows - 1), Leg::Second);
    assert_eq!(youngest, Arrival::TooLate);
    let oldest = list.arrival(at(150), from(0), Leg::Second);
    assert_eq!(oldest, Arrival::First);
}
