//! What a health body says of the components that a rule reads.
//!
//! ```json
//! {"status": "fail", "checks": {
//!   "loop":     [{"status": "pass", "scope": "process"}],
//!   "database": [{"status": "fail", "scope": "shared"}]}}
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::api::{ComponentScope, HealthBody};
use crate::engine::OutcomeClass;

/// As much of a body as a rule may read.
#[derive(Deserialize)]
struct Body {
    checks: BTreeMap<String, Checks>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Checks {
    Several(Vec<Check>),
    One(Check),
}

#[derive(Deserialize)]
struct Check {
    status: String,
    scope: Option<String>,
}

/// Passed if all that the rule reads is there and well; a body that says nothing of it is a bad one.
pub(super) fn class(body: &[u8], health: &HealthBody) -> OutcomeClass {
    let Ok(Body { checks }) = serde_json::from_slice(body) else { return OutcomeClass::BadBody };
    let all_named = health.components.iter().all(|name| checks.contains_key(name));
    let read: Vec<&Check> = checks
        .iter()
        .flat_map(|(name, checks)| checks.all().iter().map(move |check| (name, check)))
        .filter(|(name, check)| health.components.contains(name) || in_scope(check, health))
        .map(|(_, check)| check)
        .collect();
    if !all_named || read.is_empty() {
        OutcomeClass::BadBody
    } else if read.into_iter().all(is_well) {
        OutcomeClass::Passed
    } else {
        OutcomeClass::NotServing
    }
}

impl Checks {
    fn all(&self) -> &[Check] {
        match self {
            Self::Several(checks) => checks,
            Self::One(check) => std::slice::from_ref(check),
        }
    }
}

fn in_scope(check: &Check, health: &HealthBody) -> bool {
    let is = |name| check.scope.as_ref().is_some_and(|scope| scope.eq_ignore_ascii_case(name));
    health.scopes.iter().any(|scope| match scope {
        ComponentScope::Process => is("process"),
        ComponentScope::Path => is("path"),
        ComponentScope::Shared => is("shared"),
    })
}

/// A warning is no failure. Whatever else a check says is.
fn is_well(check: &Check) -> bool {
    ["pass", "ok", "up", "warn"].iter().any(|well| well.eq_ignore_ascii_case(&check.status))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::test_support::get;

    #[test]
    fn one_body_answers_every_rule_for_itself() {
        use OutcomeClass::{BadBody, NotServing, Passed};
        let body = json!({"status": "fail", "version": "1", "checks": {
            "loop": [{"status": "pass", "scope": "process", "time": "2026-01-02T15:04:05Z"}],
            "disk:write": {"status": "WARN", "scope": "path"},
            "database": [{"status": "pass", "scope": "shared"}, {"status": "fail", "scope": "shared"}],
            "cache": [{"status": "down"}],
            "odd": [{"status": "who knows", "scope": "odd"}],
            "none": [],
        }});
        for (health, expected) in [
            (json!({"scopes": ["Process"]}), Passed),
            (json!({"scopes": ["Process", "Path"]}), Passed),
            (json!({"scopes": ["Shared"]}), NotServing),
            (json!({"scopes": ["Process", "Path", "Shared"]}), NotServing),
            (json!({"components": ["loop"]}), Passed),
            (json!({"components": ["loop", "disk:write"]}), Passed),
            (json!({"components": ["database"]}), NotServing),
            (json!({"components": ["cache"]}), NotServing),
            (json!({"components": ["odd"]}), NotServing),
            (json!({"components": ["cache"], "scopes": ["Process"]}), NotServing),
            (json!({"components": ["none"]}), BadBody),
            (json!({"components": ["loop", "queue"]}), BadBody),
        ] {
            let get = get(json!({"health": health}));
            assert_eq!(class(body.to_string().as_bytes(), get.health().unwrap()), expected, "{health}");
        }
    }

    #[test]
    fn what_is_no_health_body_is_a_bad_one() {
        let get = get(json!({"health": {"scopes": ["Process"]}}));
        for body in [
            &b""[..],
            b"ok",
            b"{}",
            b"[]",
            br#"{"checks": []}"#,
            br#"{"checks": {}}"#,
            br#"{"checks": {"loop": [{"scope": "process"}]}}"#,
            br#"{"checks": {"loop": [{"status": "pass"}]}}"#,
            br#"{"checks": {"loop": [{"status": "pass", "scope": "process"}]}"#,
            br#"{"checks": {"loop": [{"status": "pass", "scope": "process"}]}} more"#,
            b"\xff",
        ] {
            assert_eq!(class(body, get.health().unwrap()), OutcomeClass::BadBody, "{body:?}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(class(deep.as_bytes(), get.health().unwrap()), OutcomeClass::BadBody);
    }
}
