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
    OwnerScaled: "an owner is scaled",
    RevisionRolled: "a revision is rolled out",
    NodeNotReady: "a node reports no more",
    Unselected: "a label is edited",
    PolicyEdited: "a policy is edited",
    PolicyBroken: "a policy makes no sense",
    PolicyDeleted: "a policy is deleted",
    Stuck: "a process is stuck",
    DependencyLost: "a dependency is lost",
    NeverStarts: "a container never starts",
}

/// How an effect went, as far as it is counted apart.
const RESULTS: [&str; 3] = ["applied", "refused", "unknown"];

/// How often effects met faults, by rule and result; and how much was done in all.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    met: [[[u64; RESULTS.len()]; RuleKind::ALL.len()]; Fault::ALL.len()],
    pub steps: u64,
    pub attempts: u64,
    pub restarts: u64,
    pub trials: u64,
    pub given_up: u64,
    pub held_by_floor: u64,
    pub held_by_sharing: u64,
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
        self.steps += other.steps;
        self.attempts += other.attempts;
        self.restarts += other.restarts;
        self.trials += other.trials;
        self.given_up += other.given_up;
        self.held_by_floor += other.held_by_floor;
        self.held_by_sharing += other.held_by_sharing;
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

    fn sums(&self) -> [(&'static str, u64); 7] {
        [
            ("steps", self.steps),
            ("attempts", self.attempts),
            ("restarts", self.restarts),
            ("trials of a breaker", self.trials),
            ("steps with a seat given up", self.given_up),
            ("steps with a replica held by the floor", self.held_by_floor),
            ("steps with a replica held for a shared failure", self.held_by_sharing),
        ]
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
