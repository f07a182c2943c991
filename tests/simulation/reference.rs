//! A naive model of how replicas are judged: it keeps every answer of a container in a list, and reads the list from its
//! beginning whenever it is asked. No schedules, no agendas, no shortcuts; written from the documents, not from the engine.

use std::collections::BTreeMap;

use probe_policy::engine::{
    AttemptId, Evidence, GateSeen, Incarnation, Lifecycle, Mode, Outcome, OutcomeClass, PerRule, Policy, Question,
    ReplicaKey, RuleKind, Span, Time,
};

use super::cluster::Pod;

/// How long after its deadline an answer is still taken.
const OVERDUE: Span = Span::from_secs(5);

/// What a controller has been told so far.
#[derive(Default)]
pub struct Reference {
    pub replicas: BTreeMap<u32, Naive>,
    /// The rules that somebody has passed as they are asked now.
    pub ever_passed: PerRule<bool>,
    questions: Option<PerRule<Option<Question>>>,
}

/// One replica.
pub struct Naive {
    pub key: ReplicaKey,
    pub container: Incarnation,
    /// That container has finished starting.
    pub started: bool,
    pub files: PerRule<Option<File>>,
}

/// What one rule knows of one container.
pub struct File {
    question: Question,
    entries: Vec<Entry>,
    /// Attempts under way, in the order in which they began.
    under_way: Vec<(u32, Time)>,
    /// When those began that a rule asked in its present form.
    began: Vec<Time>,
    judgement: Judgement,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// What was concluded before, where the list was cut.
    Before(Judgement),
    Heard(OutcomeClass),
    /// From here on so many failures or passes decide.
    Thresholds {
        failure: u32,
        success: u32,
    },
    /// The rule did not ask for a while.
    Rested,
    /// Something else is asked.
    AskedAnew,
}

/// What a list of answers comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    pub fails: u32,
    pub passes: u32,
    pub verdict: Option<Evidence>,
    pub last: Option<OutcomeClass>,
    thresholds: (u32, u32),
}

impl Reference {
    /// A rule that asks something else has been passed by nobody.
    pub fn told_policy(&mut self, spec: &Policy) {
        let questions = PerRule::from_fn(|kind| spec.rule(kind).map(|rule| rule.question));
        for kind in RuleKind::ALL {
            self.ever_passed[kind] &= self.questions.is_none_or(|before| before[kind] == questions[kind]);
        }
        self.questions = Some(questions);
        for naive in self.replicas.values_mut() {
            for kind in RuleKind::ALL {
                naive.files[kind].iter_mut().for_each(|file| file.began.clear());
            }
        }
    }

    /// The policy is gone, and with it what it knew.
    pub fn lost_policy(&mut self) {
        (self.ever_passed, self.questions) = (PerRule::default(), None);
    }

    pub fn told_replica(&mut self, pod: &Pod, remembered: bool) {
        let new = || Naive { key: pod.key, container: pod.incarnation, started: remembered, files: PerRule::default() };
        let naive = self.replicas.entry(pod.key.index).or_insert_with(new);
        if naive.key != pod.key || naive.container != pod.incarnation {
            *naive = new();
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
        let may_ask = naive.may_ask(spec, pod)[attempt.rule];
        let Some(file) = naive.files[attempt.rule].as_mut() else { return };
        let Some(place) = file.under_way.iter().position(|(serial, _)| *serial == attempt.serial) else { return };
        let (_, deadline) = file.under_way.remove(place);
        if deadline + OVERDUE <= at || !may_ask {
            return;
        }
        file.add(Entry::Heard(outcome.class));
        if outcome.class.evidence() == Evidence::Pass {
            file.under_way.drain(..place);
            self.ever_passed[attempt.rule] = true;
            naive.started |= attempt.rule == RuleKind::Startup || !has_startup;
        }
    }

    /// All that was told is looked at. `shown` are the pods by index, as they were told.
    pub fn polled(&mut self, spec: Option<&Policy>, shown: &BTreeMap<u32, Pod>, now: Time) {
        for (index, naive) in &mut self.replicas {
            let pod = &shown[index];
            let spec = spec.filter(|_| pod.is_selected);
            naive.settle(spec);
            let may_ask = spec.map(|spec| naive.may_ask(spec, pod)).unwrap_or_default();
            for kind in RuleKind::ALL {
                if let Some(file) = naive.files[kind].as_mut() {
                    file.under_way.retain(|(_, deadline)| *deadline + OVERDUE > now);
                    if !may_ask[kind] {
                        file.began.clear();
                        file.under_way.clear();
                        file.add_once(Entry::Rested);
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
            let file = self.files[kind].get_or_insert_with(|| File {
                question: rule.question,
                entries: Vec::new(),
                under_way: Vec::new(),
                began: Vec::new(),
                judgement: Judgement::default(),
            });
            if file.question != rule.question {
                file.question = rule.question;
                file.under_way.clear();
                file.add(Entry::AskedAnew);
            }
            let thresholds = (rule.failure_threshold.get(), rule.success_threshold.get());
            if file.judgement.thresholds != thresholds {
                file.add(Entry::Thresholds { failure: thresholds.0, success: thresholds.1 });
            }
        }
        if spec.is_some_and(|spec| spec.rule(RuleKind::Startup).is_none()) {
            self.started |= RuleKind::ALL.iter().any(|kind| self.judgement(*kind).passes > 0);
        }
    }

    /// What a rule holds of the container; of one that is not asked, nothing.
    pub fn judgement(&self, kind: RuleKind) -> Judgement {
        self.files[kind].as_ref().map(|file| file.judgement).unwrap_or_default()
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
        pod.runs() || RuleKind::ALL.iter().all(|kind| spec.rule(*kind).is_none())
    }

    pub fn may_ask(&self, spec: &Policy, pod: &Pod) -> PerRule<bool> {
        let may = spec.mode != Mode::Paused && pod.lifecycle == Lifecycle::Live && pod.runs();
        let has_startup = spec.rule(RuleKind::Startup).is_some();
        PerRule {
            startup: may && !self.started,
            liveness: may && (self.started || !has_startup),
            readiness: may && (self.started || !has_startup),
        }
    }

    /// Judged by the liveness rule, and how: what a breaker counts.
    pub fn liveness(&self, spec: &Policy, pod: &Pod) -> Option<Evidence> {
        let counts = self.started && counts(spec, pod);
        self.judgement(RuleKind::Liveness).last.filter(|_| counts).map(OutcomeClass::evidence)
    }

    /// Judged by the readiness rule, and how: what a shared failure is told by.
    pub fn readiness(&self, spec: &Policy, pod: &Pod) -> Option<OutcomeClass> {
        let may = self.started || spec.rule(RuleKind::Startup).is_none();
        let counts = may && counts(spec, pod);
        self.judgement(RuleKind::Readiness).last.filter(|_| counts)
    }

    /// A rule is at its threshold and asks for a restart.
    pub fn wants_restart(&self, rule: RuleKind, spec: &Policy, pod: &Pod) -> bool {
        let is_failing = |rule: RuleKind| {
            let threshold = spec.rule(rule).map(|rule| rule.failure_threshold.get());
            threshold.is_some_and(|threshold| self.judgement(rule).fails >= threshold)
        };
        spec.mode == Mode::Enforce && self.may_ask(spec, pod)[rule] && is_failing(rule)
    }

    /// Whether its gate is ours to move.
    pub fn is_gated(pod: &Pod) -> bool {
        pod.gate != GateSeen::Ungated && pod.lifecycle == Lifecycle::Live
    }
}

impl File {
    fn add(&mut self, entry: Entry) {
        if self.entries.len() > 100 {
            self.entries = vec![Entry::Before(self.judgement)];
        }
        self.entries.push(entry);
        self.judgement = read(&self.entries);
    }

    fn add_once(&mut self, entry: Entry) {
        if self.entries.last() != Some(&entry) {
            self.add(entry);
        }
    }
}

/// Who is paused, down or being ended is in no ratio.
fn counts(spec: &Policy, pod: &Pod) -> bool {
    spec.mode != Mode::Paused && pod.runs() && pod.lifecycle == Lifecycle::Live
}

/// Reads a list of answers from its beginning.
fn read(entries: &[Entry]) -> Judgement {
    let mut all = Judgement::default();
    for entry in entries {
        match entry {
            Entry::Before(before) => all = *before,
            Entry::Thresholds { failure, success } => all.thresholds = (*failure, *success),
            Entry::Rested => (all.fails, all.passes) = (0, 0),
            Entry::AskedAnew => (all.fails, all.passes, all.last) = (0, 0, None),
            Entry::Heard(class) => match class.evidence() {
                Evidence::Pass => (all.passes, all.fails, all.last) = (all.passes + 1, 0, Some(*class)),
                Evidence::Fail => (all.fails, all.passes, all.last) = (all.fails + 1, 0, Some(*class)),
                Evidence::Nothing => {}
            },
        }
        let (failure, success) = all.thresholds;
        if failure > 0 && all.fails >= failure {
            all.verdict = Some(Evidence::Fail);
        } else if success > 0 && all.passes >= success {
            all.verdict = Some(Evidence::Pass);
        }
    }
    all
}
