//! The exec kind: a command in the container.

use std::fmt;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::api::checks::Check;
use crate::api::convert::SpecError;

/// A command in the container, as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecSpec {
    /// The program and its arguments, without a shell: from 1 to 64, each at most 4096 bytes. What it writes is not read.
    #[schemars(length(max = 64), inner(length(max = 4096)))]
    #[x_kube(validation = COMMAND.rule())]
    pub command: Vec<String>,
}

/// A command in the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exec {
    command: Vec<String>,
}

impl Exec {
    pub(super) fn parse(at: &str, spec: &ExecSpec) -> Result<Self, SpecError> {
        COMMAND.parse(format_args!("{at}.command"), &spec.command)?;
        Ok(Self { command: spec.command.clone() })
    }

    /// The program and its arguments.
    pub fn command(&self) -> &[String] {
        &self.command
    }
}

impl fmt::Display for Exec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "exec {:?}", self.command)
    }
}

const COMMAND: Check<Vec<String>> = Check {
    cel: "self.size() >= 1 && self[0].size() >= 1",
    member: "",
    sentence: "must name a program, and then its arguments, in at most 64 parts of at most 4096 bytes",
    parse: |command| {
        let named = command.first().is_some_and(|program| !program.is_empty());
        let short = command.len() <= 64 && command.iter().all(|part| part.len() <= 4096);
        (named && short).then_some(())
    },
};
