//! The load while it is sent.

use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use futures::future::join_all;
use hyper::Method;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::client::{Answer, Client};
use super::find::{Finder, Target};
use super::fleet::{Fleet, Member};
use super::line::{Line, Outcome, RequestLine, TruthLine};
use super::plan::{Due, Timetable, ms};
use super::tally::End;
use super::{Connections, Load};
use crate::fake_app::store::Shared;
use crate::scenario::{RequestKind, TrueState};

/// A load while it is sent.
#[derive(Clone)]
pub(super) struct Sending {
    client: Client,
    asker: Client,
    finder: Arc<Finder>,
    stores: Option<Shared>,
    timetable: Timetable,
    fleet: watch::Receiver<Fleet>,
    lines: mpsc::Sender<Line>,
    /// The most microseconds that a request was sent after it was due.
    late: Arc<AtomicU64>,
    stop: CancellationToken,
}

impl Sending {
    /// A load on a fleet, whose turns begin by its plan, until `stop`; its lines go to `lines`.
    pub fn new(load: Load, fleet: watch::Receiver<Fleet>, lines: mpsc::Sender<Line>, stop: &CancellationToken) -> Self {
        Self {
            client: Client::new(load.connections, load.timeout),
            asker: Client::new(Connections::OnePerRequest, load.timeout),
            finder: Arc::new(Finder::new(load.route, load.rotation, load.timeout, fleet.clone())),
            stores: load.stores.map(Shared),
            timetable: load.plan.timetable(),
            fleet,
            lines,
            late: Arc::default(),
            stop: stop.child_token(),
        }
    }

    /// Sends what is due until nothing is left or it is told to stop, and waits for the last answers. What should have
    /// been sent before is sent at once, in its order.
    ///
    /// # Errors
    /// If the stores cannot be asked what they hold.
    pub async fn send_all(self) -> io::Result<End> {
        let tasks = TaskTracker::new();
        tasks.spawn(self.clone().look_every_turn(tasks.clone()));
        let following = tokio::spawn(follow(self.client.clone(), self.fleet.clone()));
        let mut unsent = self.timetable.requests().count() as u64;
        for due in self.timetable.requests() {
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
        let held = match &self.stores {
            Some(stores) => Some(stores.held().await?),
            None => None,
        };
        let late = Duration::from_micros(self.late.load(Ordering::Relaxed));
        Ok(End { start: self.timetable.start(), unsent, late, held, outlived: self.client.outlived() })
    }

    async fn request(self, due: Due) {
        let begun = Instant::now();
        let target = self.finder.find(&due).await;
        let sent = Instant::now();
        let late = sent.saturating_duration_since(due.at).as_micros();
        self.late.fetch_max(u64::try_from(late).unwrap_or(u64::MAX), Ordering::Relaxed);
        let (pod, answer) = match target {
            None => (None, Answer { outcome: Outcome::EmptyPool, truth: None }),
            Some(Target { pod, address }) => {
                let (method, path) = question(&due);
                let answer = self.client.ask(&address, pod.as_deref(), method, &path).await;
                (pod, answer)
            }
        };
        if answer.outcome == Outcome::Served {
            self.finder.accepted(&due);
        }
        let latency_ms = ms(begun.elapsed());
        let state = answer.truth.as_ref().map(|truth| truth.state).filter(|_| answer.outcome == Outcome::NotServing);
        self.write(Line::Request(RequestLine {
            turn: due.turn,
            n: due.n,
            request: due.kind,
            at_ms: self.timetable.ms_of(sent),
            pod: pod.or(answer.truth.and_then(|truth| truth.host)),
            outcome: answer.outcome,
            latency_ms,
            state,
        }));
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
        let answer = self.asker.ask(&member.address, Some(&member.pod), Method::GET, "/truth").await;
        answer.truth.map(|truth| truth.state)
    }

    /// Lines that cannot be written end the load.
    fn write(&self, line: Line) {
        if self.lines.send(line).is_err() {
            self.stop.cancel();
        }
    }
}

/// What a request asks for.
fn question(due: &Due) -> (Method, Cow<'static, str>) {
    match due.kind {
        RequestKind::Plain => (Method::GET, "/request".into()),
        RequestKind::Read => (Method::GET, "/read".into()),
        RequestKind::Write => (Method::POST, format!("/write?turn={}&n={}", due.turn, due.n).into()),
        RequestKind::Batch => (Method::POST, "/batch".into()),
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
    use k8s_openapi::jiff::Timestamp;

    use super::*;
    use crate::engine::Span;
    use crate::fake_app::clock;
    use crate::fake_app::load::{Plan, Requests, Route};
    use crate::scenario::{Rotation, Speed};

    /// A request each second to an empty pool, that often.
    fn load(start: Option<Timestamp>, turns: u32) -> Load {
        Load {
            plan: Plan {
                start,
                turn: Span::from_secs(1),
                turns,
                requests: Requests::Rate(std::num::NonZeroU32::MIN),
                speed: Speed::REAL,
            },
            route: Route::Endpoints,
            rotation: Rotation::EachTurn,
            connections: Connections::KeptOpen,
            timeout: Span::from_secs(1).into(),
            stores: None,
        }
    }

    fn requests(written: &mpsc::Receiver<Line>) -> Vec<RequestLine> {
        let request = |line| match line {
            Line::Request(line) => Some(line),
            Line::Truth(_) | Line::Summary(_) => None,
        };
        written.try_iter().filter_map(request).collect()
    }

    #[tokio::test]
    async fn nobody_holds_the_lines_of_a_load_that_is_over() {
        let (_pool_goes_on_changing, fleet) = watch::channel(Fleet::default());
        let (lines, written) = mpsc::channel();
        let end = Sending::new(load(None, 1), fleet, lines, &CancellationToken::new()).send_all().await.unwrap();
        let outcomes: Vec<_> = requests(&written).iter().map(|request| request.outcome).collect();
        assert_eq!((outcomes, end.unsent), (vec![Outcome::EmptyPool], 0));
        assert_eq!(written.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    }

    #[tokio::test]
    async fn what_was_due_before_the_load_was_there_is_sent_late_in_its_order() {
        let an_hour_ago = clock::now() - Duration::from_secs(3_600);
        let (lines, written) = mpsc::channel();
        let load = load(Some(an_hour_ago), 60);
        let fleet = watch::channel(Fleet::default()).1;
        let end = Sending::new(load, fleet, lines, &CancellationToken::new()).send_all().await.unwrap();
        let turns: Vec<_> = requests(&written).iter().map(|request| request.turn).collect();
        assert_eq!((turns, end.unsent), ((0..60).collect(), 0));
        assert!(end.late >= Duration::from_secs(3_600 - 60), "{:?}", end.late);
    }
}
