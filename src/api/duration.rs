//! Lengths of time as Gateway API writes them (GEP-2257): `500ms`, `10s`, `1m30s`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::engine::Span;

/// The text of a duration, as a literal of CEL.
macro_rules! duration_pattern {
    () => {
        "'^([0-9]{1,5}(h|m|s|ms)){1,4}$'"
    };
}
pub(super) use duration_pattern;

/// The longest text that is a duration: four numbers of five digits with their units.
const MAX_LENGTH: usize = 4 * (5 + 2);

/// A length of time in milliseconds' precision: up to four numbers of at most five digits, each with its unit
/// h, m, s or ms. Any such text is read; what is written is the shortest one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(Span);

/// The text is not a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a duration such as 10s, 500ms or 1m30s, in up to four numbers of at most 5 digits with h, m, s or ms")]
pub struct InvalidDuration;

impl Duration {
    /// `n` milliseconds.
    pub const fn from_millis(n: u64) -> Self {
        Self(Span::from_millis(n))
    }

    /// `n` seconds.
    pub const fn from_secs(n: u64) -> Self {
        Self(Span::from_secs(n))
    }

    /// The same length, as the engine counts it.
    pub const fn span(self) -> Span {
        self.0
    }
}

/// To the millisecond; what is finer is cut off.
impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_millis(span.as_nanos() / 1_000_000)
    }
}

impl FromStr for Duration {
    type Err = InvalidDuration;

    fn from_str(text: &str) -> Result<Self, InvalidDuration> {
        let mut total = Span::ZERO;
        let mut rest = text;
        for _ in 0..4 {
            let (part, after) = leading_part(rest).ok_or(InvalidDuration)?;
            total = total + part;
            rest = after;
            if rest.is_empty() {
                return Ok(Self(total));
            }
        }
        Err(InvalidDuration)
    }
}

/// The first number with its unit, and what follows them.
fn leading_part(text: &str) -> Option<(Span, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if !(1..=5).contains(&digits) {
        return None;
    }
    let number: u64 = text[..digits].parse().ok()?;
    let units = [("ms", 1), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
    units.iter().find_map(|(unit, millis)| {
        let rest = text[digits..].strip_prefix(unit)?;
        Some((Span::from_millis(number * millis), rest))
    })
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Text)
    }
}

struct Text;

impl de::Visitor<'_> for Text {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as 10s, 500ms or 1m30s")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
        text.parse().map_err(E::custom)
    }
}

impl JsonSchema for Duration {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "maxLength": MAX_LENGTH,
            "x-kubernetes-validations": [
                {"rule": concat!("self.matches(", duration_pattern!(), ")"), "message": InvalidDuration.to_string()},
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gateway_api_allows_is_read() {
        for (text, millis) in [
            ("0s", 0),
            ("500ms", 500),
            ("10s", 10_000),
            ("1m30s", 90_000),
            ("1h1m1s1ms", 3_661_001),
            ("99999h", 99_999 * 3_600_000),
            ("00010s", 10_000),
            ("1ms1h", 3_600_001),
            ("1s1s", 2_000),
        ] {
            assert_eq!(text.parse(), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "s",
            "10",
            "-1s",
            "+1s",
            "1.5s",
            "100000s",
            "1d",
            "1us",
            "1 s",
            " 1s",
            "1s ",
            "1S",
            "1h1m1s1ms1s",
            "1s2",
            "１s",
            "1sms",
            "1µs",
        ] {
            assert_eq!(text.parse::<Duration>(), Err(InvalidDuration), "{text:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for millis in [0, 1, 999, 1_000, 61_001, 3_600_000, 86_400_000] {
            let duration = Duration::from_millis(millis);
            assert_eq!(duration.to_string().parse(), Ok(duration));
        }
    }
}
