//! From what a user wrote to what the engine believes: parsed once, then free of contradictions.

use std::fmt;

use super::spec::{
    BreakerSpec, BudgetSpec, FleetSpec, HeartbeatSpec, Method, ModeSpec, OnPolicyChangeSpec, OtherOwnersSpec, PoolSpec,
    ProbePolicySpec, RestartSpec, RuleSpec, SharedFailureSpec, Through, WhenBelowSpec,
};
use super::{DependencyAsk, FailureWindowSpec, Handler, IpFamily, Selector, checks, dependency, fnv1a};
use crate::engine::{
    Backoff, BreakerSettings, BudgetSettings, DwellSettings, EjectionBackoff, FailureWindow, FleetSettings,
    FloorSettings, Heartbeat, Mode, OnPolicyChange, OtherOwners, PerRule, Phase, Policy, Pool, Question, RestartMethod,
    RestartSettings, Rule, RuleKind, SharedFailure, Span, WhenBelow,
};

/// A policy that makes sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedPolicy {
    /// What the engine is told.
    pub policy: Policy,
    /// Which pods it is about; not empty.
    pub selector: Selector,
    /// What each rule asks, for whoever resolves it at a pod; there exactly where `policy` has a rule.
    pub asks: PerRule<Option<Ask>>,
    /// The container whose beats the heartbeat rule hears, if the user named it.
    pub beating: Option<String>,
    /// The Service whose endpoints the pods are; there exactly if the pool is told by slices.
    pub service: Option<String>,
    /// What each dependency is asked, and of whom, in the order of the policy's dependencies.
    pub canaries: Vec<DependencyAsk>,
}

/// What a rule asks, and of which container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// How it asks.
    pub handler: Handler,
    /// The container that the user named, if any.
    pub container: Option<String>,
    /// Which of the pod's addresses it asks.
    pub family: IpFamily,
}

/// A policy is refused. Offline and by the API server with the same sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {sentence}")]
pub struct SpecError {
    /// The field, from the object's root, such as `spec.liveness.period`.
    pub path: String,
    /// What it must be, without its name.
    pub sentence: String,
}

impl ProbePolicySpec {
    /// What the spec means, for an object of that generation whose attempts fall on that phase.
    pub fn parse(&self, generation: i64, phase: Phase) -> Result<ParsedPolicy, SpecError> {
        check_selector("spec.selector", &self.selector)?;
        let mut rules = PerRule::default();
        let mut asks = PerRule::default();
        for kind in RuleKind::ALL {
            if let Some(spec) = self.rule(kind) {
                let (rule, ask) = parse_rule(kind, spec)?;
                rules[kind] = Some(rule);
                asks[kind] = Some(ask);
            }
        }
        let (dependencies, canaries) = dependency::parse_all(&self.fleet)?;
        let policy = Policy {
            generation,
            mode: self.mode.into(),
            paused_until: None,
            rules,
            heartbeat: self.heartbeat.as_ref().map(parse_heartbeat).transpose()?,
            restart: parse_restart(&self.restart)?,
            pool: self.pool.through.into(),
            floor: parse_floor(&self.pool)?,
            on_policy_change: self.pool.on_policy_change.into(),
            dwell: parse_dwell(&self.pool)?,
            fleet: parse_fleet(&self.fleet)?,
            dependencies,
            phase,
        };
        let beating = self.heartbeat.as_ref().and_then(|heartbeat| heartbeat.container.clone());
        let service = parse_service(&self.pool)?;
        Ok(ParsedPolicy { policy, selector: self.selector.clone(), asks, beating, service, canaries })
    }

    fn rule(&self, kind: RuleKind) -> Option<&RuleSpec> {
        match kind {
            RuleKind::Startup => self.startup.as_ref(),
            RuleKind::Liveness => self.liveness.as_ref(),
            RuleKind::Readiness => self.readiness.as_ref(),
        }
    }
}

pub(super) fn check_selector(at: &str, selector: &Selector) -> Result<(), SpecError> {
    checks::SELECTS.parse(at, selector)?;
    checks::LABELS.parse(format_args!("{at}.matchLabels"), &selector.match_labels)?;
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        let at = format!("{at}.matchExpressions[{index}]");
        checks::KEY.parse(format_args!("{at}.key"), &requirement.key)?;
        checks::VALUES.parse(format_args!("{at}.values"), &requirement.values)?;
        checks::VALUES_FIT.parse(&at, requirement)?;
    }
    Ok(())
}

fn parse_rule(kind: RuleKind, spec: &RuleSpec) -> Result<(Rule, Ask), SpecError> {
    let at = format!("spec.{kind}");
    let ask = parse_ask(&at, spec)?;
    let rule = Rule {
        question: ask.question(),
        period: checks::PERIOD.parse(format_args!("{at}.period"), &spec.period)?,
        timeout: checks::PERIOD.parse(format_args!("{at}.timeout"), &spec.timeout)?,
        startup_period: checks::PERIOD
            .parse_optional(format_args!("{at}.startupPeriod"), spec.startup_period.as_ref())?,
        fast_period: checks::PERIOD.parse_optional(format_args!("{at}.fastPeriod"), spec.fast_period.as_ref())?,
        initial_delay: checks::DELAY.parse(format_args!("{at}.initialDelay"), &spec.initial_delay)?,
        failure_threshold: checks::COUNT.parse(format_args!("{at}.failureThreshold"), &spec.failure_threshold)?,
        success_threshold: checks::COUNT.parse(format_args!("{at}.successThreshold"), &spec.success_threshold)?,
        failure_window: spec.failure_window.as_ref().map(|window| parse_window(&at, window)).transpose()?,
    };
    checks::COMMANDS_HAVE_NO_ADDRESS.parse(&at, spec)?;
    checks::STARTS_QUICKER.parse(&at, spec)?;
    checks::RECHECKS_QUICKER.parse(&at, spec)?;
    match kind {
        RuleKind::Startup => {
            checks::PASSES_AT_ONCE.parse(&at, spec)?;
            checks::KEEPS_ITS_TIME.parse(&at, spec)?;
            checks::FAILS_IN_A_ROW.parse(&at, spec)?;
            checks::ONLY_READINESS_HURRIES.parse(&at, spec)?;
        }
        RuleKind::Liveness => {
            checks::PASSES_AT_ONCE.parse(&at, spec)?;
            checks::ONLY_READINESS_HURRIES.parse(&at, spec)?;
        }
        RuleKind::Readiness => {}
    }
    Ok((rule, ask))
}

fn parse_window(at: &str, spec: &FailureWindowSpec) -> Result<FailureWindow, SpecError> {
    let at = format!("{at}.failureWindow");
    let failures = checks::WINDOW.parse(format_args!("{at}.failures"), &spec.failures)?;
    let attempts = checks::WINDOW.parse(format_args!("{at}.attempts"), &spec.attempts)?;
    checks::FITS_THE_WINDOW.parse(&at, spec)?;
    Ok(FailureWindow { failures, attempts })
}

fn parse_ask(at: &str, spec: &RuleSpec) -> Result<Ask, SpecError> {
    let handler = Handler::parse(at, spec)?;
    let container = checks::CONTAINER.parse_optional(format_args!("{at}.container"), spec.container.as_ref())?;
    Ok(Ask { handler, container, family: spec.ip_family })
}

fn parse_heartbeat(spec: &HeartbeatSpec) -> Result<Heartbeat, SpecError> {
    checks::CONTAINER.parse_optional("spec.heartbeat.container", spec.container.as_ref())?;
    Ok(Heartbeat { time_to_live: checks::SECONDS.parse("spec.heartbeat.timeToLive", &spec.time_to_live)? })
}

fn parse_restart(spec: &RestartSpec) -> Result<RestartSettings, SpecError> {
    let backoff = Backoff {
        initial: checks::DELAY.parse("spec.restart.backoff.initial", &spec.backoff.initial)?,
        max: checks::DELAY.parse("spec.restart.backoff.max", &spec.backoff.max)?,
        reset_after: checks::SECONDS.parse("spec.restart.backoff.resetAfter", &spec.backoff.reset_after)?,
    };
    checks::GROWS.parse("spec.restart.backoff", &spec.backoff)?;
    checks::OUTLASTS.parse("spec.restart.backoff", &spec.backoff)?;
    Ok(RestartSettings {
        method: spec.method.into(),
        max_concurrent: checks::AMOUNT.parse("spec.restart.maxConcurrent", &spec.max_concurrent)?,
        budget: parse_budget(spec.budget.as_ref())?,
        backoff,
        grace_period: checks::SECONDS.parse("spec.restart.gracePeriod", &spec.grace_period)?,
        deadline: checks::SECONDS.parse("spec.restart.deadline", &spec.deadline)?,
        loop_after: checks::COUNT.parse("spec.restart.loopAfter", &spec.loop_after)?,
        give_up_after: checks::COUNT_OR_NONE.parse("spec.restart.giveUpAfter", &spec.give_up_after)?,
        other_owners: match spec.other_owners {
            OtherOwnersSpec::Refuse => OtherOwners::Refuse,
            OtherOwnersSpec::Restart => OtherOwners::Restart,
        },
    })
}

fn parse_budget(spec: Option<&BudgetSpec>) -> Result<Option<BudgetSettings>, SpecError> {
    let Some(BudgetSpec { restarts, per }) = spec else { return Ok(None) };
    Ok(Some(BudgetSettings {
        restarts: checks::COUNT.parse("spec.restart.budget.restarts", restarts)?,
        per: checks::SECONDS.parse("spec.restart.budget.per", per)?,
    }))
}

fn parse_floor(spec: &PoolSpec) -> Result<Option<FloorSettings>, SpecError> {
    let min_ready = checks::AMOUNT_OR_NONE.parse("spec.pool.minReady", &spec.min_ready)?;
    let cooldown = checks::SECONDS.parse("spec.pool.cooldown", &spec.cooldown)?;
    let when_below = match spec.when_below {
        WhenBelowSpec::Hold => WhenBelow::Hold,
        WhenBelowSpec::Open => WhenBelow::Open,
        WhenBelowSpec::Close => WhenBelow::Close,
    };
    Ok(min_ready.map(|min_ready| FloorSettings { min_ready, when_below, cooldown }))
}

fn parse_service(spec: &PoolSpec) -> Result<Option<String>, SpecError> {
    checks::NAMES_ITS_SERVICE.parse("spec.pool", spec)?;
    checks::SERVICE.parse_optional("spec.pool.service", spec.service.as_ref())
}

fn parse_dwell(spec: &PoolSpec) -> Result<Option<DwellSettings>, SpecError> {
    let backoff = &spec.ejection_backoff;
    let settings = DwellSettings {
        least: checks::DELAY.parse("spec.pool.dwell", &spec.dwell)?,
        ejection: EjectionBackoff {
            initial: checks::DELAY.parse("spec.pool.ejectionBackoff.initial", &backoff.initial)?,
            max: checks::DELAY.parse("spec.pool.ejectionBackoff.max", &backoff.max)?,
            decay_after: checks::SECONDS.parse("spec.pool.ejectionBackoff.decayAfter", &backoff.decay_after)?,
        },
    };
    checks::LASTS_LONGER.parse("spec.pool.ejectionBackoff", backoff)?;
    let is_on = [settings.least, settings.ejection.initial].iter().any(|span| *span != Span::ZERO);
    Ok(is_on.then_some(settings))
}

fn parse_fleet(spec: &FleetSpec) -> Result<FleetSettings, SpecError> {
    Ok(FleetSettings {
        breaker: parse_breaker(&spec.breaker)?,
        shared_failure: match spec.shared_failure {
            SharedFailureSpec::Hold => SharedFailure::Hold,
            SharedFailureSpec::Ignore => SharedFailure::Ignore,
        },
    })
}

fn parse_breaker(spec: &BreakerSpec) -> Result<Option<BreakerSettings>, SpecError> {
    let open_at = checks::OPEN_AT.parse("spec.fleet.breaker.openAt", &spec.open_at)?;
    let min_judged = checks::JUDGED.parse("spec.fleet.breaker.minJudged", &spec.min_judged)?;
    let cooldown = checks::SECONDS.parse("spec.fleet.breaker.cooldown", &spec.cooldown)?;
    let trial = checks::DELAY.parse("spec.fleet.breaker.trial", &spec.trial)?;
    let trial = Some(trial).filter(|trial| *trial != Span::ZERO);
    Ok(open_at.map(|open_at| BreakerSettings { open_at, min_judged, cooldown, trial }))
}

impl Ask {
    /// The number that stands for it, the same in every process and version.
    pub fn question(&self) -> Question {
        question(&self.to_string())
    }
}

/// The number that stands for what is asked, by a text that differs for every two questions that differ.
pub(super) fn question(text: &str) -> Question {
    Question(fnv1a(text))
}

/// One line that differs for every two asks that differ.
impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handler.fmt(f)?;
        if let Some(container) = &self.container {
            write!(f, " of {container}")?;
        }
        match self.family {
            IpFamily::First => Ok(()),
            family @ (IpFamily::IPv4 | IpFamily::IPv6 | IpFamily::Either | IpFamily::Both) => write!(f, " at {family}"),
        }
    }
}

impl From<ModeSpec> for Mode {
    fn from(mode: ModeSpec) -> Self {
        match mode {
            ModeSpec::Observe => Self::Observe,
            ModeSpec::Enforce => Self::Enforce,
            ModeSpec::Paused => Self::Paused,
        }
    }
}

impl From<OnPolicyChangeSpec> for OnPolicyChange {
    fn from(change: OnPolicyChangeSpec) -> Self {
        match change {
            OnPolicyChangeSpec::Keep => Self::Keep,
            OnPolicyChangeSpec::Prepare => Self::Prepare,
            OnPolicyChangeSpec::Rolling => Self::Rolling,
        }
    }
}

impl From<Method> for RestartMethod {
    fn from(method: Method) -> Self {
        match method {
            Method::Evict => Self::Evict,
            Method::Delete => Self::Delete,
        }
    }
}

impl From<Through> for Pool {
    fn from(through: Through) -> Self {
        match through {
            Through::ReadinessGate => Self::ReadinessGate,
            Through::EndpointSlice => Self::EndpointSlice,
            Through::None => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::api::Port;
    use crate::engine::Amount;

    fn parse(spec: &str) -> ParsedPolicy {
        serde_json::from_str::<ProbePolicySpec>(spec).unwrap().parse(7, Phase::Spread).unwrap()
    }

    #[test]
    fn a_policy_that_only_selects_has_the_defaults_and_no_rules() {
        let parsed = parse(r#"{"selector": {"matchLabels": {"app": "a"}}}"#);
        let restart = parsed.policy.restart;
        assert_eq!(parsed.policy.generation, 7);
        assert_eq!(parsed.policy.mode, Mode::Observe);
        assert_eq!(parsed.policy.pool, Pool::ReadinessGate);
        let floor = FloorSettings {
            min_ready: Amount::Percent(50),
            when_below: WhenBelow::Hold,
            cooldown: Span::from_secs(30),
        };
        assert_eq!(parsed.policy.floor, Some(floor));
        let minute = Span::from_secs(60);
        let breaker =
            BreakerSettings { open_at: Amount::Percent(50), min_judged: 2, cooldown: minute, trial: Some(minute) };
        let fleet = FleetSettings { breaker: Some(breaker), shared_failure: SharedFailure::Hold };
        assert_eq!(parsed.policy.fleet, fleet);
        assert_eq!(parsed.policy.rules, PerRule::default());
        assert_eq!(parsed.asks, PerRule::default());
        assert_eq!((restart.method, restart.max_concurrent), (RestartMethod::Evict, Amount::Count(1)));
        assert_eq!((restart.grace_period, restart.deadline), (Span::from_secs(10), Span::from_secs(600)));
        assert_eq!((restart.loop_after.get(), restart.give_up_after), (3, NonZeroU32::new(5)));
        assert_eq!(
            restart.backoff,
            Backoff { initial: Span::from_secs(10), max: Span::from_secs(300), reset_after: Span::from_secs(600) },
        );
    }

    #[test]
    fn a_rule_has_the_defaults_and_what_it_asks_beside_it() {
        let parsed = parse(r#"{"selector": {"matchLabels": {"app": "a"}}, "liveness": {"httpGet": {"port": "http"}}}"#);
        let rule = parsed.policy.rules.liveness.unwrap();
        let ask = parsed.asks.liveness.unwrap();
        assert_eq!((rule.period, rule.timeout), (Span::from_secs(10), Span::from_secs(3)));
        assert_eq!(rule.initial_delay, Span::ZERO);
        assert_eq!((rule.failure_threshold.get(), rule.success_threshold.get()), (3, 1));
        assert_eq!(rule.question, ask.question());
        let Handler::Http(get) = ask.handler else { panic!("{ask}") };
        assert_eq!((get.port(), get.path(), get.max_body()), (&Port::Name("http".to_owned()), "/", 65_536));
        assert_eq!(ask.container, None);
        assert_eq!(parsed.asks.startup, None);
    }

    #[test]
    fn a_heartbeat_has_a_time_to_live_and_the_container_that_beats_beside_it() {
        let parsed = parse(
            r#"{"selector": {"matchLabels": {"app": "a"}}, "heartbeat": {"timeToLive": "30s", "container": "app"}}"#,
        );
        assert_eq!(parsed.policy.heartbeat, Some(Heartbeat { time_to_live: Span::from_secs(30) }));
        assert_eq!(parsed.beating.as_deref(), Some("app"));
    }

    /// What a liveness rule asks.
    fn ask(rule: &str) -> Ask {
        parse(&format!(r#"{{"selector": {{"matchLabels": {{"app": "a"}}}}, "liveness": {rule}}}"#))
            .asks
            .liveness
            .unwrap()
    }

    #[test]
    fn a_question_is_the_same_in_every_version() {
        let ask = ask(r#"{"httpGet": {"port": "http", "path": "/live"}, "container": "app"}"#);
        assert_eq!(ask.to_string(), "httpGet http /live of app");
        assert_eq!(ask.question().to_string(), "22b06f781f432bfc");
    }

    #[test]
    fn whatever_differs_in_an_ask_makes_another_question() {
        let handlers = [
            r#""httpGet": {"port": 80}"#,
            r#""httpGet": {"port": "http"}"#,
            r#""httpGet": {"port": 80, "path": "/live"}"#,
            r#""httpGet": {"port": 80, "maxBody": 0}"#,
            r#""httpGet": {"port": 80, "scheme": "HTTPS"}"#,
            r#""httpGet": {"port": 80, "scheme": "HTTPS", "tls": {"serverName": "a"}}"#,
            r#""httpGet": {"port": 80, "httpHeaders": [{"name": "a", "value": "b"}]}"#,
            r#""httpGet": {"port": 80, "httpHeaders": [{"name": "a", "value": "b of app"}]}"#,
            r#""httpGet": {"port": 80, "expectedStatuses": ["204"]}"#,
            r#""httpGet": {"port": 80, "redirects": "SameHost"}"#,
            r#""httpGet": {"port": 80, "health": {"components": ["a"]}}"#,
            r#""httpGet": {"port": 80, "health": {"scopes": ["Path"]}}"#,
            r#""grpc": {"port": 80}"#,
            r#""grpc": {"port": 80, "service": "shop"}"#,
            r#""grpc": {"port": 80, "accept": ["NotServing"]}"#,
            r#""grpc": {"port": 80, "tls": {}}"#,
            r#""exec": {"command": ["a", "b"]}"#,
            r#""exec": {"command": ["a b"]}"#,
            r#""tcpSocket": {"port": 80}"#,
            r#""tcpSocket": {"port": "http"}"#,
        ];
        let mut questions = Vec::new();
        for container in ["", r#", "container": "app""#] {
            questions.extend(handlers.map(|handler| ask(&format!("{{{handler}{container}}}")).question()));
        }
        let count = questions.len();
        questions.sort();
        questions.dedup();
        assert_eq!(questions.len(), count);
    }
}
