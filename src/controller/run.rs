//! The loop: one task owns index and engine.
//!
//! Every replica of the controller watches and keeps the index; only the leader has an engine. A turn has the three
//! steps of the engine's contract: hear everything that has arrived, decide once, begin what was decided.

use std::net::SocketAddr;
use std::num::{NonZeroU16, NonZeroU32};

use kube::Api;
use kube::runtime::events::{Recorder, Reporter};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::beats::{self, Caller, Desk, Heard, Reviewer, Said, Word};
use super::elect::{Candidate, Leadership};
use super::http::{self, Endpoints, Pulse, Question};
use super::leader::{Finished, Leader, Tools};
use super::lease::Terms;
use super::metrics::Metrics;
use super::state::State;
use crate::api::CONTROLLER;
use crate::cluster::records::ObjectName;
use crate::cluster::{self, Clients, Index, Scope, SliceWatch, WatchEvent};
use crate::engine::{Engine, Input, Span, Time};
use crate::probe::Commands;
use crate::runtime::Clock;

/// How a controller is to run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where policies and pods are looked for.
    pub scope: Scope,
    /// Whether Services and EndpointSlices are watched.
    pub slices: SliceWatch,
    /// The durations of the election.
    pub terms: Terms,
    /// The name of this process in the election; made unique by its start.
    pub name: String,
    /// Where `/metrics`, `/state` and the health checks are served.
    pub listen: SocketAddr,
    /// The most attempts at once.
    pub max_attempts: NonZeroU16,
    /// The most attempts a second, if there is a limit; with more targets, periods are stretched.
    pub max_attempts_per_second: Option<NonZeroU32>,
    /// The most writes of gates a second.
    pub max_writes_per_second: NonZeroU32,
}

/// Why a controller cannot run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}: {source}; choose another with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
}

/// Facts that wait to be heard; watches wait when there are more.
const EVENTS: usize = 1024;
/// What pods say over HTTP, and waits to be heard; beyond that it is refused.
const SAID: usize = 1024;
/// Facts heard in one turn at most, so that a flood of them does not keep decisions from being taken.
const HEARD_AT_ONCE: usize = 1024;
/// The loop turns at least so often: statuses are due, and its pulse is felt.
const IDLE: Span = Span::from_millis(500);
/// Without a turn for so long, the process stood still, and what was sent to it meanwhile has yet to be heard.
const STOOD_STILL: Span = Span::from_secs(2);

/// Runs a controller until `stop`; then its effects end, and the lease is released.
///
/// # Errors
/// If it cannot serve its endpoints.
pub async fn run(clients: Clients, settings: Settings, stop: CancellationToken) -> Result<(), RunError> {
    let clock = Clock::start();
    let address = settings.listen;
    let listener = TcpListener::bind(address).await.map_err(|source| RunError::Listen { address, source })?;

    let identity = format!("{}_{:x}", settings.name, clock.now().as_nanos());
    let leases = Api::namespaced(clients.actor.clone(), &clients.namespace);
    let candidate = Candidate::new(leases, identity.clone(), settings.terms, clock);
    let leadership = candidate.leadership();
    let release = CancellationToken::new();
    let election = tokio::spawn(candidate.run(release.clone()));

    let (events, heard) = mpsc::channel(EVENTS);
    let watching = cluster::watch(clients.reader, settings.scope.clone(), settings.slices, events, stop.clone());
    let watching = tokio::spawn(watching);

    let metrics = Metrics::new();
    let (ask, questions) = mpsc::channel(16);
    let pulse = Pulse::new(clock);
    let endpoints = Endpoints { questions: ask, pulse: pulse.clone(), metrics: metrics.clone() };
    let (say, said) = mpsc::channel(SAID);
    let desk = Desk { said: say, reviewer: Reviewer::new(clients.actor.clone(), clock) };
    let routes = http::router(endpoints).merge(beats::router(desk));
    let serving = tokio::spawn(async move { axum::serve(listener, routes).await });

    let reporter = Reporter { controller: CONTROLLER.to_owned(), instance: Some(identity) };
    let tools = Tools {
        actor: clients.actor.clone(),
        timeout: settings.terms.request_timeout().into(),
        commands: Commands::new(clients.runner),
        max_attempts: settings.max_attempts,
        max_attempts_per_second: settings.max_attempts_per_second,
        max_writes_per_second: settings.max_writes_per_second,
        recorder: Recorder::new(clients.actor, reporter),
        metrics,
    };
    let index = match settings.slices {
        SliceWatch::On => Index::new(&settings.scope),
        SliceWatch::Off => {
            info!(
                "EndpointSlices are not watched: no pool is told by them, and when they follow a decision is not measured"
            );
            Index::new(&settings.scope).without_slices()
        }
    };
    let home = Home { namespace: clients.namespace, port: address.port() };
    let leader = None;
    Controller { clock, index, leader, leadership, home, tools, events: heard, said, questions, pulse, stop }
        .run()
        .await;

    release.cancel();
    for task in [election, watching] {
        if let Err(error) = task.await {
            warn!(%error, "a task broke");
        }
    }
    serving.abort();
    Ok(())
}

struct Controller {
    clock: Clock,
    index: Index,
    leader: Option<Leader>,
    leadership: Leadership,
    home: Home,
    tools: Tools,
    events: mpsc::Receiver<WatchEvent>,
    said: mpsc::Receiver<Said>,
    questions: mpsc::Receiver<Question>,
    pulse: Pulse,
    stop: CancellationToken,
}

/// Where all controllers are.
struct Home {
    namespace: String,
    /// The port at which each listens.
    port: u16,
}

enum Wake {
    Event(WatchEvent),
    Said(Said),
    Finished(Finished),
    Question(Question),
    Due,
    Stop,
}

impl Controller {
    async fn run(mut self) {
        let mut turned = self.clock.now();
        loop {
            let wake = self.wait().await;
            if matches!(wake, Wake::Stop) {
                return;
            }
            let now = self.clock.now();
            self.lead(now);
            self.note_pause(now.since(std::mem::replace(&mut turned, now)), now);
            self.hear(now, wake);
            self.hear_waiting(now);
            let (touched, moves) = (self.index.take_touched(), self.index.take_moves());
            if let Some(leader) = &mut self.leader {
                leader.hear_moves(&self.index, now, moves);
                leader.turn(&self.index, touched, now);
            }
            self.pulse.beat();
        }
    }

    async fn wait(&mut self) -> Wake {
        let now = self.clock.now();
        let deadline = self.leader.as_ref().and_then(|leader| leader.next_deadline(now));
        let due = deadline.map_or(now + IDLE, |at| at.min(now + IDLE));
        let permit = self.leader.as_ref().map(|leader| leader.permit().clone());
        tokio::select! {
            () = self.stop.cancelled() => Wake::Stop,
            Some(event) = self.events.recv() => Wake::Event(event),
            finished = finished(&mut self.leader) => Wake::Finished(finished),
            Some(said) = self.said.recv() => Wake::Said(said),
            Some(question) = self.questions.recv() => Wake::Question(question),
            () = self.leadership.changed(permit.as_ref()) => Wake::Due,
            () = self.clock.sleep_until(Some(due)) => Wake::Due,
        }
    }

    /// Begins or ends to lead. A leader whose permit is void hears nothing more.
    fn lead(&mut self, now: Time) {
        if self.leader.as_ref().is_some_and(|leader| !leader.permit().holds()) {
            warn!("no longer leading: attempts and effects end here");
            self.leader = None;
        }
        if self.leader.as_ref().is_some_and(Leader::is_outdated) {
            info!("beginning anew with what the leader before wrote last");
            self.leader = None;
        }
        if self.leader.is_none()
            && self.index.is_synced()
            && let Some(permit) = self.leadership.permit()
        {
            info!("leading");
            self.leader = Some(Leader::begin(permit, self.tools.clone(), &mut self.index, now));
        }
    }

    /// Nobody's silence speaks against it while we stood still.
    fn note_pause(&mut self, since_turn: Span, now: Time) {
        if since_turn >= STOOD_STILL
            && let Some(leader) = &mut self.leader
        {
            warn!(%since_turn, "the process stood still: every beat counts anew for its whole time to live");
            leader.hear(now, [Input::Deaf { until: now }]);
        }
    }

    fn hear(&mut self, now: Time, wake: Wake) {
        match wake {
            Wake::Event(event) => {
                let inputs = self.index.apply(event, now);
                if let Some(leader) = &mut self.leader {
                    leader.hear(now, inputs);
                }
            }
            Wake::Said(Said { caller, word, answer }) => {
                let heard = self.hear_pod(now, &caller, word);
                // Whoever said it may have gone.
                let _ = answer.send(heard);
            }
            Wake::Finished(finished) => {
                if let Some(leader) = &mut self.leader {
                    leader.hear_finished(&mut self.index, now, finished);
                }
            }
            Wake::Question(question) => {
                let engine: Option<&Engine> = self.leader.as_ref().map(Leader::engine);
                let standing = self.leadership.standing();
                // Whoever asked may have gone.
                let _ = question.send(State::new(&self.index, engine, standing, now));
            }
            Wake::Due | Wake::Stop => {}
        }
    }

    /// What a pod says counts for the very pod that says it.
    fn hear_pod(&mut self, now: Time, caller: &Caller, word: Word) -> Heard {
        let Some(replica) = self.index.asked_to_beat(&caller.pod, &caller.uid) else { return Heard::NotAsked };
        let input = match word {
            Word::Beat => Input::Beat { replica },
            Word::Deregister => Input::Deregistered { replica },
        };
        match &mut self.leader {
            Some(leader) => {
                leader.hear(now, [input]);
                Heard::Taken
            }
            None => self.leaders_address().map_or(Heard::NobodyLeads, Heard::PassOn),
        }
    }

    /// Where the controller listens that holds the lease, if that is another.
    fn leaders_address(&self) -> Option<SocketAddr> {
        let holder = self.leadership.standing().holder?;
        let (pod, _) = holder.rsplit_once('_')?;
        let address = self.index.address_of(&ObjectName::new(&self.home.namespace, pod))?;
        Some(SocketAddr::new(address, self.home.port))
    }

    fn hear_waiting(&mut self, now: Time) {
        for _ in 0..HEARD_AT_ONCE {
            let finished = self.leader.as_mut().and_then(Leader::try_finished).map(Wake::Finished);
            let event = || self.events.try_recv().ok().map(Wake::Event);
            let Some(wake) = finished.or_else(event).or_else(|| self.said.try_recv().ok().map(Wake::Said)) else {
                return;
            };
            self.hear(now, wake);
        }
    }
}

async fn finished(leader: &mut Option<Leader>) -> Finished {
    match leader {
        Some(leader) => leader.finished().await,
        None => std::future::pending().await,
    }
}
