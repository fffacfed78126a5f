//! Tests of the assignment of connections to flows, on a server over real sockets.

use tailcut_transport::repnet::{FlowTable, Leg, Placement};
use tailcut_units::{Duration, Time};

const LIFETIME: Duration = Duration::from_ms(30_000);

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_ms(ms)
}

#[test]
fn a_late_second_leg_of_an_ended_flow_is_no_new_flow_until_the_tombstone_goes() {
    let mut table = FlowTable::new(false, LIFETIME, 8);
    assert_eq!(table.place(at(0), &7_u128, Leg::First), Placement::New);
    let ticket = table.add(at(0), 7, Leg::First, 'a');
    assert_eq!(table.place(at(1), &7, Leg::Second), Placement::Known('a'));
    table.bury(at(2), &7, ticket);
    // The result is the same each time and for both connections, because a random key is never used again.
    for ms in [3, 20_000, 45_000] {
        assert_eq!(table.place(at(ms), &7, Leg::Second), Placement::Late);
        assert_eq!(table.place(at(ms), &7, Leg::First), Placement::Late);
    }
    assert_eq!(table.tombstones(), 1);
    assert_eq!(table.place(at(75_001), &7, Leg::First), Placement::New);
    assert_eq!(table.tombstones(), 0);
}

#[test]
fn a_flow_of_which_both_legs_came_needs_no_tombstone() {
    let mut table = FlowTable::new(false, LIFETIME, 8);
    let ticket = table.add(at(0), 7_u128, Leg::Second, 'a');
    table.saw(&7, Leg::First);
    table.bury(at(0), &7, ticket);
    assert_eq!(table.tombstones(), 0);
}

#[test]
fn a_table_that_could_not_remember_one_more_takes_no_new_flow() {
    let mut table = FlowTable::new(false, LIFETIME, 2);
    let ticket = table.add(at(0), 1_u128, Leg::First, 'a');
    table.bury(at(0), &1, ticket);
    table.add(at(0), 2, Leg::First, 'b');
    assert_eq!(table.place(at(1), &3, Leg::First), Placement::Full);
    assert_eq!(table.place(at(1), &2, Leg::Second), Placement::Known('b'));
    assert_eq!(table.place(at(30_000), &3, Leg::First), Placement::New);
}

#[test]
fn an_address_may_be_used_again_by_the_next_flow() {
    let mut table = FlowTable::new(true, LIFETIME, 8);
    let old = table.add(at(0), "10.0.0.1:5000", Leg::First, 'a');
    // The flow is still live at the server, although its client already uses the port for another flow.
    assert_eq!(
        table.place(at(0), &"10.0.0.1:5000", Leg::First),
        Placement::New
    );
    table.add(at(0), "10.0.0.1:5000", Leg::First, 'b');
    table.bury(at(1), &"10.0.0.1:5000", old);
    let place = table.place(at(1), &"10.0.0.1:5000", Leg::Second);
    assert_eq!(place, Placement::Known('b'));
}

#[test]
fn with_addresses_a_second_leg_is_turned_away_while_a_flow_may_have_been_forgotten() {
    let mut table = FlowTable::new(true, LIFETIME, 1);
    for (key, flow) in [(1, 'a'), (2, 'b')] {
        // A first connection, to the service's own port, is always accepted.
        assert_eq!(table.place(at(0), &key, Leg::First), Placement::New);
        let ticket = table.add(at(0), key, Leg::First, flow);
        table.bury(at(0), &key, ticket);
    }
    assert_eq!(table.place(at(1), &1, Leg::Second), Placement::Late);
    assert_eq!(table.place(at(2), &2, Leg::Second), Placement::Full);
    assert_eq!(table.place(at(30_001), &2, Leg::Second), Placement::New);
}
