//! The breakers of a fleet: one for all of it, and one for each part whose replicas fail together.

use std::collections::BTreeMap;

use super::super::replica::Replica;
use super::super::{
    Among, Amount, BreakerSettings, FleetTransitionKind, NodeKey, Reason, RevisionKey, RuleKind, SeatKey, Time,
};
use super::breaker::Breaker;
use super::judged::Tally;
use super::seats::Seats;
use super::standings::Standings;

/// The breakers of a fleet.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Breakers {
    pub(in super::super) fleet: Breaker,
    /// Those of parts, while they are open.
    parts: BTreeMap<Part, Breaker>,
}

/// A part of a fleet whose replicas may fail for one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The replicas of a node: the path to it may be cut.
    Node(NodeKey),
    /// The started replicas of a revision: what they were made from may be bad.
    Revision(Option<RevisionKey>),
    /// The replicas of a revision that fail to start.
    Starting(Option<RevisionKey>),
}

impl Breakers {
    /// Opens and closes them by how the judged replicas stand at `now`, and tells it.
    pub(super) fn step(
        &mut self,
        settings: Option<&BreakerSettings>,
        standings: &Standings,
        now: Time,
        mut tell: impl FnMut((FleetTransitionKind, Reason)),
    ) {
        self.fleet.step(settings, Among::Fleet, standings.liveness.all, now).into_iter().for_each(&mut tell);
        for part in settings.into_iter().flat_map(|settings| failing_together(settings, standings)) {
            self.parts.entry(part).or_default();
        }
        self.parts.retain(|part, breaker| {
            let settings = settings.map(|settings| part.settings(settings));
            let moved = breaker.step(settings.as_ref(), part.among(), part.sharing(standings), now);
            moved.into_iter().for_each(&mut tell);
            *breaker != Breaker::Closed
        });
    }

    /// The part of the fleet whose breaker does not let a restart of a replica be decided at `now`.
    pub(super) fn holding(&self, settings: Option<&BreakerSettings>, replica: &Replica, now: Time) -> Option<Part> {
        self.of(replica).find(|(_, breaker)| !breaker.lets(settings, now)).map(|(part, _)| part)
    }

    /// Whether a restart of a replica, in that seat, that was decided may still be ordered.
    pub(super) fn let_go_on(&self, replica: &Replica, seat: SeatKey) -> bool {
        self.fleet.lets_go_on(seat) && self.of(replica).all(|(_, breaker)| breaker.lets_go_on(seat))
    }

    /// A restart of a replica, in that seat, was decided: the trial of every breaker that waits for one.
    pub(super) fn decided(&mut self, replica: &Replica, seat: SeatKey) {
        self.fleet.decided(seat);
        for part in Part::of(replica) {
            if let Some(breaker) = self.parts.get_mut(&part) {
                breaker.decided(seat);
            }
        }
    }

    /// A restart of that seat helped.
    pub(super) fn helped(&mut self, seat: SeatKey) {
        self.all_mut().for_each(|breaker| breaker.helped(seat));
    }

    /// A restart of that seat did not help.
    pub(super) fn did_not_help(&mut self, seat: SeatKey, now: Time) {
        self.all_mut().for_each(|breaker| breaker.did_not_help(seat, now));
    }

    /// A trial whose restart is off, without anything having come of it, is to be made anew.
    pub(super) fn follow(&mut self, seats: &Seats) {
        self.all_mut().for_each(|breaker| breaker.follow(seats));
    }

    /// All that are not closed, and perhaps that of the fleet.
    pub(super) fn all(&self) -> impl Iterator<Item = &Breaker> {
        [&self.fleet].into_iter().chain(self.parts.values())
    }

    /// Those of parts that are not closed, in the order of the parts.
    pub(in super::super) fn parts(&self) -> impl Iterator<Item = (Part, &Breaker)> {
        self.parts.iter().map(|(part, breaker)| (*part, breaker))
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut Breaker> {
        [&mut self.fleet].into_iter().chain(self.parts.values_mut())
    }

    fn of(&self, replica: &Replica) -> impl Iterator<Item = (Part, &Breaker)> {
        Part::of(replica).filter_map(|part| Some((part, self.parts.get(&part)?)))
    }
}

impl Part {
    /// The parts of which a replica is one.
    pub(in super::super) fn of(replica: &Replica) -> impl Iterator<Item = Self> {
        let revision = replica.seen.revision;
        let rest = if replica.is_started() { Self::Revision(revision) } else { Self::Starting(revision) };
        replica.seen.node.map(Self::Node).into_iter().chain([rest])
    }

    /// What is said of its replicas.
    pub(super) fn among(self) -> Among {
        match self {
            Self::Node(_) => Among::Node,
            Self::Revision(_) => Among::Revision,
            Self::Starting(_) => Among::Starting,
        }
    }

    /// The rule that they fail.
    pub(in super::super) fn rule(self) -> RuleKind {
        match self {
            Self::Node(_) | Self::Revision(_) => RuleKind::Liveness,
            Self::Starting(_) => RuleKind::Startup,
        }
    }

    /// How many of its replicas pass and fail.
    pub(super) fn tally(self, standings: &Standings) -> Tally {
        match self {
            Self::Node(node) => standings.liveness.of_node(node),
            Self::Revision(revision) => standings.liveness.revisions().of(revision),
            Self::Starting(revision) => standings.startup.of(revision),
        }
    }

    /// The same; nobody while they do not fail for a cause of the part.
    fn sharing(self, standings: &Standings) -> Tally {
        let is_shared = match self {
            Self::Node(node) => standings.liveness.is_cut(node),
            Self::Revision(revision) => standings.liveness.is_of_revision(revision),
            Self::Starting(_) => true,
        };
        if is_shared { self.tally(standings) } else { Tally::default() }
    }

    /// All replicas of a node share a path, so all of them are to be unreachable.
    fn settings(self, settings: &BreakerSettings) -> BreakerSettings {
        match self {
            Self::Node(_) => BreakerSettings { open_at: Amount::Percent(100), ..*settings },
            Self::Revision(_) | Self::Starting(_) => *settings,
        }
    }
}

/// The parts whose breaker is to open.
fn failing_together(settings: &BreakerSettings, standings: &Standings) -> impl Iterator<Item = Part> {
    let nodes = standings.liveness.cut().map(Part::Node);
    let revisions = standings.liveness.revisions().iter().map(|(revision, _)| Part::Revision(revision));
    let starting = standings.startup.iter().map(|(revision, _)| Part::Starting(revision));
    nodes.chain(revisions).chain(starting).filter(|part| {
        let tally = part.sharing(standings);
        part.settings(settings).opens(tally.failing, tally.judged())
    })
}
