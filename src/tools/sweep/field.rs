//! The fields of a policy that can be varied: those that hold a number or a duration.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::api::{
    BudgetSpec, Duration, FailureWindowSpec, FleetSpec, HeartbeatSpec, InvalidDuration, PoolSpec, ProbePolicySpec,
    RestartSpec, RuleSpec,
};

/// A field, where it stands in a spec.
pub enum Field<'a> {
    /// A duration.
    Duration(&'a mut Duration),
    /// A whole number.
    Number(&'a mut i32),
    /// A whole number, or a text such as a percentage.
    NumberOrText(&'a mut IntOrString),
}

/// Why there is no such field in a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoField {
    /// No policy has it, or it holds something else.
    #[error(
        "holds no number and no duration of a policy; those that do are {} of startup, liveness and readiness, {} of \
         heartbeat, {} of restart, {} of pool, and {} of fleet",
        RULE.join(", "),
        HEARTBEAT.join(", "),
        RESTART.join(", "),
        POOL.join(", "),
        FLEET.join(", ")
    )]
    Unknown,
    /// This policy lacks what it belongs to.
    #[error("the policy has no {0}")]
    Absent(String),
}

/// Why a field does not take a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAValue {
    /// It holds a duration.
    #[error(transparent)]
    Duration(#[from] InvalidDuration),
    /// It holds a number.
    #[error("must be a whole number")]
    Number,
}

/// What can be varied of a rule.
const RULE: [&str; 13] = [
    "period",
    "startupPeriod",
    "fastPeriod",
    "timeout",
    "initialDelay",
    "failureThreshold",
    "successThreshold",
    "failureWindow.failures",
    "failureWindow.attempts",
    "httpGet.port",
    "httpGet.maxBody",
    "tcpSocket.port",
    "grpc.port",
];

/// What can be varied of heartbeats.
const HEARTBEAT: [&str; 1] = ["timeToLive"];

/// What can be varied of restarts.
const RESTART: [&str; 10] = [
    "maxConcurrent",
    "backoff.initial",
    "backoff.max",
    "backoff.resetAfter",
    "gracePeriod",
    "deadline",
    "loopAfter",
    "giveUpAfter",
    "budget.restarts",
    "budget.per",
];

/// What can be varied of the pool.
const POOL: [&str; 6] =
    ["minReady", "cooldown", "dwell", "ejectionBackoff.initial", "ejectionBackoff.max", "ejectionBackoff.decayAfter"];

/// What can be varied of the fleet.
const FLEET: [&str; 4] = ["breaker.openAt", "breaker.minJudged", "breaker.cooldown", "breaker.trial"];

impl<'a> Field<'a> {
    /// The field at a path from the spec, such as `liveness.period`.
    pub fn of(spec: &'a mut ProbePolicySpec, path: &str) -> Result<Self, NoField> {
        let (part, name) = path.split_once('.').ok_or(NoField::Unknown)?;
        let rule = match part {
            "startup" => &mut spec.startup,
            "liveness" => &mut spec.liveness,
            "readiness" => &mut spec.readiness,
            "heartbeat" => return Self::of_heartbeat(spec.heartbeat.as_mut(), name),
            "restart" => return Self::of_restart(&mut spec.restart, name),
            "pool" => return Self::of_pool(&mut spec.pool, name),
            "fleet" => return Self::of_fleet(&mut spec.fleet, name),
            _ => return Err(NoField::Unknown),
        };
        if !RULE.contains(&name) {
            return Err(NoField::Unknown);
        }
        let rule = rule.as_mut().ok_or_else(|| NoField::Absent(part.to_owned()))?;
        Self::of_rule(rule, name).ok_or_else(|| {
            let handler = path.rsplit_once('.').map_or(path, |(handler, _)| handler);
            NoField::Absent(handler.to_owned())
        })
    }

    fn of_rule(rule: &'a mut RuleSpec, name: &str) -> Option<Self> {
        Some(match name {
            "period" => Self::Duration(&mut rule.period),
            "startupPeriod" => Self::Duration(rule.startup_period.get_or_insert(rule.period)),
            "fastPeriod" => Self::Duration(rule.fast_period.get_or_insert(rule.period)),
            "timeout" => Self::Duration(&mut rule.timeout),
            "initialDelay" => Self::Duration(&mut rule.initial_delay),
            "failureThreshold" => Self::Number(&mut rule.failure_threshold),
            "successThreshold" => Self::Number(&mut rule.success_threshold),
            "failureWindow.failures" => Self::Number(&mut window(rule).failures),
            "failureWindow.attempts" => Self::Number(&mut window(rule).attempts),
            "httpGet.port" => Self::NumberOrText(&mut rule.http_get.as_mut()?.port),
            "httpGet.maxBody" => Self::Number(&mut rule.http_get.as_mut()?.max_body),
            "tcpSocket.port" => Self::NumberOrText(&mut rule.tcp_socket.as_mut()?.port),
            "grpc.port" => Self::NumberOrText(&mut rule.grpc.as_mut()?.port),
            _ => return None,
        })
    }

    fn of_heartbeat(heartbeat: Option<&'a mut HeartbeatSpec>, name: &str) -> Result<Self, NoField> {
        match name {
            "timeToLive" => {
                let heartbeat = heartbeat.ok_or_else(|| NoField::Absent("heartbeat".to_owned()))?;
                Ok(Self::Duration(&mut heartbeat.time_to_live))
            }
            _ => Err(NoField::Unknown),
        }
    }

    fn of_restart(restart: &'a mut RestartSpec, name: &str) -> Result<Self, NoField> {
        Ok(match name {
            "maxConcurrent" => Self::NumberOrText(&mut restart.max_concurrent),
            "budget.restarts" => Self::Number(&mut budget(restart)?.restarts),
            "budget.per" => Self::Duration(&mut budget(restart)?.per),
            "backoff.initial" => Self::Duration(&mut restart.backoff.initial),
            "backoff.max" => Self::Duration(&mut restart.backoff.max),
            "backoff.resetAfter" => Self::Duration(&mut restart.backoff.reset_after),
            "gracePeriod" => Self::Duration(&mut restart.grace_period),
            "deadline" => Self::Duration(&mut restart.deadline),
            "loopAfter" => Self::Number(&mut restart.loop_after),
            "giveUpAfter" => Self::Number(&mut restart.give_up_after),
            _ => return Err(NoField::Unknown),
        })
    }

    fn of_pool(pool: &'a mut PoolSpec, name: &str) -> Result<Self, NoField> {
        Ok(match name {
            "minReady" => Self::NumberOrText(&mut pool.min_ready),
            "cooldown" => Self::Duration(&mut pool.cooldown),
            "dwell" => Self::Duration(&mut pool.dwell),
            "ejectionBackoff.initial" => Self::Duration(&mut pool.ejection_backoff.initial),
            "ejectionBackoff.max" => Self::Duration(&mut pool.ejection_backoff.max),
            "ejectionBackoff.decayAfter" => Self::Duration(&mut pool.ejection_backoff.decay_after),
            _ => return Err(NoField::Unknown),
        })
    }

    fn of_fleet(fleet: &'a mut FleetSpec, name: &str) -> Result<Self, NoField> {
        Ok(match name {
            "breaker.openAt" => Self::NumberOrText(&mut fleet.breaker.open_at),
            "breaker.minJudged" => Self::Number(&mut fleet.breaker.min_judged),
            "breaker.cooldown" => Self::Duration(&mut fleet.breaker.cooldown),
            "breaker.trial" => Self::Duration(&mut fleet.breaker.trial),
            _ => return Err(NoField::Unknown),
        })
    }

    /// Puts a value there, written as it is in a policy. Whether the policy then makes sense is another question.
    pub fn set(self, text: &str) -> Result<(), NotAValue> {
        match self {
            Self::Duration(field) => *field = text.parse()?,
            Self::Number(field) => *field = text.parse().map_err(|_| NotAValue::Number)?,
            Self::NumberOrText(field) => {
                *field = text.parse().map_or_else(|_| IntOrString::String(text.to_owned()), IntOrString::Int);
            }
        }
        Ok(())
    }
}

fn budget(restart: &mut RestartSpec) -> Result<&mut BudgetSpec, NoField> {
    restart.budget.as_mut().ok_or_else(|| NoField::Absent("restart.budget".to_owned()))
}

/// The window of a rule; where it has none, the one that its threshold amounts to.
fn window(rule: &mut RuleSpec) -> &mut FailureWindowSpec {
    let threshold = rule.failure_threshold;
    rule.failure_window.get_or_insert(FailureWindowSpec { failures: threshold, attempts: threshold })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;

    use super::*;
    use crate::api;

    #[test]
    fn every_number_and_duration_of_the_definition_can_be_varied_and_nothing_else() {
        let version = api::crd().spec.versions.remove(0);
        let schema = version.schema.unwrap().open_api_v3_schema.unwrap();
        let mut defined = BTreeSet::new();
        collect(&schema.properties.unwrap()["spec"], "", &mut defined);
        let rules = ["startup", "liveness", "readiness"];
        let of_rules = rules.iter().flat_map(|rule| RULE.map(|name| format!("{rule}.{name}")));
        let of_heartbeat = HEARTBEAT.map(|name| format!("heartbeat.{name}"));
        let of_restart = RESTART.map(|name| format!("restart.{name}"));
        let of_pool = POOL.map(|name| format!("pool.{name}"));
        let of_fleet = FLEET.map(|name| format!("fleet.{name}"));
        let varied: BTreeSet<_> =
            of_rules.chain(of_heartbeat).chain(of_restart).chain(of_pool).chain(of_fleet).collect();
        assert_eq!(defined, varied);
        for path in varied {
            let found = Field::of(&mut everything(), &path).map(|_| ());
            let absent = ["tcpSocket", "grpc"].iter().any(|handler| path.contains(handler));
            let expected = if absent { Err(NoField::Absent(path.replace(".port", ""))) } else { Ok(()) };
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn what_a_policy_lacks_is_told_from_what_no_policy_has() {
        let mut spec = everything();
        spec.startup = None;
        assert_eq!(Field::of(&mut spec, "startup.period").err(), Some(NoField::Absent("startup".to_owned())));
        for path in ["startup.perod", "liveness", "mode", "liveness.httpGet.path", "restart.backoff", "", "a.b"] {
            assert_eq!(Field::of(&mut spec, path).err(), Some(NoField::Unknown), "{path}");
        }
    }

    #[test]
    fn a_value_is_written_as_in_a_policy() {
        let mut spec = everything();
        let mut set = |path: &str, text: &str| Field::of(&mut spec, path).unwrap().set(text);
        assert_eq!(set("liveness.period", "1m30s"), Ok(()));
        assert_eq!(set("liveness.period", "5"), Err(NotAValue::Duration(InvalidDuration)));
        assert_eq!(set("liveness.failureThreshold", "4"), Ok(()));
        assert_eq!(set("liveness.failureThreshold", "4.5"), Err(NotAValue::Number));
        assert_eq!(set("restart.maxConcurrent", "25%"), Ok(()));
        assert_eq!(set("liveness.httpGet.port", "81"), Ok(()));
        assert_eq!(spec.restart.max_concurrent, IntOrString::String("25%".to_owned()));
        let liveness = spec.liveness.unwrap();
        assert_eq!((liveness.period, liveness.failure_threshold), (Duration::from_secs(90), 4));
        assert_eq!(liveness.http_get.unwrap().port, IntOrString::Int(81));
    }

    fn everything() -> ProbePolicySpec {
        let rule = serde_json::json!({"httpGet": {"port": "http"}});
        let spec = serde_json::json!({
            "selector": {"matchLabels": {"app": "a"}}, "startup": rule, "liveness": rule, "readiness": rule,
            "restart": {"budget": {"restarts": 1, "per": "1h"}},
            "heartbeat": {"timeToLive": "3s"},
        });
        serde_json::from_value(spec).unwrap()
    }

    /// The paths of what holds a number or a duration.
    fn collect(schema: &JSONSchemaProps, path: &str, found: &mut BTreeSet<String>) {
        let is_duration = schema.type_.as_deref() == Some("string")
            && schema.x_kubernetes_validations.iter().flatten().any(|rule| rule.rule.contains("h|m|s|ms"));
        if schema.type_.as_deref() == Some("integer") || schema.x_kubernetes_int_or_string == Some(true) || is_duration
        {
            found.insert(path.to_owned());
        }
        for (name, member) in schema.properties.iter().flatten() {
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            collect(member, &path, found);
        }
    }
}
