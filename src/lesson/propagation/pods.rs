//! What lies between a fault and the traffic on a cluster, measured: our controller closes the gate, the kubelet writes
//! `Ready`, the EndpointSlice follows, and then whatever forwards the Service's traffic on each node.

use super::inputs;
use crate::api::ProbePolicy;
use crate::engine::{Phase, Span, Time};
use crate::fake_app::load::RequestLine;
use crate::lesson::cluster_world::{
    Cluster, Experiment, Observation, Options, Probes, Route, Setting, Station, replica,
};
use crate::lesson::{LessonError, NoPlan};
use crate::model::propagation::Move;
use crate::model::{self, Moment, Observer, Standing, Turn};
use crate::report::{Cell, Report, of_cells};
use crate::runtime::Stop;
use crate::scenario::{Opening, Scenario, Speed};

/// Which run it is, in messages and in the name of its namespace.
const NAME: &str = "propagation";

/// What is going to be measured: how the readiness rule of a policy is followed.
pub fn experiment(policy: &ProbePolicy, options: &Options) -> Result<Experiment, NoPlan> {
    if options.probes() == Probes::Kubelet {
        return Err(NoPlan::NoGate);
    }
    let (scenario, script) = inputs::on_cluster().map_err(LessonError::from)?;
    let mut lessons = inputs::policy(None).map_err(LessonError::from)?;
    lessons.spec.readiness.clone_from(&policy.spec.readiness);
    let policy = lessons;
    options
        .experiment(Setting { title: NAME, name: NAME, scenario, script, policy, route: Route::Address }, Speed::REAL)
}

/// Measures it: a table.
pub async fn measure(experiment: &Experiment, stop: &Stop) -> Result<Report, LessonError> {
    let seen = Cluster::reach(experiment.probes, stop).await?.run(experiment).await?;
    let scenario = &experiment.setting.scenario;
    table(scenario, &modelled(&experiment.setting)?, &measured(scenario, &seen))
}

/// A change of a replica that a rule should follow, and how long it took to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Followed {
    to: Move,
    /// To the decision, as the gate has it.
    decision: Span,
    /// From there to `Ready`, from that to the EndpointSlice, and from that to the traffic.
    legs: [Span; 3],
    /// From the gate to the traffic. Those who watch and those who send requests see with their own eyes, so that a leg
    /// may be none and this is not always their sum.
    added: Span,
}

/// A replica can serve from here on, or no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    replica: usize,
    to: Move,
    at: Time,
    /// The next change of this replica, or the end.
    until: Time,
}

/// What the scenario does to its replicas.
fn changes(scenario: &Scenario) -> Vec<Change> {
    let mut changes = Vec::new();
    for replica in 0..scenario.replicas() {
        let (mut can_read, mut open) = (true, None);
        for turn in scenario.numbers() {
            let at = scenario.begin_of(turn);
            let can = scenario.condition(replica, Opening::Warm, at).can_read();
            if can != can_read {
                changes.extend(open.replace((at, can)).map(|open| change(replica, open, at)));
                can_read = can;
            }
        }
        changes.extend(open.map(|open| change(replica, open, Time::ZERO + scenario.length())));
    }
    changes
}

fn change(replica: usize, (at, can_read): (Time, bool), until: Time) -> Change {
    Change { replica, to: if can_read { Move::Admit } else { Move::Eject }, at, until }
}

/// What followed on the cluster. A change that something did not follow before the next one is left out.
fn measured(scenario: &Scenario, observation: &Observation) -> Vec<Followed> {
    let follow = |change: Change| {
        let seen = |station| {
            let seen = observation.seen.iter().filter(|seen| seen.replica == change.replica && seen.station == station);
            seen.filter(|seen| seen.decision == change.to).map(|seen| seen.at).find(|at| change.has(*at))
        };
        let (gate, ready, endpoint) = (seen(Station::Gate)?, seen(Station::Ready)?, seen(Station::Endpoint)?);
        let sent = observation.requests.iter().filter(|request| went_to(request, change.replica)).map(sent_at);
        let sent = sent.filter(|at| change.has(*at));
        let traffic = match change.to {
            Move::Eject => sent.max()?,
            Move::Admit => sent.min()?,
        };
        let legs = [ready.since(gate), endpoint.since(ready), traffic.since(endpoint)];
        Some(Followed { to: change.to, decision: gate.since(change.at), legs, added: traffic.since(gate) })
    };
    changes(scenario).into_iter().filter_map(follow).collect()
}

/// What follows in the model, where a decision is the traffic's at once.
fn modelled(setting: &Setting) -> Result<Vec<Followed>, LessonError> {
    let scenario = &setting.scenario;
    let policy = setting.policy.spec.parse(1, Phase::Aligned { origin: Time::ZERO })?;
    let mut pool = Pool { standings: vec![Move::Admit; scenario.replicas()], moves: Vec::new() };
    model::observe(scenario, &policy, &mut pool)?;
    let follow = |change: Change| {
        let moves = pool.moves.iter().filter(|(replica, to, _)| (*replica, *to) == (change.replica, change.to));
        let decided = moves.map(|(_, _, at)| *at).find(|at| change.has(*at))?;
        Some(Followed { to: change.to, decision: decided.since(change.at), legs: [Span::ZERO; 3], added: Span::ZERO })
    };
    Ok(changes(scenario).into_iter().filter_map(follow).collect())
}

impl Change {
    fn has(&self, at: Time) -> bool {
        self.at <= at && at < self.until
    }
}

/// Who joined and left the pool, and when.
struct Pool {
    standings: Vec<Move>,
    moves: Vec<(usize, Move, Time)>,
}

impl Observer for Pool {
    fn passed(&mut self, at: Moment, turn: &Turn<'_>) {
        for (replica, member) in turn.replicas.iter().enumerate() {
            let standing = match member.standing {
                Standing::In => Move::Admit,
                Standing::Out | Standing::Absent => Move::Eject,
            };
            if self.standings[replica] != standing {
                self.standings[replica] = standing;
                self.moves.push((replica, standing, at.time));
            }
        }
    }
}

fn went_to(request: &RequestLine, to: usize) -> bool {
    request.pod.as_deref().and_then(replica) == Some(to)
}

fn sent_at(request: &RequestLine) -> Time {
    Time::ZERO + Span::from_nanos((request.at_ms * 1e6) as u64)
}

fn table(scenario: &Scenario, model: &[Followed], cluster: &[Followed]) -> Result<Report, LessonError> {
    let due = changes(scenario);
    let mut rows = Vec::new();
    for to in Move::BOTH {
        for (world, followed) in [("model", model), ("cluster", cluster)] {
            let followed: Vec<_> = followed.iter().filter(|followed| followed.to == to).collect();
            let of = |span: &dyn Fn(&Followed) -> Span| Spans(followed.iter().map(|followed| span(followed)).collect());
            let decision = of(&|followed| followed.decision);
            let added = of(&|followed| followed.added);
            let whole = of(&|followed| followed.decision + followed.added);
            let [ready, endpoint, traffic] = [0, 1, 2].map(|leg| of(&|followed| followed.legs[leg]).mean());
            rows.push([
                Cell::text(super::tables::verb(to)),
                Cell::text(world),
                Cell::Count(due.iter().filter(|change| change.to == to).count() as u64),
                Cell::Count(followed.len() as u64),
                decision.worst(),
                decision.mean(),
                ready,
                endpoint,
                traffic,
                added.worst(),
                added.mean(),
                whole.worst(),
                whole.mean(),
            ]);
        }
    }
    let header = [
        "move",
        "world",
        "due",
        "followed",
        "decision_worst_s",
        "decision_mean_s",
        "ready_mean_s",
        "endpoint_mean_s",
        "forwarding_mean_s",
        "added_worst_s",
        "added_mean_s",
        "worst_s",
        "mean_s",
    ];
    Ok(of_cells(header, &rows)?)
}

/// How long each took.
struct Spans(Vec<Span>);

impl Spans {
    fn worst(&self) -> Cell {
        seconds(self.0.iter().copied().max())
    }

    fn mean(&self) -> Cell {
        let sum = self.0.iter().fold(Span::ZERO, |sum, span| sum + *span);
        seconds(sum.as_nanos().checked_div(self.0.len() as u64).map(Span::from_nanos))
    }
}

fn seconds(span: Option<Span>) -> Cell {
    span.map_or(Cell::Nothing("-"), |span| Cell::Decimals(span.as_secs_f64(), 2))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::fake_app::load::{Outcome, Outlived, Summary};
    use crate::lesson::cluster_world::Seen;
    use crate::scenario::{RequestKind, ScenarioFile};

    fn setting() -> Setting {
        experiment(&inputs::policy(None).unwrap(), &Options::default()).unwrap().setting
    }

    #[test]
    fn every_phase_of_the_attempts_is_met_and_every_change_is_followed_in_time() {
        let setting = setting();
        let modelled = modelled(&setting).unwrap();
        assert_eq!(modelled.len(), changes(&setting.scenario).len());
        let mut decisions: Vec<_> = modelled.iter().filter(|followed| followed.to == Move::Eject).collect();
        decisions.sort_by_key(|followed| followed.decision);
        decisions.dedup_by_key(|followed| followed.decision);
        let millis: Vec<_> = decisions.iter().map(|followed| followed.decision.as_nanos() / 1_000_000).collect();
        assert_eq!(millis, [10_000, 10_500, 11_000, 11_500, 12_000, 12_500, 13_000, 13_500, 14_000, 14_500]);
    }

    #[test]
    fn what_is_seen_at_each_station_is_a_leg_of_the_way_to_the_traffic() {
        let scenario = "{turn: 1s, turns: 60, requestsPerTurn: 1, replicas: {count: 1, startup: 0}, \
                        faults: [{replica: 0, at: 10, dependencyLost: {for: 20}}]}";
        let scenario = ScenarioFile::parse("scenario.yaml", scenario).unwrap();
        let second = |at: f64| Time::ZERO + Span::from_nanos((at * 1e9) as u64);
        let seen = |at, station, decision| Seen { at: second(at), replica: 0, station, decision };
        let request = |at: f64| RequestLine {
            turn: 0,
            n: 0,
            request: RequestKind::Plain,
            at_ms: at * 1e3,
            pod: Some("fake-0".to_owned()),
            outcome: Outcome::Served,
            latency_ms: 1.0,
            state: None,
        };
        let observation = Observation {
            restarts: Vec::new(),
            seen: vec![
                seen(22.0, Station::Gate, Move::Eject),
                seen(22.75, Station::Endpoint, Move::Eject),
                seen(23.0, Station::Ready, Move::Eject),
                seen(36.0, Station::Gate, Move::Admit),
            ],
            requests: [9.0, 15.0, 23.25, 40.0].map(request).to_vec(),
            truths: Vec::new(),
            summary: Summary {
                start: Timestamp::UNIX_EPOCH,
                requests: 4,
                unsent: 0,
                total_errors: 0,
                early_errors: 0,
                failed: Default::default(),
                truly_serving: None,
                lost_writes: None,
                latest_ms: 0.0,
                outlived: Outlived::default(),
            },
        };
        let legs = [1_000, 0, 500].map(Span::from_millis);
        let added = Span::from_millis(1_250);
        let followed = Followed { to: Move::Eject, decision: Span::from_secs(12), legs, added };
        assert_eq!(measured(&scenario, &observation), [followed]);
    }
}
