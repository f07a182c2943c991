//! What a list of answers comes to, read from its beginning.

use probe_policy::engine::{Evidence, FailureWindow, OutcomeClass, Rule, Time};

/// The longest window of failures.
pub const LONGEST: usize = 8;

/// What was answered, from the beginning.
#[derive(Default)]
pub struct Answers {
    entries: Vec<Entry>,
    judgement: Judgement,
}

/// What happened to a rule at a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// What was concluded before, where the list was cut.
    Before(Judgement),
    Heard(OutcomeClass, Time),
    /// From here on so many failures or passes decide.
    Terms(Terms),
    /// The rule did not ask for a while.
    Rested,
    /// Something else is asked.
    AskedAnew,
    /// Something else is asked, and is to be passed before what was concluded counts again.
    Proving(Proof),
}

/// What a list of answers comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    pub fails: u32,
    pub passes: u32,
    pub verdict: Option<Evidence>,
    pub last: Option<OutcomeClass>,
    /// When the latest failure was heard.
    pub failed_at: Option<Time>,
    /// The same, when it was concluded that it fails.
    pub fails_since: Option<Time>,
    /// The container has passed what is asked.
    pub has_passed: bool,
    pub proof: Proof,
    /// Which of the latest answers were failures, the latest first.
    failures: [bool; LONGEST],
    terms: Terms,
}

/// Whether what was concluded counts since an edit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Proof {
    #[default]
    Given,
    /// It does not: the container is out until it passes.
    Preparing,
    /// That depends on whose turn it is, which nobody knows here.
    Unknown,
}

/// How many failures or passes decide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    failure: u32,
    success: u32,
    window: Option<FailureWindow>,
}

impl Answers {
    pub fn of(entries: impl IntoIterator<Item = Entry>) -> Self {
        let entries: Vec<_> = entries.into_iter().collect();
        Self { judgement: read(&entries), entries }
    }

    pub fn judgement(&self) -> Judgement {
        self.judgement
    }

    pub fn add(&mut self, entry: Entry) {
        if self.entries.len() > 100 {
            self.entries = vec![Entry::Before(self.judgement)];
        }
        self.entries.push(entry);
        self.judgement = read(&self.entries);
    }

    pub fn add_once(&mut self, entry: Entry) {
        if self.entries.last() != Some(&entry) {
            self.add(entry);
        }
    }

    /// From here on so many failures or passes decide, if they did not before.
    pub fn judge_by(&mut self, terms: Terms) {
        if self.judgement.terms != terms {
            self.add(Entry::Terms(terms));
        }
    }
}

/// Reads a list of answers from its beginning.
fn read(entries: &[Entry]) -> Judgement {
    let mut all = Judgement::default();
    for entry in entries {
        match entry {
            Entry::Before(before) => all = *before,
            Entry::Terms(terms) => all.terms = *terms,
            Entry::Rested => (all.fails, all.passes, all.failures) = (0, 0, [false; LONGEST]),
            Entry::AskedAnew => {
                let proof = if all.proof == Proof::Unknown { Proof::Unknown } else { Proof::Given };
                let Judgement { verdict, terms, .. } = all;
                all = Judgement { verdict, proof, terms, ..Judgement::default() };
            }
            Entry::Proving(proof) => {
                if all.proof != Proof::Unknown {
                    all.proof = *proof;
                }
                all.verdict = all.verdict.filter(|_| all.proof != Proof::Preparing);
            }
            Entry::Heard(class, at) => match class.evidence() {
                Evidence::Pass => {
                    (all.passes, all.fails, all.last, all.has_passed) = (all.passes + 1, 0, Some(*class), true);
                    all.failures.rotate_right(1);
                    all.failures[0] = false;
                }
                Evidence::Fail => {
                    (all.fails, all.passes, all.last) = (all.fails + 1, 0, Some(*class));
                    all.failed_at = Some(*at);
                    all.failures.rotate_right(1);
                    all.failures[0] = true;
                }
                Evidence::Nothing => {}
            },
        }
        let terms = all.terms;
        if terms.failure > 0 && all.fails(terms) {
            all.fails_since = all.fails_since.filter(|_| all.verdict == Some(Evidence::Fail)).or(all.failed_at);
            all.verdict = Some(Evidence::Fail);
        } else if terms.success > 0 && all.passes >= terms.success {
            (all.verdict, all.proof) = (Some(Evidence::Pass), Proof::Given);
        }
    }
    all
}

impl Judgement {
    /// So many failures in a row, or so many of the latest.
    pub fn is_failing(&self, rule: &Rule) -> bool {
        self.fails(Terms::of(rule))
    }

    fn fails(&self, terms: Terms) -> bool {
        let is_filled = |window: FailureWindow| {
            let failures = self.failures.iter().take(window.attempts as usize).filter(|is_failure| **is_failure);
            failures.count() as u32 >= window.failures
        };
        self.fails >= terms.failure || terms.window.is_some_and(is_filled)
    }
}

impl Terms {
    pub fn of(rule: &Rule) -> Self {
        Self {
            failure: rule.failure_threshold.get(),
            success: rule.success_threshold.get(),
            window: rule.failure_window,
        }
    }
}
