//! Tests of the state machine against the table that also defines the TypeScript implementation.

use serde_json::Value;
use tailcut_transport::repnet::{
    Action, CLIENT_START, Event, Leg, LegState, Machine, Mode, Role, SERVER_START, State, Step,
    transition,
};

const TABLE: &str = include_str!("../../../../packages/repnet/spec/state-machine.json");

const ROLES: [(&str, Role); 2] = [("client", Role::Client), ("server", Role::Server)];
const MODES: [(&str, Mode); 2] = [("repflow", Mode::RepFlow), ("repsyn", Mode::RepSyn)];
const STATES: [(&str, State); 4] = [
    ("ONE_CONN", State::OneConn),
    ("DUP_CONN", State::DupConn),
    ("CHOSEN", State::Chosen),
    ("ENDED", State::Ended),
];
const OTHERS: [(&str, LegState); 3] = [
    ("other_live", LegState::Live),
    ("other_pending", LegState::Pending),
    ("other_gone", LegState::Gone),
];
const EVENTS: [(&str, Event); 16] = [
    ("leg_established", Event::LegEstablished),
    ("second_leg_joined", Event::SecondLegJoined),
    ("rejoin_started", Event::RejoinStarted),
    ("choice_learned", Event::ChoiceLearned),
    ("leg_failed", Event::LegFailed),
    ("leg_deadline", Event::LegDeadline),
    ("waiting_list_timeout", Event::WaitingListTimeout),
    ("archive_over_threshold", Event::ArchiveOverThreshold),
    ("bytes_over_limit", Event::BytesOverLimit),
    ("lag_over_cap", Event::LagOverCap),
    ("leg_finished", Event::LegFinished),
    ("confirm_timeout", Event::ConfirmTimeout),
    ("both_closed", Event::BothClosed),
    ("late_leg", Event::LateLeg),
    ("abort", Event::Abort),
    ("diverged", Event::Diverged),
];
const ACTIONS: [(&str, Action); 16] = [
    ("attach_leg", Action::AttachLeg),
    ("open_flow", Action::OpenFlow),
    ("enter_waiting_list", Action::EnterWaitingList),
    ("leave_waiting_list", Action::LeaveWaitingList),
    ("keep_on_waiting_list", Action::KeepOnWaitingList),
    ("start_archive", Action::StartArchive),
    ("replay_archive", Action::ReplayArchive),
    ("free_archive", Action::FreeArchive),
    ("reset_leg", Action::ResetLeg),
    ("reset_other_leg", Action::ResetOtherLeg),
    ("hold_error", Action::HoldError),
    ("await_other_leg", Action::AwaitOtherLeg),
    ("release_leg", Action::ReleaseLeg),
    ("close_legs", Action::CloseLegs),
    ("surface_error", Action::SurfaceError),
    ("bury", Action::Bury),
];

fn table() -> Value {
    serde_json::from_str(TABLE).expect("the table is JSON")
}

fn named<T: Copy>(names: &[(&str, T)], name: &Value) -> T {
    let name = name.as_str().expect("a name");
    let known = names.iter().find(|(known, _)| *known == name);
    known.unwrap_or_else(|| panic!("unknown word {name}")).1
}

fn lists(list: &Value, name: &str) -> bool {
    let list = list.as_array().expect("a list");
    list.iter().any(|entry| entry == name)
}

fn actions_of(row: &Value) -> Vec<Action> {
    let list = row["actions"].as_array().expect("a list of actions");
    list.iter().map(|name| named(&ACTIONS, name)).collect()
}

/// State of one flow at the time of an event, in the terms of the table.
#[derive(Clone, Copy, Debug)]
struct Situation {
    role: &'static str,
    mode: &'static str,
    state: &'static str,
    event: &'static str,
    other: &'static str,
    on_waiting_list: bool,
}

impl Situation {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for (role, _) in ROLES {
            for (mode, _) in MODES {
                for (state, _) in STATES {
                    for (event, _) in EVENTS {
                        for (other, _) in OTHERS {
                            for on_waiting_list in [false, true] {
                                all.push(Self {
                                    role,
                                    mode,
                                    state,
                                    event,
                                    other,
                                    on_waiting_list,
                                });
                            }
                        }
                    }
                }
            }
        }
        all
    }

    fn step(&self) -> Option<Step> {
        let word = |name: &str| Value::from(name);
        transition(
            named(&ROLES, &word(self.role)),
            named(&MODES, &word(self.mode)),
            named(&STATES, &word(self.state)),
            named(&EVENTS, &word(self.event)),
            named(&OTHERS, &word(self.other)),
            self.on_waiting_list,
        )
    }

    fn is_met_by(&self, row: &Value) -> bool {
        let guard = match row["guard"].as_str() {
            None => true,
            Some("on_waiting_list") => self.on_waiting_list,
            Some("off_waiting_list") => !self.on_waiting_list,
            Some(guard) => guard == self.other,
        };
        guard
            && lists(&row["roles"], self.role)
            && lists(&row["modes"], self.mode)
            && row["state"] == self.state
            && row["event"] == self.event
    }
}

#[test]
fn every_row_is_a_transition_of_the_machine_and_the_machine_has_no_others() {
    let table = table();
    let rows = table["transitions"].as_array().expect("rows");
    let mut used = vec![false; rows.len()];
    for situation in Situation::all() {
        let mut met = (0..rows.len()).filter(|row| situation.is_met_by(&rows[*row]));
        let row = met.next();
        assert_eq!(met.next(), None, "two rows apply to {situation:?}");
        let step = situation.step();
        assert_eq!(row.is_some(), step.is_some(), "{situation:?}: row {row:?}");
        if let (Some(row), Some(step)) = (row, step) {
            used[row] = true;
            let row = &rows[row];
            assert_eq!(step.next, named(&STATES, &row["next"]), "{situation:?}");
            assert_eq!(step.actions, actions_of(row), "{situation:?}");
        }
    }
    let unused: Vec<_> = (0..rows.len()).filter(|row| !used[*row]).collect();
    assert!(unused.is_empty(), "rows that never apply: {unused:?}");
}

#[test]
fn flows_start_as_the_table_says() {
    let table = table();
    for (role, start, machine) in [
        ("client", CLIENT_START, Machine::client(Mode::RepFlow)),
        (
            "server",
            SERVER_START,
            Machine::server(Mode::RepFlow, Leg::First),
        ),
    ] {
        let row = &table["start"][role];
        assert_eq!(start.next, named(&STATES, &row["state"]));
        assert_eq!(start.actions, actions_of(row));
        assert_eq!(machine.state(), start.next);
        for (leg, name) in Leg::ALL
            .into_iter()
            .zip(row["legs"].as_array().expect("legs"))
        {
            let name = format!("other_{}", name.as_str().expect("a name"));
            assert_eq!(machine.leg(leg), named(&OTHERS, &Value::from(name)));
        }
    }
}

#[test]
fn the_words_of_the_table_are_the_words_of_the_machine() {
    let table = table();
    let same = |kind: &str, names: Vec<&str>| {
        let legend = table["legend"][kind].as_object().expect("a legend");
        let mut words: Vec<&str> = legend.keys().map(String::as_str).collect();
        let mut names = names;
        words.sort_unstable();
        names.sort_unstable();
        assert_eq!(words, names, "{kind}");
    };
    same("events", EVENTS.map(|(name, _)| name).to_vec());
    same("actions", ACTIONS.map(|(name, _)| name).to_vec());
    same("states", STATES.map(|(name, _)| name).to_vec());
}

const PAIRED: [(Event, Leg); 1] = [(Event::SecondLegJoined, Leg::Second)];

fn server_after(events: &[(Event, Leg)]) -> Machine {
    let mut machine = Machine::server(Mode::RepFlow, Leg::First);
    for (event, leg) in events {
        machine.handle(*event, *leg);
    }
    machine
}

#[test]
fn a_leg_that_a_server_gave_up_is_gone_and_not_pending() {
    for (event, subject) in [
        (Event::WaitingListTimeout, Leg::Second),
        (Event::ArchiveOverThreshold, Leg::Second),
    ] {
        let machine = server_after(&[(event, subject)]);
        assert_eq!(machine.state(), State::Chosen);
        assert_eq!(machine.leg(Leg::First), LegState::Live);
        assert_eq!(machine.leg(Leg::Second), LegState::Gone);
        assert_eq!(machine.awaited_leg(), None);
    }
}

#[test]
fn a_connection_that_was_idle_takes_a_second_leg_again_or_goes_on_with_its_one() {
    let mut client = Machine::client(Mode::RepFlow);
    client.handle(Event::LegEstablished, Leg::First);
    client.handle(Event::LegEstablished, Leg::Second);
    client.handle(Event::BytesOverLimit, Leg::Second);
    assert_eq!(client.leg(Leg::Second), LegState::Gone);
    for joined in [false, true] {
        let started = client.handle(Event::RejoinStarted, Leg::Second);
        assert_eq!(started, [Action::StartArchive]);
        assert_eq!(client.leg(Leg::Second), LegState::Pending);
        let (event, state, leg) = match joined {
            false => (Event::LegDeadline, State::Chosen, LegState::Gone),
            true => (Event::LegEstablished, State::DupConn, LegState::Live),
        };
        client.handle(event, Leg::Second);
        assert_eq!((client.state(), client.leg(Leg::Second)), (state, leg));
    }
}

#[test]
fn a_late_connection_is_turned_away_without_touching_the_flows_own_legs() {
    let mut machine = server_after(&PAIRED);
    assert_eq!(
        machine.handle(Event::LateLeg, Leg::First),
        [Action::ResetLeg]
    );
    assert_eq!(machine.leg(Leg::First), LegState::Live);
    assert_eq!(machine.leg(Leg::Second), LegState::Live);
}

#[test]
fn a_kept_entry_leaves_the_list_with_the_late_leg_and_only_once() {
    let mut machine = server_after(&[(Event::ArchiveOverThreshold, Leg::Second)]);
    let late = machine.handle(Event::LateLeg, Leg::Second);
    assert_eq!(late, [Action::ResetLeg, Action::LeaveWaitingList]);
    let again = machine.handle(Event::LateLeg, Leg::Second);
    assert_eq!(again, [Action::ResetLeg]);
}

#[test]
fn after_its_end_a_flow_does_nothing_but_turn_late_legs_away() {
    let mut machine = server_after(&PAIRED);
    machine.handle(Event::LegFinished, Leg::First);
    machine.handle(Event::BothClosed, Leg::Second);
    assert_eq!(machine.state(), State::Ended);
    for (_, event) in EVENTS {
        let expected: &[Action] = match event {
            Event::LateLeg => &[Action::ResetLeg],
            _ => &[],
        };
        assert_eq!(machine.handle(event, Leg::First), expected, "{event:?}");
        assert_eq!(machine.state(), State::Ended);
    }
}
