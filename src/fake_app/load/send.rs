//! The load while it is sent.

use std::sync::mpsc;

use futures::future::join_all;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::client::{Answer, Client};
use super::fleet::{Fleet, Member};
use super::line::{Line, Outcome, RequestLine, TruthLine};
use super::plan::{Due, Timetable, ms};
use super::tally::End;
use super::{Connections, Load, Route};
use crate::scenario::TrueState;

/// A load while it is sent.
#[derive(Clone)]
pub(super) struct Sending {
    client: Client,
    asker: Client,
    route: Route,
    timetable: Timetable,
    fleet: watch::Receiver<Fleet>,
    lines: mpsc::Sender<Line>,
    stop: CancellationToken,
}

impl Sending {
    /// A load on a fleet, whose turns begin by its plan, until `stop`; its lines go to `lines`.
    pub fn new(load: Load, fleet: watch::Receiver<Fleet>, lines: mpsc::Sender<Line>, stop: &CancellationToken) -> Self {
        Self {
            client: Client::new(load.connections, load.timeout),
            asker: Client::new(Connections::OnePerRequest, load.timeout),
            route: load.route,
            timetable: load.plan.timetable(),
            fleet,
            lines,
            stop: stop.child_token(),
        }
    }

    /// Sends what is due until nothing is left or it is told to stop, and waits for the last answers.
    pub async fn send_all(self) -> End {
        let tasks = TaskTracker::new();
        tasks.spawn(self.clone().look_every_turn(tasks.clone()));
        let following = tokio::spawn(follow(self.client.clone(), self.fleet.clone()));
        let mut unsent = self.timetable.requests().count() as u64;
        let due = self.timetable.requests().skip_while(|due| self.timetable.is_too_late_for(due));
        for due in due {
            tokio::select! {
                () = tokio::time::sleep_until(due.at) => {}
                () = self.stop.cancelled() => break,
            }
            unsent -= 1;
            tasks.spawn(self.clone().request(due));
        }
        tasks.close();
        tasks.wait().await;
        following.abort();
        End { start: self.timetable.start(), unsent, outlived: self.client.outlived() }
    }

    async fn request(self, due: Due) {
        let sent = Instant::now();
        let (pod, answer) = match self.target(due.n) {
            None => (None, Answer { outcome: Outcome::EmptyPool, truth: None }),
            Some((pod, address)) => {
                let answer = self.client.ask(&address, pod.as_deref(), "/request").await;
                (pod, answer)
            }
        };
        let latency_ms = ms(sent.elapsed());
        let state = answer.truth.as_ref().map(|truth| truth.state).filter(|_| answer.outcome == Outcome::NotServing);
        self.write(Line::Request(RequestLine {
            turn: due.turn,
            n: due.n,
            at_ms: self.timetable.ms_of(sent),
            pod: pod.or(answer.truth.and_then(|truth| truth.host)),
            outcome: answer.outcome,
            latency_ms,
            state,
        }));
    }

    /// The pod, if it is known beforehand, and the address that request `n` of a turn goes to.
    fn target(&self, n: u32) -> Option<(Option<String>, String)> {
        match &self.route {
            Route::Address(address) => Some((None, address.clone())),
            Route::Endpoints => {
                self.fleet.borrow().pick(n).map(|member| (Some(member.pod.clone()), member.address.clone()))
            }
        }
    }

    async fn look_every_turn(self, tasks: TaskTracker) {
        for (turn, middle) in self.timetable.middles() {
            tokio::select! {
                () = tokio::time::sleep_until(middle) => {}
                () = self.stop.cancelled() => return,
            }
            tasks.spawn(self.clone().look(turn));
        }
    }

    /// Asks every replica, in the pool or not, for its true state.
    async fn look(self, turn: u32) {
        let fleet = self.fleet.borrow().clone();
        let outliving = self.client.outliving();
        let states = join_all(fleet.members().iter().map(|member| self.truth_of(member))).await;
        self.write(Line::Truth(TruthLine {
            turn,
            pool: fleet.pool_size(),
            healthy: states.iter().filter(|state| **state == Some(TrueState::Healthy)).count(),
            outliving,
            states: fleet.members().iter().map(|member| member.pod.clone()).zip(states).collect(),
        }));
    }

    async fn truth_of(&self, member: &Member) -> Option<TrueState> {
        let answer = self.asker.ask(&member.address, Some(&member.pod), "/truth").await;
        answer.truth.map(|truth| truth.state)
    }

    /// Lines that cannot be written end the load.
    fn write(&self, line: Line) {
        if self.lines.send(line).is_err() {
            self.stop.cancel();
        }
    }
}

/// Keeps the client informed of who is in the pool. Holds nothing that the end of the load waits for.
async fn follow(client: Client, mut fleet: watch::Receiver<Fleet>) {
    while fleet.changed().await.is_ok() {
        client.pool_is(&fleet.borrow_and_update());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Span;
    use crate::fake_app::load::{Plan, Rate};
    use crate::scenario::Speed;

    #[tokio::test]
    async fn nobody_holds_the_lines_of_a_load_that_is_over() {
        let plan = Plan {
            start: None,
            turn: Span::from_millis(1),
            turns: 1,
            rate: Rate { requests: 1, each: Span::from_secs(1) },
            speed: Speed::REAL,
        };
        let route = Route::Endpoints;
        let load = Load { plan, route, connections: Connections::KeptOpen, timeout: Span::from_secs(1).into() };
        let (_pool_goes_on_changing, fleet) = watch::channel(Fleet::default());
        let (lines, written) = mpsc::channel();
        let end = Sending::new(load, fleet, lines, &CancellationToken::new()).send_all().await;
        let outcomes: Vec<_> = written
            .try_iter()
            .filter_map(|line| match line {
                Line::Request(line) => Some(line.outcome),
                Line::Truth(_) | Line::Summary(_) => None,
            })
            .collect();
        assert_eq!((outcomes, end.unsent), (vec![Outcome::EmptyPool], 0));
        assert_eq!(written.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    }
}
