//! A naive model of how replicas are judged: it keeps every answer of a container in a list, and reads the list from its
//! beginning whenever it is asked. No schedules, no agendas, no shortcuts; written from the documents, not from the engine.

mod dependencies;
mod judgement;

use std::collections::BTreeMap;

use probe_policy::engine::{
    AttemptId, Evidence, GateSeen, Incarnation, Lifecycle, Mode, OnPolicyChange, Outcome, OutcomeClass, PerRule,
    Policy, Question, ReplicaKey, RuleKind, Span, Time,
};

use super::beats::Beats;
use super::cluster::Pod;
pub use dependencies::Dependencies;
use judgement::{Answers, Entry, Terms};
pub use judgement::{Judgement, LONGEST, Proof};

/// How long after its deadline an answer is still taken.
const OVERDUE: Span = Span::from_secs(5);

/// What a controller has been told so far.
#[derive(Default)]
pub struct Reference {
    pub replicas: BTreeMap<u32, Naive>,
    /// The rules that somebody has passed as they are asked now.
    pub ever_passed: PerRule<bool>,
    /// Somebody has beaten.
    pub ever_beat: bool,
    /// What replicas need and are not.
    pub dependencies: Dependencies,
    /// Beats until then may not have been heard.
    pub deaf_until: Time,
    questions: Option<PerRule<Option<Question>>>,
}

/// One replica.
pub struct Naive {
    pub key: ReplicaKey,
    pub container: Incarnation,
    /// That container has finished starting.
    pub started: bool,
    pub files: PerRule<Option<File>>,
    /// What it says by itself; `None` without a heartbeat rule.
    pub beats: Option<Beats>,
    /// It was looked at under some policy.
    is_settled: bool,
}

/// What a replica says by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// That it is there.
    Beat,
    /// That it goes.
    Goes,
}

/// What one rule knows of one container.
pub struct File {
    question: Question,
    answers: Answers,
    /// Attempts under way, in the order in which they began.
    under_way: Vec<(u32, Time)>,
    /// When those began that a rule asked in its present form.
    began: Vec<Time>,
}

impl Reference {
    /// A rule that asks something else has been passed by nobody.
    pub fn told_policy(&mut self, spec: &Policy) {
        let questions = PerRule::from_fn(|kind| spec.rule(kind).map(|rule| rule.question));
        for kind in RuleKind::ALL {
            self.ever_passed[kind] &= self.questions.is_none_or(|before| before[kind] == questions[kind]);
        }
        self.questions = Some(questions);
        self.ever_beat &= spec.heartbeat.is_some();
        self.dependencies.told(&spec.dependencies);
        for naive in self.replicas.values_mut() {
            for kind in RuleKind::ALL {
                naive.files[kind].iter_mut().for_each(|file| file.began.clear());
            }
        }
    }

    /// The policy is gone, and with it what it knew.
    pub fn lost_policy(&mut self) {
        (self.ever_passed, self.questions, self.ever_beat) = (PerRule::default(), None, false);
        self.dependencies = Dependencies::default();
    }

    pub fn told_replica(&mut self, pod: &Pod, remembered: bool) {
        let new = || Naive {
            key: pod.key,
            container: pod.incarnation,
            started: remembered,
            files: PerRule::default(),
            beats: None,
            is_settled: false,
        };
        let naive = self.replicas.entry(pod.key.index).or_insert_with(new);
        if naive.key != pod.key || naive.container != pod.incarnation {
            *naive = new();
        }
    }

    /// A replica is kept by a policy of that spec, or by none.
    pub fn seen(&mut self, index: u32, spec: Option<&Policy>) {
        if let Some(naive) = self.replicas.get_mut(&index) {
            naive.settle(spec);
        }
    }

    pub fn told_gone(&mut self, index: u32) {
        self.replicas.remove(&index);
    }

    pub fn began(&mut self, attempt: AttemptId, deadline: Time, now: Time) {
        let naive = self.replicas.get_mut(&attempt.replica.index).filter(|naive| naive.key == attempt.replica);
        if let Some(file) = naive.and_then(|naive| naive.files[attempt.rule].as_mut()) {
            file.under_way.push((attempt.serial, deadline));
            file.began.push(now);
        }
    }

    /// Takes an answer; says whether it counted.
    pub fn heard(&mut self, attempt: AttemptId, outcome: Outcome, spec: Option<&Policy>, pod: Option<&Pod>, at: Time) {
        let Some((spec, pod)) = spec.zip(pod) else { return };
        let Some(naive) = self.replicas.get_mut(&attempt.replica.index).filter(|naive| naive.key == attempt.replica)
        else {
            return;
        };
        naive.settle(Some(spec));
        let has_startup = spec.rule(RuleKind::Startup).is_some();
        let may_ask = naive.may_ask(spec, pod, at)[attempt.rule];
        let Some(file) = naive.files[attempt.rule].as_mut() else { return };
        let Some(place) = file.under_way.iter().position(|(serial, _)| *serial == attempt.serial) else { return };
        let (_, deadline) = file.under_way.remove(place);
        if deadline + OVERDUE <= at || !may_ask {
            return;
        }
        file.answers.add(Entry::Heard(outcome.class, at));
        if outcome.class.evidence() == Evidence::Pass {
            file.under_way.drain(..place);
            self.ever_passed[attempt.rule] = true;
            naive.started |= attempt.rule == RuleKind::Startup || !has_startup;
        }
    }

    /// Takes what a replica says by itself.
    pub fn heard_by_itself(&mut self, word: Word, spec: Option<&Policy>, pod: &Pod, at: Time) {
        let Some(naive) = self.replicas.get_mut(&pod.key.index) else { return };
        naive.settle(spec);
        let Some(beats) = naive.beats.as_mut() else { return };
        match word {
            Word::Goes => beats.deregister(),
            Word::Beat if pod.lifecycle != Lifecycle::Live || !pod.runs() => {}
            Word::Beat => {
                beats.beat(at);
                naive.settle(spec);
                if !std::mem::replace(&mut self.ever_beat, true) {
                    self.replicas.values_mut().filter_map(|other| other.beats.as_mut()).for_each(|b| b.await_first(at));
                }
            }
        }
    }

    /// All that was told is looked at. `shown` are the pods by index, as they were told.
    pub fn polled(&mut self, spec: Option<&Policy>, shown: &BTreeMap<u32, Pod>, now: Time) {
        self.dependencies.polled(spec.is_some_and(|spec| is_resting(spec, now)), now);
        for (index, naive) in &mut self.replicas {
            let pod = &shown[index];
            let spec = spec.filter(|_| pod.is_selected);
            naive.settle(spec);
            let may_ask = spec.map(|spec| naive.may_ask(spec, pod, now)).unwrap_or_default();
            naive.listen(spec, pod, self.deaf_until, now);
            for kind in RuleKind::ALL {
                if let Some(file) = naive.files[kind].as_mut() {
                    file.under_way.retain(|(_, deadline)| *deadline + OVERDUE > now);
                    if !may_ask[kind] {
                        file.began.clear();
                        file.under_way.clear();
                        file.answers.add_once(Entry::Rested);
                    }
                }
            }
        }
    }
}

impl Naive {
    /// Brings the files in line with the rules.
    fn settle(&mut self, spec: Option<&Policy>) {
        for kind in RuleKind::ALL {
            let Some(rule) = spec.and_then(|spec| spec.rule(kind)) else {
                self.files[kind] = None;
                continue;
            };
            let proof = match spec.map(|spec| spec.on_policy_change) {
                Some(OnPolicyChange::Prepare) if kind == RuleKind::Readiness => Some(Proof::Preparing),
                Some(OnPolicyChange::Rolling) if kind == RuleKind::Readiness => Some(Proof::Unknown),
                _ => None,
            };
            // Whether a rule that was added is to be proven depends on why the gate is open.
            let added = proof.filter(|_| self.is_settled).map(|_| Proof::Unknown);
            let file = self.files[kind].get_or_insert_with(|| {
                let answers = Answers::of(added.map(Entry::Proving));
                File { question: rule.question, answers, under_way: Vec::new(), began: Vec::new() }
            });
            if file.question != rule.question {
                file.question = rule.question;
                file.under_way.clear();
                file.answers.add(Entry::AskedAnew);
                if let Some(proof) = proof {
                    file.answers.add(Entry::Proving(proof));
                }
            }
            file.answers.judge_by(Terms::of(rule));
        }
        let heartbeat = spec.and_then(|spec| spec.heartbeat);
        self.beats = heartbeat.map(|_| self.beats.unwrap_or_default());
        if spec.is_some_and(|spec| spec.rule(RuleKind::Startup).is_none()) {
            self.started |= RuleKind::ALL.iter().any(|kind| self.judgement(*kind).passes > 0);
            self.started |= self.beats.is_some_and(|beats| beats.last.is_some());
        }
        self.is_settled |= spec.is_some();
    }

    /// Its silence counts while it runs, has started and nobody lets it alone.
    fn listen(&mut self, spec: Option<&Policy>, pod: &Pod, deaf_until: Time, now: Time) {
        let Some((spec, beats)) = spec.zip(self.beats.as_mut()) else { return };
        let Some(heartbeat) = spec.heartbeat else { return };
        let has_started = self.started || spec.rule(RuleKind::Startup).is_none();
        beats.listen(has_started && counts(spec, pod, now), heartbeat, deaf_until, now);
    }

    /// What a rule holds of the container; of one that is not asked, nothing.
    pub fn judgement(&self, kind: RuleKind) -> Judgement {
        self.files[kind].as_ref().map(|file| file.answers.judgement()).unwrap_or_default()
    }

    /// How many attempts of a rule are under way.
    pub fn under_way(&self, kind: RuleKind) -> usize {
        self.files[kind].as_ref().map_or(0, |file| file.under_way.len())
    }

    /// When the rule asked last, if it has settled into its period.
    pub fn asked(&self, kind: RuleKind) -> Option<Time> {
        let began = &self.files[kind].as_ref()?.began;
        began.last().copied().filter(|_| began.len() > 1)
    }

    /// Nothing that a rule looks at is down.
    pub fn is_running(&self, pod: &Pod, spec: &Policy) -> bool {
        pod.runs() || !has_rules(spec)
    }

    pub fn may_ask(&self, spec: &Policy, pod: &Pod, now: Time) -> PerRule<bool> {
        let may = counts(spec, pod, now);
        let has_startup = spec.rule(RuleKind::Startup).is_some();
        PerRule {
            startup: may && !self.started,
            liveness: may && (self.started || !has_startup),
            readiness: may && (self.started || !has_startup),
        }
    }

    /// Judged by the liveness rule, and how: what a breaker counts.
    pub fn liveness(&self, spec: &Policy, pod: &Pod, now: Time) -> Option<OutcomeClass> {
        let counts = self.started && counts(spec, pod, now);
        self.judgement(RuleKind::Liveness).last.filter(|_| counts)
    }

    /// Judged by the readiness rule, and how: what a shared failure is told by.
    pub fn readiness(&self, spec: &Policy, pod: &Pod, now: Time) -> Option<OutcomeClass> {
        let may = self.started || spec.rule(RuleKind::Startup).is_none();
        let counts = may && counts(spec, pod, now);
        self.judgement(RuleKind::Readiness).last.filter(|_| counts)
    }

    /// A rule is at its threshold and asks for a restart.
    pub fn wants_restart(&self, rule: RuleKind, spec: &Policy, pod: &Pod, now: Time) -> bool {
        let may = spec.mode == Mode::Enforce && self.may_ask(spec, pod, now)[rule];
        may && spec.rule(rule).is_some_and(|settings| self.judgement(rule).is_failing(settings))
    }

    /// Whether its gate is ours to move.
    pub fn is_gated(pod: &Pod) -> bool {
        pod.gate != GateSeen::Ungated && pod.lifecycle == Lifecycle::Live
    }
}

/// A replica, or a policy with all its replicas, is let alone. Of two pauses the longer one holds.
pub fn is_paused(spec: &Policy, pod: &Pod, now: Time) -> bool {
    is_resting(spec, now) || pod.paused_until.is_some_and(|until| until > now)
}

/// A policy lets alone whatever it would ask.
pub fn is_resting(spec: &Policy, now: Time) -> bool {
    spec.mode == Mode::Paused || spec.paused_until.is_some_and(|until| until > now)
}

/// Something is asked of a replica, or expected.
pub fn has_rules(spec: &Policy) -> bool {
    spec.heartbeat.is_some() || RuleKind::ALL.iter().any(|kind| spec.rule(*kind).is_some())
}

/// Who is paused, down or being ended is asked nothing, and is in no ratio.
fn counts(spec: &Policy, pod: &Pod, now: Time) -> bool {
    !is_paused(spec, pod, now) && pod.runs() && pod.lifecycle == Lifecycle::Live
}
