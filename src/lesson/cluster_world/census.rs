//! Who was restarted, when, and what it really was: counted from the pods themselves, not from what a controller says.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;

use crate::engine::{Span, Time};
use crate::fake_app::Start;
use crate::report::Restart;
use crate::scenario::{Opening, Scenario};

/// The node writes times in whole seconds, cut off.
const SECOND: Duration = Duration::from_secs(1);

/// How long after its planned reopening a process may end and still have ended for it.
const PLANNED_WITHIN: Span = Span::from_secs(3);

/// Counts restarts.
pub(super) struct Census<'a> {
    scenario: &'a Scenario,
    start: Timestamp,
    replicas: BTreeMap<usize, Process>,
    reopened: BTreeSet<(usize, Time)>,
    restarts: Vec<Restart>,
}

/// The process of a replica, as it was last seen.
struct Process {
    pod: String,
    container: Option<String>,
    opening: Opening,
    doomed: bool,
}

/// How a container ended.
struct End {
    at: Timestamp,
    exit_code: Option<i32>,
}

impl<'a> Census<'a> {
    /// A census of a fleet that acts out the scenario, as fast as it runs, from `start` on: a whole second.
    pub fn new(scenario: &'a Scenario, start: Timestamp) -> Self {
        Self { scenario, start, replicas: BTreeMap::new(), reopened: BTreeSet::new(), restarts: Vec::new() }
    }

    /// The restarts within the scenario's turns, in their order.
    pub fn restarts(self) -> Vec<Restart> {
        self.restarts
    }

    /// Takes note of a pod that was seen at `now`: a pod that is about to be deleted, was replaced, or whose container
    /// has ended, is a restart.
    pub fn see(&mut self, replica: usize, pod: &Pod, now: Timestamp) {
        let uid = pod.uid().unwrap_or_default();
        let mut process = match self.replicas.remove(&replica) {
            Some(process) if process.pod == uid => process,
            replaced => {
                self.lose(replica, replaced, now);
                Process { pod: uid, container: None, opening: Opening::Warm, doomed: false }
            }
        };
        if pod.metadata.deletion_timestamp.is_some() && !process.doomed {
            process.doomed = true;
            self.count(replica, process.opening, now);
        }
        if let Some(status) = app_of(pod).filter(|_| !process.doomed) {
            self.follow(replica, &mut process, status, now);
        }
        self.replicas.insert(replica, process);
    }

    /// Takes note that the pod of a replica is no longer there.
    pub fn miss(&mut self, replica: usize, now: Timestamp) {
        let process = self.replicas.remove(&replica);
        self.lose(replica, process, now);
    }

    fn lose(&mut self, replica: usize, process: Option<Process>, now: Timestamp) {
        if let Some(process) = process.filter(|process| !process.doomed) {
            self.count(replica, process.opening, now);
        }
    }

    fn follow(&mut self, replica: usize, process: &mut Process, status: &ContainerStatus, now: Timestamp) {
        if let Some(end) = process.container.as_ref().and_then(|container| end_of(container, status, now)) {
            process.container = None;
            if !self.was_planned(replica, &end) {
                self.count(replica, process.opening, end.at);
            }
        }
        let running = status.state.as_ref().and_then(|state| state.running.as_ref());
        if let (None, Some(running), Some(container)) = (&process.container, running, &status.container_id) {
            process.container = Some(container.clone());
            process.opening = self.opening(running.started_at.as_ref().map_or(now, |started| started.0), now);
        }
    }

    /// From its planned reopening on, a process ends by itself, and well.
    fn was_planned(&mut self, replica: usize, end: &End) -> bool {
        let Some(time) = self.time(end.at).filter(|_| end.exit_code == Some(0)) else { return false };
        let due = self.scenario.reopenings(replica).find(|at| *at <= time && time < *at + PLANNED_WITHIN);
        due.is_some_and(|at| self.reopened.insert((replica, at)))
    }

    /// A process that was opened in a second, of which it was seen not later than `seen`.
    fn opening(&self, second: Timestamp, seen: Timestamp) -> Opening {
        match self.time(second) {
            None => Opening::Warm,
            Some(_) => Opening::Restart(self.time(seen.min(second + SECOND / 2)).unwrap_or_default()),
        }
    }

    fn count(&mut self, replica: usize, opening: Opening, at: Timestamp) {
        let Some(time) = self.time(at).filter(|time| time.since(Time::ZERO) < self.scenario.length()) else { return };
        self.restarts.push(Restart::new(self.scenario, replica, opening, time));
    }

    fn time(&self, at: Timestamp) -> Option<Time> {
        Start::At(self.start).time(at)
    }
}

fn app_of(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()
}

/// How the container ended, if it is known to have ended.
fn end_of(container: &str, status: &ContainerStatus, now: Timestamp) -> Option<End> {
    let states = [&status.state, &status.last_state];
    let mut ended = states.into_iter().flatten().filter_map(|state| state.terminated.as_ref());
    if let Some(end) = ended.find(|end| end.container_id.as_deref() == Some(container)) {
        let at = end.finished_at.as_ref().map_or(now, |finished| now.min(finished.0 + SECOND));
        return Some(End { at, exit_code: Some(end.exit_code) });
    }
    let replaced = status.container_id.as_deref().is_some_and(|id| id != container);
    replaced.then_some(End { at: now, exit_code: None })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::SignedDuration;
    use serde_json::{Value, json};

    use super::*;
    use crate::lesson::Setting;
    use crate::lesson::comparison::Choice;
    use crate::scenario::TrueState;

    const START: &str = "2026-03-01T12:00:00Z";

    fn at(second: f64) -> Timestamp {
        START.parse::<Timestamp>().unwrap() + SignedDuration::from_secs_f64(second)
    }

    fn pod(uid: &str, deleted: bool, status: Value) -> Pod {
        let mut pod = json!({"metadata": {"uid": uid}, "status": {"containerStatuses": [status]}});
        if deleted {
            pod["metadata"]["deletionTimestamp"] = START.into();
        }
        serde_json::from_value(pod).unwrap()
    }

    fn status(id: &str, state: Value, last: Value) -> Value {
        json!({
            "name": "app", "image": "", "imageID": "", "ready": true, "restartCount": 0,
            "containerID": id, "state": state, "lastState": last,
        })
    }

    fn running(uid: &str, id: &str, started: &str) -> Pod {
        pod(uid, false, status(id, json!({"running": {"startedAt": started}}), json!({})))
    }

    fn ended(id: &str, code: i32, finished: &str) -> Value {
        json!({"terminated": {"containerID": id, "exitCode": code, "finishedAt": finished}})
    }

    fn restarts(speed: &str, see: impl FnOnce(&mut Census)) -> Vec<Restart> {
        let scenario = Setting::scenario().unwrap().at_speed(speed.parse().unwrap());
        let mut census = Census::new(&scenario, START.parse().unwrap());
        see(&mut census);
        census.restarts()
    }

    const WARM: &str = "2026-03-01T11:59:50Z";

    #[test]
    fn a_pod_that_is_deleted_is_one_restart_whatever_follows() {
        let restarts = restarts("1", |census| {
            census.see(1, &running("a", "1", WARM), at(-9.0));
            census.see(1, &pod("a", true, status("1", json!({"running": {"startedAt": WARM}}), json!({}))), at(91.5));
            census.see(1, &pod("a", true, status("1", ended("1", 137, "2026-03-01T12:01:32Z"), json!({}))), at(92.6));
            census.miss(1, at(92.7));
            census.see(1, &running("b", "2", "2026-03-01T12:01:33Z"), at(93.8));
        });
        assert_eq!(restarts, [Restart { replica: 1, state: TrueState::Stuck, since_stuck: Some(11.5) }]);
    }

    #[test]
    fn a_pod_that_vanished_or_was_replaced_unseen_was_restarted() {
        let restarts = restarts("1", |census| {
            census.see(0, &running("a", "1", WARM), at(-9.0));
            census.miss(0, at(10.0));
            census.see(0, &running("b", "2", "2026-03-01T12:00:11Z"), at(12.0));
            census.see(0, &running("c", "3", "2026-03-01T12:00:14Z"), at(15.0));
        });
        let states: Vec<_> = restarts.iter().map(|restart| restart.state).collect();
        assert_eq!(states, [TrueState::Healthy, TrueState::Starting]);
    }

    #[test]
    fn a_container_restarted_in_place_counts_once_when_it_ended() {
        let waiting = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        let restarts = restarts("1", |census| {
            census.see(5, &running("a", "1", WARM), at(-9.0));
            let gone = status("1", waiting, ended("1", 137, "2026-03-01T12:02:31Z"));
            census.see(5, &pod("a", false, gone.clone()), at(152.4));
            census.see(5, &pod("a", false, gone), at(155.0));
            census.see(5, &running("a", "2", "2026-03-01T12:02:42Z"), at(163.0));
        });
        assert_eq!(restarts, [Restart { replica: 5, state: TrueState::Stuck, since_stuck: Some(12.0) }]);
    }

    #[test]
    fn a_container_replaced_between_two_looks_was_restarted() {
        let restarts = restarts("1", |census| {
            census.see(2, &running("a", "1", WARM), at(-9.0));
            let state = json!({"running": {"startedAt": "2026-03-01T12:00:31Z"}});
            census.see(2, &pod("a", false, status("2", state, ended("1", 0, "2026-03-01T12:00:30Z"))), at(31.9));
        });
        assert_eq!(restarts, [Restart { replica: 2, state: TrueState::Healthy, since_stuck: None }]);
    }

    #[test]
    fn a_planned_reopening_is_no_restart_but_begins_a_startup() {
        for (speed, finished, started, killed, seconds) in [
            ("1", "2026-03-01T12:00:20Z", "2026-03-01T12:00:20Z", 36.2, 20.9),
            ("3", "2026-03-01T12:00:06Z", "2026-03-01T12:00:07Z", 12.1, 7.4),
        ] {
            let restarts = restarts(speed, |census| {
                census.see(6, &running("a", "1", WARM), at(-9.0));
                let state = json!({"running": {"startedAt": started}});
                census.see(6, &pod("a", false, status("2", state, ended("1", 0, finished))), at(seconds));
                census.miss(6, at(killed));
            });
            assert_eq!(restarts, [Restart { replica: 6, state: TrueState::Starting, since_stuck: None }], "{speed}");
        }
    }

    #[test]
    fn a_process_that_fails_at_its_reopening_was_restarted() {
        let restarts = restarts("1", |census| {
            census.see(6, &running("a", "1", WARM), at(-9.0));
            census.see(6, &pod("a", false, status("1", ended("1", 137, "2026-03-01T12:00:20Z"), json!({}))), at(20.9));
        });
        assert_eq!(restarts.len(), 1);
    }

    #[test]
    fn what_happens_before_and_after_the_turns_is_not_counted() {
        let restarts = restarts("2", |census| {
            census.see(0, &running("a", "1", WARM), at(-9.0));
            census.miss(0, at(-5.0));
            census.see(0, &running("b", "2", "2026-03-01T11:59:57Z"), at(-2.0));
            census.miss(0, at(90.0));
        });
        assert_eq!(restarts, []);
    }
}
