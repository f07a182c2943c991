//! Everything that happens in a run, told as it happens: every attempt, every verdict and every decision with its
//! sentence.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use clap::ValueEnum;
use serde::Serialize;

use crate::engine::{Evidence, FleetTransition, RuleKind, Time, Transition};
use crate::model::{Attempt, Moment, Observer, Standing, Turn};
use crate::scenario::{Condition, Opening, RequestKind};

/// The form of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceForm {
    /// A line for people each time something happens
    Text,
    /// A JSON object for each of these, one a line
    Jsonl,
}

/// Tells what happens. After the first failure to write, nothing more.
pub struct Trace<W> {
    form: TraceForm,
    out: W,
    written: io::Result<()>,
    /// Outcomes in a row that count the same, by replica and rule.
    streaks: BTreeMap<(usize, RuleKind), (Evidence, u32)>,
}

/// Something that happened, and when.
#[derive(Serialize)]
struct Line {
    turn: u32,
    at: String,
    #[serde(flatten)]
    event: Event,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    /// A replica's process was opened.
    Opened { replica: usize, why: &'static str },
    /// A rule asked a replica; `truth` is everything that was true of it.
    Attempt {
        replica: usize,
        rule: &'static str,
        asks: &'static str,
        outcome: &'static str,
        sentence: String,
        /// Outcomes in a row that count the same.
        streak: u32,
        truth: String,
    },
    /// A verdict, or a decision.
    Decision { replica: usize, decision: &'static str, reason: &'static str, sentence: String, truth: String },
    /// A decision about the fleet as a whole.
    FleetDecision { decision: &'static str, reason: &'static str, sentence: String },
    /// A turn is over.
    Turn { in_pool: usize, requests: u64, failed: u64, lost_silently: u64 },
}

impl<W: Write> Trace<W> {
    /// A trace of this form.
    pub const fn new(form: TraceForm, out: W) -> Self {
        Self { form, out, written: Ok(()), streaks: BTreeMap::new() }
    }

    /// Ends the trace and says whether all of it could be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.written?;
        match self.form {
            // What people see next is something else.
            TraceForm::Text => writeln!(self.out)?,
            TraceForm::Jsonl => {}
        }
        self.out.flush()
    }

    fn tell(&mut self, at: Moment, event: Event) {
        if self.written.is_ok() {
            let line = Line { turn: at.turn, at: at.time.since(Time::ZERO).to_string(), event };
            self.written = match self.form {
                TraceForm::Text => writeln!(self.out, "{line}"),
                TraceForm::Jsonl => serde_json::to_writer(&mut self.out, &line)
                    .map_err(io::Error::from)
                    .and_then(|()| writeln!(self.out)),
            };
        }
    }

    /// How many outcomes in a row count as this one does, this one included.
    fn streak(&mut self, attempt: &Attempt) -> u32 {
        let evidence = attempt.outcome.evidence();
        let (latest, streak) = self.streaks.entry((attempt.replica, attempt.rule)).or_insert((evidence, 0));
        if *latest != evidence {
            (*latest, *streak) = (evidence, 0);
        }
        *streak += 1;
        *streak
    }
}

impl<W: Write> Observer for Trace<W> {
    fn opened(&mut self, at: Moment, replica: usize, opening: Opening) {
        for rule in RuleKind::ALL {
            self.streaks.remove(&(replica, rule));
        }
        let why = match opening {
            Opening::Warm => "warm",
            Opening::Planned(_) => "planned",
            Opening::Restart(_) => "restart",
        };
        self.tell(at, Event::Opened { replica, why });
    }

    fn attempted(&mut self, at: Moment, attempt: &Attempt) {
        let streak = self.streak(attempt);
        let event = Event::Attempt {
            replica: attempt.replica,
            rule: attempt.rule.name(),
            asks: attempt.endpoint.path().unwrap_or("a connection"),
            outcome: attempt.outcome.name(),
            sentence: attempt.outcome.to_string(),
            streak,
            truth: truth(attempt.condition),
        };
        self.tell(at, event);
    }

    fn decided(&mut self, at: Moment, transition: &Transition, condition: Condition) {
        let event = Event::Decision {
            replica: transition.replica.index as usize,
            decision: transition.kind.name(),
            reason: transition.reason.name(),
            sentence: transition.reason.to_string(),
            truth: truth(condition),
        };
        self.tell(at, event);
    }

    fn fleet_decided(&mut self, at: Moment, transition: &FleetTransition) {
        let event = Event::FleetDecision {
            decision: transition.kind.name(),
            reason: transition.reason.name(),
            sentence: transition.reason.to_string(),
        };
        self.tell(at, event);
    }

    fn passed(&mut self, at: Moment, turn: &Turn<'_>) {
        let kinds = RequestKind::ALL.map(|kind| turn.traffic.kinds[kind]);
        let event = Event::Turn {
            in_pool: turn.replicas.iter().filter(|member| member.standing == Standing::In).count(),
            requests: kinds.iter().map(|tally| tally.sent).sum(),
            failed: kinds.iter().map(|tally| tally.dropped).sum(),
            lost_silently: kinds.iter().map(|tally| tally.lost_silently).sum(),
        };
        self.tell(at, event);
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turn, at, event } = self;
        write!(f, "turn {turn} ({at}): ")?;
        match event {
            Event::Opened { replica, why } => write!(f, "replica {replica} is opened: {why}"),
            Event::Attempt { replica, rule, asks, sentence, streak, truth, .. } => {
                write!(f, "replica {replica}: {rule} asks {asks}: {sentence}, {streak} in a row (it is {truth})")
            }
            Event::Decision { replica, decision, sentence, truth, .. } => {
                write!(f, "replica {replica}: {decision}: {sentence} (it is {truth})")
            }
            Event::FleetDecision { decision, sentence, .. } => write!(f, "fleet: {decision}: {sentence}"),
            Event::Turn { in_pool, requests, failed, lost_silently } => {
                write!(f, "{in_pool} in the pool; of {requests} requests {failed} fail")?;
                if *lost_silently > 0 { write!(f, " and {lost_silently} are lost silently") } else { Ok(()) }
            }
        }
    }
}

fn truth(condition: Condition) -> String {
    condition.states().map(|state| state.name()).collect::<Vec<_>>().join(" and ")
}
