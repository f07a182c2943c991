//! What was reached: every kind of fault, with every rule, with every way an effect can go.

use std::fmt;

use probe_policy::engine::{EffectResult, RuleKind, Span, Time};

/// How long after it happened a fault counts as one of those that an effect met.
const LASTS: Span = Span::from_secs(10);

macro_rules! faults {
    ($($fault:ident: $doc:literal,)*) => {
        /// What the world does to a controller and to what it looks after.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $(#[doc = $doc] $fault,)*
        }

        impl Fault {
            pub const ALL: [(Self, &'static str); [$($doc),*].len()] = [$((Self::$fault, $doc)),*];
        }
    };
}

faults! {
    AnswerLost: "an answer never comes",
    AnswerLate: "an answer comes after the deadline",
    ProberError: "an attempt fails on our side",
    WatchCut: "a watch is cut",
    Killed: "the controller is killed",
    Elected: "another controller is elected",
    Frozen: "the process is frozen",
    ClockStepped: "the wall clock is stepped",
    ContainerReplaced: "a container is replaced",
    ContainerDown: "a container ends",
    CrashLoop: "a container backs off",
    PodDeleted: "a pod is deleted",
    PodPaused: "a pod is paused",
    PolicyPaused: "a policy is paused",
    BeatsStopped: "a pod beats no more",
    Deregistered: "a pod says that it goes",
    PathCut: "the path to a node is cut",
    StoreLost: "what many need goes or comes back",
    OwnerScaled: "an owner is scaled",
    RevisionRolled: "a revision is rolled out",
    NodeNotReady: "a node reports no more",
    Unselected: "a label is edited",
    PolicyEdited: "a policy is edited",
    PolicyBroken: "a policy makes no sense",
    PolicyDeleted: "a policy is deleted",
    Stuck: "a process is stuck",
    DependencyLost: "a dependency is lost",
    ComesAndGoes: "a process comes and goes",
    NeverStarts: "a container never starts",
}

/// How an effect went, as far as it is counted apart.
const RESULTS: [&str; 3] = ["applied", "refused", "unknown"];

macro_rules! coverage {
    ($($sum:ident: $doc:literal,)*) => {
        /// How often effects met faults, by rule and result; and how much was done in all.
        #[derive(Clone, Debug, Default)]
        pub struct Coverage {
            met: [[[u64; RESULTS.len()]; RuleKind::ALL.len()]; Fault::ALL.len()],
            $(#[doc = $doc] pub $sum: u64,)*
        }

        impl Coverage {
            fn add_sums(&mut self, other: &Self) {
                $(self.$sum += other.$sum;)*
            }

            fn sums(&self) -> [(&'static str, u64); [$($doc),*].len()] {
                [$(($doc, self.$sum)),*]
            }
        }
    };
}

coverage! {
    steps: "steps",
    attempts: "attempts",
    restarts: "restarts",
    trials: "trials of a breaker",
    shared_restarts: "steps with a restart that waits for what a node or a revision shares",
    over_budget: "steps with a restart that waits for the budget",
    given_up: "steps with a seat given up",
    held_by_floor: "steps with a replica held by the floor",
    held_by_sharing: "steps with a replica held for a shared failure",
    held_by_dependency: "steps with a replica held for what it depends on",
    asked_first: "steps with an ejection that waits for what a dependency says",
    blameless: "steps with a restart that waits for a dependency",
    missed: "replicas ejected for their silence",
    held_in_silence: "steps with a silent replica held in the pool",
    failed_often: "replicas ejected for failures that are not in a row",
    dwelt: "steps with a gate that stays for a while where it was turned",
    rolled: "steps with a replica that awaits its turn",
    prepared: "steps with a replica that is out until it passes what an edit asks",
    paused: "steps with a replica paused",
    stretched: "steps with periods stretched",
}

/// When each kind of fault happened last.
#[derive(Clone, Debug, Default)]
pub struct Recent([Option<Time>; Fault::ALL.len()]);

impl Recent {
    pub fn note(&mut self, fault: Fault, now: Time) {
        self.0[fault as usize] = Some(now);
    }
}

impl Coverage {
    /// An effect that a rule wanted went so.
    pub fn meet(&mut self, recent: &Recent, rule: RuleKind, result: EffectResult, now: Time) {
        let column = match result {
            EffectResult::Applied => 0,
            EffectResult::Refused(_) => 1,
            EffectResult::Unknown => 2,
        };
        for (row, at) in self.met.iter_mut().zip(recent.0) {
            if at.is_some_and(|at| now.since(at) <= LASTS) {
                row[rule as usize][column] += 1;
            }
        }
    }

    /// Takes what was reached elsewhere as well.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in
            self.met.as_flattened_mut().as_flattened_mut().iter_mut().zip(other.met.as_flattened().as_flattened())
        {
            *mine += theirs;
        }
        self.add_sums(other);
    }

    /// What was never reached.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        for ((fault, row), _) in Fault::ALL.iter().zip(&self.met).zip(0..) {
            for rule in RuleKind::ALL {
                for (result, count) in RESULTS.iter().zip(row[rule as usize]) {
                    if count == 0 {
                        gaps.push(format!("{}, {rule}, {result}", fault.1));
                    }
                }
            }
        }
        for (what, count) in self.sums() {
            if count == 0 {
                gaps.push(what.to_owned());
            }
        }
        gaps
    }
}

/// A table in Markdown.
impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in self.sums() {
            writeln!(f, "{what}: {count}")?;
        }
        write!(f, "\n| fault |")?;
        for rule in RuleKind::ALL {
            for result in RESULTS {
                write!(f, " {rule} {result} |")?;
            }
        }
        writeln!(f, "\n|---|{}", "--:|".repeat(RuleKind::ALL.len() * RESULTS.len()))?;
        for ((_, fault), row) in Fault::ALL.iter().zip(&self.met) {
            write!(f, "| {fault} |")?;
            for count in row.as_flattened() {
                write!(f, " {count} |")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
