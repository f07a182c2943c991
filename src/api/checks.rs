//! The checks on a policy, each told twice: to the API server in CEL, and here in Rust. Both refuse with the same
//! sentence; `tests/crd_server.rs` holds them together on a real API server. What is particular to a kind of handler
//! stands in its own file.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::num::NonZeroU32;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::core::Rule;

use super::convert::SpecError;
use super::duration::duration_pattern;
use super::spec::{BackoffSpec, PoolSpec, RuleSpec, Through};
use super::{Duration, EjectionBackoffSpec, FailureWindowSpec, IpFamily, Port, Requirement, Selector};
use crate::engine::{Amount, FailureWindow, Span};

/// One check: what makes a `T` acceptable, and the `P` that it then is.
pub struct Check<T, P = ()> {
    /// The condition for the API server, about `self`.
    pub(super) cel: &'static str,
    /// The member of `self` that is to blame; empty if it is `self`.
    pub(super) member: &'static str,
    /// What it must be, without its name.
    pub(super) sentence: &'static str,
    /// The same condition here.
    pub(super) parse: fn(&T) -> Option<P>,
}

impl<T, P> Check<T, P> {
    /// The check as it stands in the CRD.
    pub fn rule(&self) -> Rule {
        let rule = Rule::new(self.cel).message(self.sentence);
        if self.member.is_empty() { rule } else { rule.field_path(self.member) }
    }

    /// What the value at `path` is, or why it is refused.
    pub fn parse(&self, path: impl Display, value: &T) -> Result<P, SpecError> {
        (self.parse)(value)
            .ok_or_else(|| SpecError { path: format!("{path}{}", self.member), sentence: self.sentence.to_owned() })
    }

    /// The same of a value that may be left out.
    pub fn parse_optional(&self, path: impl Display, value: Option<&T>) -> Result<Option<P>, SpecError> {
        value.map(|value| self.parse(path, value)).transpose()
    }
}

/// A malformed duration is refused by a rule of its own, so this one lets it pass.
macro_rules! from_to {
    ($min:literal, $max:literal) => {
        concat!(
            "!self.matches(",
            duration_pattern!(),
            ") || ",
            "(duration(self) >= duration('",
            $min,
            "') && duration(self) <= duration('",
            $max,
            "'))"
        )
    };
}

/// Two members in that order; malformed ones pass here too.
macro_rules! in_order {
    ($first:literal, $order:literal, $second:literal) => {
        concat!(
            "!self.",
            $first,
            ".matches(",
            duration_pattern!(),
            ") || !self.",
            $second,
            ".matches(",
            duration_pattern!(),
            ") || duration(self.",
            $first,
            ") ",
            $order,
            " duration(self.",
            $second,
            ")"
        )
    };
}

/// A number of that size at least or, but for what else is allowed, a percentage.
macro_rules! amount_from {
    ($least:literal) => {
        amount_from!($least, "")
    };
    ($least:literal, $or:literal) => {
        concat!(
            "type(self) == int ? self >= ",
            $least,
            " && self <= 10000 : ",
            $or,
            "self.matches('^([1-9][0-9]?|100)%$')"
        )
    };
}

macro_rules! label_key {
    () => {
        "'^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$'"
    };
}

macro_rules! label_value {
    () => {
        "'^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$'"
    };
}

/// RFC 1123, for the API server; [`is_dns_label`] is the same here.
const DNS_LABEL: &str = "self.size() <= 63 && self.matches('^[a-z0-9]([a-z0-9-]*[a-z0-9])?$')";

const LABEL_VALUES: &str = "must be label values: at most 63 letters, digits, hyphens, underscores and dots, a letter \
                            or digit at both ends";

const DAY: Span = Span::from_secs(86_400);

/// Period and timeout.
pub const PERIOD: Check<Duration, Span> = Check {
    cel: from_to!("10ms", "24h"),
    member: "",
    sentence: "must be from 10ms to 24h",
    parse: |duration| within(*duration, Span::from_millis(10), DAY),
};

/// A wait that may be none.
pub const DELAY: Check<Duration, Span> = Check {
    cel: from_to!("0s", "24h"),
    member: "",
    sentence: "must be at most 24h",
    parse: |duration| within(*duration, Span::ZERO, DAY),
};

/// A time that may not be none, on the scale of a restart.
pub const SECONDS: Check<Duration, Span> = Check {
    cel: from_to!("1s", "24h"),
    member: "",
    sentence: "must be from 1s to 24h",
    parse: |duration| within(*duration, Span::from_secs(1), DAY),
};

/// Thresholds.
pub const COUNT: Check<i32, NonZeroU32> = Check {
    cel: "self >= 1 && self <= 10000",
    member: "",
    sentence: "must be from 1 to 10000",
    parse: |count| count_from(*count, 1).and_then(NonZeroU32::new),
};

/// Limits that may be none.
pub const COUNT_OR_NONE: Check<i32, Option<NonZeroU32>> = Check {
    cel: "self >= 0 && self <= 10000",
    member: "",
    sentence: "must be from 0 to 10000",
    parse: |count| count_from(*count, 0).map(NonZeroU32::new),
};

/// Startup and liveness, whose first pass decides.
pub const PASSES_AT_ONCE: Check<RuleSpec> = Check {
    cel: "self.successThreshold == 1",
    member: ".successThreshold",
    sentence: "must be 1 for a startup or liveness rule",
    parse: |rule| (rule.success_threshold == 1).then_some(()),
};

/// The period before the first pass.
pub const STARTS_QUICKER: Check<RuleSpec> = Check {
    cel: concat!("!has(self.startupPeriod) || ", in_order!("startupPeriod", "<", "period")),
    member: ".startupPeriod",
    sentence: "must be shorter than period",
    parse: |rule| rule.startup_period.is_none_or(|quicker| quicker < rule.period).then_some(()),
};

/// A command is run in the container.
pub const COMMANDS_HAVE_NO_ADDRESS: Check<RuleSpec> = Check {
    cel: "!has(self.exec) || self.ipFamily == 'First'",
    member: ".ipFamily",
    sentence: "must be First with exec, which asks at no address",
    parse: |rule| (rule.exec.is_none() || rule.ip_family == IpFamily::First).then_some(()),
};

/// The period of an undecided streak.
pub const RECHECKS_QUICKER: Check<RuleSpec> = Check {
    cel: concat!("!has(self.fastPeriod) || ", in_order!("fastPeriod", "<", "period")),
    member: ".fastPeriod",
    sentence: "must be shorter than period",
    parse: |rule| rule.fast_period.is_none_or(|quicker| quicker < rule.period).then_some(()),
};

/// Startup, whose period and threshold are the time that a replica gets.
pub const KEEPS_ITS_TIME: Check<RuleSpec> = Check {
    cel: "!has(self.fastPeriod)",
    member: ".fastPeriod",
    sentence: "must not be set for startup, whose period and failureThreshold are the time that starting may take",
    parse: |rule| rule.fast_period.is_none().then_some(()),
};

/// Startup, whose first pass decides.
pub const FAILS_IN_A_ROW: Check<RuleSpec> = Check {
    cel: "!has(self.failureWindow)",
    member: ".failureWindow",
    sentence: "must not be set for startup, whose first pass decides",
    parse: |rule| rule.failure_window.is_none().then_some(()),
};

/// How many of the latest attempts.
pub const WINDOW: Check<i32, u32> = Check {
    cel: "self >= 1 && self <= 64",
    member: "",
    sentence: "must be from 1 to 64",
    parse: |count| count_from(*count, 1).filter(|count| *count <= FailureWindow::LONGEST),
};

/// So many failures among so many attempts.
pub const FITS_THE_WINDOW: Check<FailureWindowSpec> = Check {
    cel: "self.failures <= self.attempts",
    member: ".failures",
    sentence: "must not be more than attempts",
    parse: |window| (window.failures <= window.attempts).then_some(()),
};

/// Startup and liveness, which restart what they ask too often.
pub const ONLY_READINESS_HURRIES: Check<RuleSpec> = Check {
    cel: "!has(self.startupPeriod)",
    member: ".startupPeriod",
    sentence: "must be set for readiness only: the others restart a replica that is asked too often while it starts",
    parse: |rule| rule.startup_period.is_none().then_some(()),
};

/// The port of a handler.
pub const PORT: Check<IntOrString, Port> = Check {
    cel: "type(self) == int ? self >= 1 && self <= 65535 : self.size() <= 15 && \
          self.matches('^[a-z0-9]+(-[a-z0-9]+)*$') && self.matches('[a-z]')",
    member: "",
    sentence: "must be a port number from 1 to 65535, or a port name: at most 15 lower-case letters, digits and \
               single hyphens, at least one letter",
    parse: Port::parse,
};

/// The name of a container.
pub const CONTAINER: Check<String, String> = Check {
    cel: DNS_LABEL,
    member: "",
    sentence: "must be a container's name: at most 63 lower-case letters, digits and hyphens, no hyphen at either end",
    parse: |name| is_dns_label(name).then(|| name.clone()),
};

/// The name of a Service.
pub const SERVICE: Check<String, String> = Check {
    cel: DNS_LABEL,
    member: "",
    sentence: "must be a Service's name: at most 63 lower-case letters, digits and hyphens, no hyphen at either end",
    parse: |name| is_dns_label(name).then(|| name.clone()),
};

/// The pool that is told by slices, whose Service nobody else names.
pub const NAMES_ITS_SERVICE: Check<PoolSpec> = Check {
    cel: "(self.through == 'EndpointSlice') == has(self.service)",
    member: ".service",
    sentence: "must name a Service without a selector for through: EndpointSlice, and must not be set otherwise",
    parse: |pool| ((pool.through == Through::EndpointSlice) == pool.service.is_some()).then_some(()),
};

/// How many restarts at once.
pub const AMOUNT: Check<IntOrString, Amount> = Check {
    cel: amount_from!(1),
    member: "",
    sentence: "must be a number from 1 to 10000, or a percentage from 1% to 100% in quotes if need be",
    parse: |amount| amount_from(amount, 1),
};

/// How many replicas, or none.
pub const AMOUNT_OR_NONE: Check<IntOrString, Option<Amount>> = Check {
    cel: amount_from!(0),
    member: "",
    sentence: "must be a number from 0 to 10000, or a percentage from 1% to 100% in quotes if need be",
    parse: |amount| amount_from(amount, 0).map(|amount| Some(amount).filter(|amount| *amount != Amount::Count(0))),
};

/// How many suspects open the breaker.
pub const OPEN_AT: Check<IntOrString, Option<Amount>> = Check {
    cel: amount_from!(2, "self == 'Never' || "),
    member: "",
    sentence: "must be a number from 2 to 10000, a percentage from 1% to 100%, or Never",
    parse: |amount| match amount {
        IntOrString::String(text) if text == "Never" => Some(None),
        IntOrString::String(_) | IntOrString::Int(_) => amount_from(amount, 2).map(Some),
    },
};

/// How many judged replicas make a ratio.
pub const JUDGED: Check<i32, u32> = Check {
    cel: "self >= 2 && self <= 10000",
    member: "",
    sentence: "must be from 2 to 10000",
    parse: |count| count_from(*count, 2),
};

/// The backoff's first and longest wait.
pub const GROWS: Check<BackoffSpec> = Check {
    cel: in_order!("initial", "<=", "max"),
    member: ".initial",
    sentence: "must not be longer than max",
    parse: |backoff| (backoff.initial <= backoff.max).then_some(()),
};

/// The first and the longest ejection.
pub const LASTS_LONGER: Check<EjectionBackoffSpec> = Check {
    cel: in_order!("initial", "<=", "max"),
    member: ".initial",
    sentence: "must not be longer than max",
    parse: |backoff| (backoff.initial <= backoff.max).then_some(()),
};

/// The backoff's memory.
pub const OUTLASTS: Check<BackoffSpec> = Check {
    cel: in_order!("resetAfter", ">", "max"),
    member: ".resetAfter",
    sentence: "must be longer than max, or a seat that waits would be forgotten",
    parse: |backoff| (backoff.reset_after > backoff.max).then_some(()),
};

/// The selector as a whole.
pub const SELECTS: Check<Selector> = Check {
    cel: "(has(self.matchLabels) && size(self.matchLabels) > 0) || \
          (has(self.matchExpressions) && size(self.matchExpressions) > 0)",
    member: "",
    sentence: "must name a label: an empty selector would take every pod of the namespace",
    parse: |selector| (!selector.is_empty()).then_some(()),
};

/// The labels that a selector names, by their values. Keys are let through: the API server reckons with keys of any
/// length, and allows no rule on them.
pub const LABELS: Check<BTreeMap<String, String>> = Check {
    cel: concat!("self.all(key, self[key].matches(", label_value!(), "))"),
    member: "",
    sentence: LABEL_VALUES,
    parse: |labels| labels.values().all(|value| is_label_value(value)).then_some(()),
};

/// The key in an expression of a selector.
pub const KEY: Check<String> = Check {
    cel: concat!("self.matches(", label_key!(), ")"),
    member: "",
    sentence: "must be a label's key, such as app or app.kubernetes.io/name",
    parse: |key| is_label_key(key).then_some(()),
};

/// The values in an expression of a selector.
pub const VALUES: Check<Vec<String>> = Check {
    cel: concat!("self.all(value, value.matches(", label_value!(), "))"),
    member: "",
    sentence: LABEL_VALUES,
    parse: |values| values.iter().all(|value| is_label_value(value)).then_some(()),
};

/// One expression of a selector.
pub const VALUES_FIT: Check<Requirement> = Check {
    cel: "(self.operator in ['In', 'NotIn']) == (has(self.values) && size(self.values) > 0)",
    member: ".values",
    sentence: "must be there for In and NotIn, and not for Exists and DoesNotExist",
    parse: |requirement| (requirement.operator.takes_values() != requirement.values.is_empty()).then_some(()),
};

/// From `least` to 10000.
fn count_from(count: i32, least: u32) -> Option<u32> {
    u32::try_from(count).ok().filter(|n| (least..=10_000).contains(n))
}

/// A number from `least` to 10000, or a percentage.
fn amount_from(amount: &IntOrString, least: u32) -> Option<Amount> {
    match amount {
        IntOrString::Int(count) => count_from(*count, least).map(Amount::Count),
        IntOrString::String(text) => {
            let digits = text.strip_suffix('%').filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
            let percent = digits.parse().ok().filter(|p| (1..=100).contains(p) && !digits.starts_with('0'))?;
            Some(Amount::Percent(percent))
        }
    }
}

fn within(duration: Duration, min: Span, max: Span) -> Option<Span> {
    let span = duration.span();
    (min..=max).contains(&span).then_some(span)
}

/// At most 63 lower-case letters, digits and inner hyphens.
pub(super) fn is_dns_label(text: &str) -> bool {
    let outer = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    text.len() <= 63 && is_spaced(text, outer, |b| b == b'-')
}

/// A name of at most 63 characters, after a DNS name and a slash or not.
fn is_label_key(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let outer = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_prefix = |prefix: &str| prefix.len() <= 253 && is_spaced(prefix, outer, |b| b == b'-' || b == b'.');
    prefix.is_none_or(is_prefix) && !name.is_empty() && is_label_value(name)
}

/// At most 63 letters, digits, and inner hyphens, underscores and dots; or nothing.
fn is_label_value(text: &str) -> bool {
    let inner = |b: u8| b == b'-' || b == b'_' || b == b'.';
    text.is_empty() || (text.len() <= 63 && is_spaced(text, |b| b.is_ascii_alphanumeric(), inner))
}

/// Whether `text` begins and ends with `outer` characters, and has only them and `inner` ones between.
fn is_spaced(text: &str, outer: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let is_outer = |end: Option<u8>| end.is_some_and(&outer);
    is_outer(text.bytes().next()) && is_outer(text.bytes().last()) && text.bytes().all(|b| outer(b) || inner(b))
}
