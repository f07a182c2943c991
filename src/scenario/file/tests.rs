//! What is read as it was written, and what is refused.

use super::*;
use crate::engine::{Span, Time};
use crate::scenario::{Condition, Leave, Opening, PerKind, Stop, Store, Stores, TrueState};

const GOOD: &str = "
turn: 500ms
turns: 10
requestsPerTurn: 50
replicas: {count: 3, startup: 2, exceptions: {2: 5}}
reopenings: [{replica: 1, at: 4}]
faults: [{replica: 0, at: 3, dependencyLost: {for: 2}}]
";

const EVERYTHING: &str = "
turn: 2s
turns: 100
firstTurn: 1
requestsPerTurn: {read: 8, write: 2, batch: 1}
requestsFrom: 50
rotation: Continuous
replicas: {count: 3, startup: 0, joins: {2: 60}, nodes: 2, revisions: {2: 1}}
faults:
- {replica: 0, at: 20, halfDown: {through: 45}}
- {replica: 1, at: 40, warming: {for: 7}}
- {replica: 0, at: 40, stopped: {for: 5, graceful: true}}
- {replica: 2, at: 80, stopped: {}}
- {replica: 1, at: 44, silent: {for: 1}}
- {store: state, at: 90, down: {through: 95}}
- {store: billing, at: 95, down: {for: 2}}
- {node: 1, at: 96, cut: {for: 2}}
registry: {beat: 100, timeToLive: 300}
resolve: registry,cache=80
consumers: 4
propagation: L7
startupJitter: 3
randomFaults: [{stuck: {}, every: 500}, {dependencyLost: {for: 10}, every: 300}]
";

/// The sentence of the refusal, without the line that it marks.
fn refusal(text: &str) -> String {
    ScenarioFile::parse("s.yaml", text).unwrap_err().to_string().lines().next().unwrap().to_owned()
}

fn refusal_of(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old} is not in the good scenario");
    refusal(&GOOD.replace(old, new))
}

/// The refusal of a fault, which stands at 7:10.
fn refusal_of_fault(fault: &str) -> String {
    let refusal = refusal_of("{replica: 0, at: 3, dependencyLost: {for: 2}}", fault);
    refusal.strip_prefix("s.yaml:7:").unwrap_or(&refusal).to_owned()
}

fn turn(scenario: &Scenario, turn: u32) -> Time {
    scenario.begin_of(turn)
}

#[test]
fn a_scenario_is_read_as_written() {
    let scenario = ScenarioFile::parse("s.yaml", GOOD).unwrap();
    assert_eq!(scenario.turn(), Span::from_millis(500));
    assert_eq!(scenario.length(), Span::from_secs(5));
    assert_eq!(scenario.requests(0), PerKind { plain: 50, ..PerKind::default() });
    let startups: Vec<_> = (0..scenario.replicas()).map(|replica| scenario.startup(replica, Time::ZERO)).collect();
    assert_eq!(startups, [Span::from_secs(1), Span::from_secs(1), Span::from_millis(2_500)]);
    assert_eq!(scenario.reopenings(1).collect::<Vec<_>>(), [Time::ZERO + Span::from_secs(2)]);
}

#[test]
fn everything_that_a_scenario_may_say_is_taken() {
    let scenario = ScenarioFile::parse("s.yaml", EVERYTHING).unwrap();
    assert_eq!(scenario.numbers(), 1..101);
    assert_eq!(turn(&scenario, 1), Time::ZERO);
    assert_eq!(scenario.turn_at(Time::ZERO + Span::from_secs(3)), 2);
    assert_eq!(scenario.requests(49), PerKind::default());
    assert_eq!(scenario.requests(50), PerKind { plain: 0, read: 8, write: 2, batch: 1 });
    assert_eq!(scenario.joins(2), Some(turn(&scenario, 60)));
    assert_eq!(
        scenario.stops(0).collect::<Vec<_>>(),
        [Stop { from: turn(&scenario, 40), until: Some(turn(&scenario, 45)), leave: Leave::Graceful }]
    );
    assert_eq!(
        scenario.stops(2).collect::<Vec<_>>(),
        [Stop { from: turn(&scenario, 80), until: None, leave: Leave::Abrupt }]
    );
    assert_eq!(scenario.resolve(), Resolve::Cached(NonZeroU32::new(80).unwrap()));
    assert_eq!((scenario.rotation(), scenario.propagation()), (Rotation::Continuous, Some(Propagation::L7)));
    assert_eq!(scenario.consumers().get(), 4);
}

#[test]
fn a_fault_lasts_for_so_many_turns_or_through_one() {
    let scenario = ScenarioFile::parse("s.yaml", EVERYTHING).unwrap();
    let condition = |replica, at| scenario.condition(replica, Opening::Warm, turn(&scenario, at));
    assert_eq!(condition(0, 19), Condition::HEALTHY);
    assert!(condition(0, 20).is(TrueState::HalfDown) && condition(0, 45).is(TrueState::HalfDown));
    assert!(!condition(0, 46).is(TrueState::HalfDown));
    assert!(condition(1, 46).is(TrueState::Warming) && !condition(1, 47).is(TrueState::Warming));
    let cut = |replica| [95, 96, 97, 98].map(|at| scenario.is_cut(replica, turn(&scenario, at)));
    assert_eq!((cut(0), cut(1), cut(2)), ([false; 4], [false, true, true, false], [false; 4]));
    let stores: Vec<_> = [89, 90, 95, 96, 97].map(|at| scenario.stores(turn(&scenario, at))).to_vec();
    let (state, billing) = (Stores::without(Store::State), Stores::without(Store::Billing));
    assert_eq!(stores, [Stores::UP, state, state | billing, billing, Stores::UP]);
}

#[test]
fn a_list_of_startup_times_counts_the_replicas() {
    let listed = GOOD.replace("{count: 3, startup: 2, exceptions: {2: 5}}", "{startup: [2, 2, 5]}");
    assert_eq!(ScenarioFile::parse("s.yaml", &listed).unwrap(), ScenarioFile::parse("s.yaml", GOOD).unwrap());
}

#[test]
fn speed_divides_every_duration() {
    let scenario = ScenarioFile::parse("s.yaml", GOOD).unwrap().at_speed("5".parse().unwrap());
    assert_eq!(scenario.length(), Span::from_secs(1));
    assert_eq!(scenario.startup(0, Time::ZERO), Span::from_millis(200));
}

#[test]
fn what_was_read_is_written_so_that_it_is_read_again() {
    for text in [GOOD, EVERYTHING] {
        let file: ScenarioFile = yaml::from_str("s.yaml", text).unwrap();
        let written = yaml::to_string(&file).unwrap();
        assert_eq!(yaml::from_str::<ScenarioFile>("again.yaml", &written).unwrap(), file, "{written}");
    }
}

#[test]
fn a_replica_that_does_not_exist_is_refused() {
    assert_eq!(
        refusal_of("{replica: 0, at: 3", "{replica: 3, at: 3"),
        "s.yaml:7:20: faults[0].replica: there is no replica 3, only 0 to 2"
    );
    assert_eq!(
        refusal_of("replica: 1", "replica: 9"),
        "s.yaml:6:24: reopenings[0].replica: there is no replica 9, only 0 to 2"
    );
    assert_eq!(
        refusal_of("{2: 5}", "{3: 5}"),
        "s.yaml:5:50: replicas.exceptions.3: there is no replica 3, only 0 to 2"
    );
    assert_eq!(
        refusal_of("exceptions: {2: 5}", "joins: {3: 5}"),
        "s.yaml:5:45: replicas.joins.3: there is no replica 3, only 0 to 2"
    );
}

#[test]
fn a_turn_that_does_not_exist_is_refused() {
    assert_eq!(refusal_of("at: 3", "at: 10"), "s.yaml:7:27: faults[0].at: there is no turn 10, only 0 to 9");
    assert_eq!(
        refusal_of("turns: 10", "turns: 10\nfirstTurn: 4"),
        "s.yaml:8:27: faults[0].at: there is no turn 3, only 4 to 13"
    );
    assert_eq!(
        refusal_of("turns: 10", "turns: 10\nrequestsFrom: 10"),
        "s.yaml:4:15: requestsFrom: there is no turn 10, only 0 to 9"
    );
    assert_eq!(
        refusal_of_fault("{replica: 0, at: 3, silent: {through: 10}}"),
        "48: faults[0].silent.through: there is no turn 10, only 0 to 9"
    );
}

#[test]
fn a_fault_is_of_exactly_one_kind() {
    let problem = "10: faults[0]: a fault of a replica is one of \
                   stuck, dependencyLost, halfDown, warming, stopped, silent";
    assert_eq!(refusal_of_fault("{replica: 0, at: 3}"), problem);
    assert_eq!(refusal_of_fault("{replica: 0, at: 3, stuck: {}, silent: {for: 1}}"), problem);
    assert_eq!(refusal_of_fault("{replica: 0, at: 3, down: {for: 1}}"), problem);
    let problem = "10: faults[0]: the fault of a store is down, and nothing else";
    assert_eq!(refusal_of_fault("{store: state, at: 3}"), problem);
    assert_eq!(refusal_of_fault("{store: state, at: 3, down: {for: 1}, stuck: {}}"), problem);
    let problem = "10: faults[0]: the fault of a node is cut, and nothing else";
    assert_eq!(refusal_of_fault("{node: 0, at: 3, silent: {for: 1}}"), problem);
    let problem = "17: faults[0].node: there is no node 1, only 0 to 0";
    assert_eq!(refusal_of_fault("{node: 1, at: 3, cut: {for: 1}}"), problem);
    let problem = "10: faults[0]: a fault hits one replica, one store or one node";
    assert_eq!(refusal_of_fault("{at: 3, stuck: {}}"), problem);
    assert_eq!(refusal_of_fault("{replica: 0, store: state, at: 3, down: {for: 1}}"), problem);
}

#[test]
fn a_fault_ends_in_exactly_one_way_and_after_it_began() {
    let problem = "faults[0].silent: say when it ends: either for (how many turns) or through (the last turn)";
    assert_eq!(refusal_of_fault("{replica: 0, at: 3, silent: {}}"), format!("38: {problem}"));
    assert_eq!(refusal_of_fault("{replica: 0, at: 3, silent: {for: 1, through: 3}}"), format!("38: {problem}"));
    assert_eq!(
        refusal_of_fault("{replica: 0, at: 3, stopped: {for: 1, through: 3}}"),
        "39: faults[0].stopped: say when it ends: either for (how many turns) or through (the last turn)"
    );
    assert_eq!(
        refusal_of_fault("{store: billing, at: 3, down: {through: 2}}"),
        "50: faults[0].down.through: the fault ends in turn 2, before it begins in turn 3"
    );
    assert_eq!(
        refusal_of_fault("{replica: 0, at: 3, warming: {for: 0}}"),
        "45: faults[0].warming.for: a fault lasts at least one turn"
    );
}

#[test]
fn two_faults_that_begin_alike_contradict_each_other() {
    let problem = "contradicts an earlier fault of that kind that begins there in the same turn";
    assert_eq!(
        refusal_of("faults: [", "faults: [{replica: 0, at: 3, dependencyLost: {for: 1}}, "),
        format!("s.yaml:7:57: faults[1]: {problem}")
    );
    assert_eq!(
        refusal_of(
            "faults: [",
            "faults: [{store: state, at: 3, down: {for: 1}}, {store: state, at: 3, down: {for: 4}}, "
        ),
        format!("s.yaml:7:49: faults[1]: {problem}")
    );
    assert_eq!(
        refusal_of("reopenings: [", "reopenings: [{replica: 1, at: 4}, "),
        "s.yaml:6:35: reopenings[1]: says the same as an earlier one"
    );
}

#[test]
fn nothing_happens_to_a_replica_before_it_joins() {
    let problem = "the replica joins only in turn 5";
    let refusal = refusal_of("exceptions: {2: 5}", "joins: {0: 5}");
    assert_eq!(refusal, format!("s.yaml:7:27: faults[0].at: {problem}"));
    let refusal = refusal_of("exceptions: {2: 5}", "joins: {1: 5}");
    assert_eq!(refusal, format!("s.yaml:6:31: reopenings[0].at: {problem}"));
}

#[test]
fn random_faults_say_how_often_what_happens_for_how_long() {
    let refusal_of = |fault: &str| refusal(&format!("{GOOD}randomFaults: [{fault}]\n"));
    assert_eq!(
        refusal_of("{every: 5}"),
        "s.yaml:8:16: randomFaults[0]: a random fault is one of \
         stuck, dependencyLost, halfDown, warming, stopped, silent"
    );
    for (fault, problem) in [
        (
            "{every: 5, silent: {through: 7}}",
            ": randomFaults[0].silent.through: unknown field `through`, expected one of for",
        ),
        ("{every: 5, silent: {for: 0}}", ": randomFaults[0].silent.for: "),
        ("{every: 0, stuck: {}}", ": randomFaults[0].every: "),
    ] {
        let refusal = refusal_of(fault);
        assert!(refusal.starts_with("s.yaml:8:") && refusal.contains(problem), "{refusal}");
    }
}

#[test]
fn nothing_is_not_enough_and_too_much_is_refused() {
    for (old, new, field) in [
        ("turns: 10", "turns: 0", "turns"),
        ("turns: 10", "turns: 100000001", "turns"),
        ("turns: 10", "turns: 10\nfirstTurn: 4294967290", "firstTurn"),
        ("count: 3", "count: 0", "replicas.count"),
        ("count: 3", "count: 100001", "replicas.count"),
        ("count: 3, ", "", "replicas.count"),
        ("500ms", "0s", "turn"),
        ("turn: 500ms\nturns: 10", "turn: 99999h\nturns: 100000", "turns"),
        ("requestsPerTurn: 50", "requestsPerTurn: {read: 4294967295, write: 1}", "requestsPerTurn"),
        ("turns: 10", "turns: 10\nconsumers: 0", "consumers"),
        ("turns: 10", "turns: 10\nregistry: {beat: 0, timeToLive: 1}", "registry.beat"),
        ("turns: 10", "turns: 10\nresolve: registry", "resolve"),
        ("turns: 10", "turns: 10\nresolve: registry,cache=0", "resolve"),
    ] {
        let refusal = refusal_of(old, new);
        assert!(refusal.starts_with("s.yaml:") && refusal.contains(&format!(": {field}: ")), "{refusal}");
    }
}

#[test]
fn what_is_not_a_whole_number_of_turns_is_refused_with_its_place() {
    for (old, new, field) in [
        ("at: 3", "at: 3.5", "faults[0].at"),
        ("at: 3", "at: -1", "faults[0].at"),
        ("startup: 2", "startup: 2.5", "replicas.startup"),
        ("startup: 2", "startup: -2", "replicas.startup"),
        ("startup: 2", "startup: 5000000000", "replicas.startup"),
        ("turns: 10", "turns: 5000000000", "turns"),
        ("for: 2", "for: 2s", "faults[0].dependencyLost.for"),
        ("requestsPerTurn: 50", "requestsPerTurn: 1.5", "requestsPerTurn"),
        ("requestsPerTurn: 50", "requestsPerTurn: {read: -1}", "requestsPerTurn.read"),
        ("requestsPerTurn: 50", "requestsPerTurn: {reads: 1}", "requestsPerTurn"),
    ] {
        let refusal = refusal_of(old, new);
        assert!(refusal.contains(&format!(": {field}")) && refusal.starts_with("s.yaml:"), "{refusal}");
    }
}

#[test]
fn an_unknown_or_repeated_field_is_refused_with_its_line() {
    let refusal = refusal_of("dependencyLost", "dependencyGone");
    assert!(refusal.contains("dependencyGone") && refusal.contains("s.yaml:7:"), "{refusal}");
    let refusal = refusal_of("turns: 10", "turns: 10\nturns: 11");
    assert!(refusal.contains("turns") && refusal.contains("s.yaml:4:"), "{refusal}");
}

#[test]
fn what_is_no_yaml_or_hides_something_is_refused_with_its_place() {
    let deep = format!("turn: {}{}", "[".repeat(10_000), "]".repeat(10_000));
    let bomb = "a: &a [x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a]\nturn: [*b, *b, *b, *b]\n";
    for text in ["", "just text", "turn: [1s", "\u{0}\u{1}", "- 1\n- 2\n", "turn: 1s\n---\nturn: 1s\n", &deep, bomb] {
        let refusal = refusal(text);
        assert!(refusal.starts_with("s.yaml") && refusal.len() < 300, "{refusal}");
    }
}
