//! The values that a field takes in turn, as people write them: `2s,5s,10s`, `2..6`, `100ms..1s/100ms`.

use std::fmt;
use std::str::FromStr;

use crate::api::Duration;
use crate::engine::Span;

/// The most values of one field.
const MAX: u64 = 1_000_000;

/// Values in their order, each as it is written in a policy; at least one, none twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Values(Vec<String>);

/// Why a text is no list of values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoValues {
    /// A value is missing between two commas, or before or after them.
    #[error("a value is missing")]
    Missing,
    /// A value is there twice.
    #[error("{0} is there twice")]
    Twice(String),
    /// A range has an end that cannot be counted.
    #[error("{0} is no whole number, percentage or duration to count from or to")]
    NoEnd(String),
    /// A range whose parts do not belong together.
    #[error("{0} is a range of unlike things: both ends and the step are numbers, percentages or durations")]
    Unlike(String),
    /// A range of durations that does not say how to count.
    #[error("{0} needs a step, such as {0}/1s")]
    NoStep(String),
    /// A range that never gets on.
    #[error("{0} needs a step above zero")]
    StandsStill(String),
    /// A range that ends before it begins.
    #[error("{0} ends before it begins")]
    Backwards(String),
    /// A range that is too long.
    #[error("{0} has more than {MAX} values")]
    TooMany(String),
}

impl Values {
    /// All of them.
    pub fn to_vec(&self) -> Vec<String> {
        self.0.clone()
    }

    /// How many there are; at least one.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The value at a place from 0 to [`Self::len`].
    pub fn get(&self, place: usize) -> &str {
        &self.0[place]
    }
}

impl FromStr for Values {
    type Err = NoValues;

    fn from_str(text: &str) -> Result<Self, NoValues> {
        let mut values = Vec::new();
        for item in text.split(',').map(str::trim) {
            match item.split_once("..") {
                None if item.is_empty() => return Err(NoValues::Missing),
                None => values.push(item.to_owned()),
                Some((from, to)) => values.extend(range(item, from, to)?),
            }
        }
        let mut seen: Vec<_> = values.iter().collect();
        seen.sort_unstable();
        match seen.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(NoValues::Twice(pair[0].clone())),
            None => Ok(Self(values)),
        }
    }
}

/// The values of `from..to` or `from..to/step`, the last of them `to` if the step leads there.
fn range(item: &str, from: &str, to: &str) -> Result<impl Iterator<Item = String>, NoValues> {
    let end = |text: &str| text.trim().parse().map_err(|NotCounted| NoValues::NoEnd(text.trim().to_owned()));
    let (to, step) = to.split_once('/').map_or((to, None), |(to, step)| (to, Some(step)));
    let (from, to): (Quantity, Quantity) = (end(from)?, end(to)?);
    let step = match (step, from.unit) {
        (Some(step), _) => end(step)?,
        (None, Unit::Millis) => return Err(NoValues::NoStep(item.to_owned())),
        (None, unit @ (Unit::One | Unit::Percent)) => Quantity { count: 1, unit },
    };
    if from.unit != to.unit || from.unit != step.unit {
        return Err(NoValues::Unlike(item.to_owned()));
    }
    if step.count == 0 {
        return Err(NoValues::StandsStill(item.to_owned()));
    }
    let length = to.count.checked_sub(from.count).ok_or_else(|| NoValues::Backwards(item.to_owned()))?;
    let steps = length / step.count;
    if steps >= MAX {
        return Err(NoValues::TooMany(item.to_owned()));
    }
    Ok((0..=steps).map(move |n| Quantity { count: from.count + n * step.count, ..from }.to_string()))
}

/// So many of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Quantity {
    count: u64,
    unit: Unit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    One,
    Percent,
    Millis,
}

struct NotCounted;

impl FromStr for Quantity {
    type Err = NotCounted;

    fn from_str(text: &str) -> Result<Self, NotCounted> {
        let (count, unit) = match (text.parse(), text.strip_suffix('%').map(str::parse)) {
            (Ok(count), _) => (count, Unit::One),
            (Err(_), Some(Ok(count))) => (count, Unit::Percent),
            (Err(_), _) => {
                let duration: Duration = text.parse().map_err(|_| NotCounted)?;
                (duration.span().as_nanos() / 1_000_000, Unit::Millis)
            }
        };
        Ok(Self { count, unit })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            Unit::One => write!(f, "{}", self.count),
            Unit::Percent => write!(f, "{}%", self.count),
            Unit::Millis => write!(f, "{}", Span::from_millis(self.count)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_give_their_values_in_order() {
        for (text, values) in [
            ("5s", "5s"),
            ("10s,2s", "10s 2s"),
            ("2..4", "2 3 4"),
            ("1..10/4", "1 5 9"),
            ("3..3", "3"),
            ("800ms..1200ms/200ms", "800ms 1s 1s200ms"),
            ("25%..100%/25%", "25% 50% 75% 100%"),
            ("1, 3..4 , 8", "1 3 4 8"),
        ] {
            let parsed: Values = text.parse().unwrap();
            assert_eq!(parsed.0.join(" "), values, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        for (text, refusal) in [
            ("", NoValues::Missing),
            ("1,,2", NoValues::Missing),
            ("1,2,1", NoValues::Twice("1".to_owned())),
            ("1..3,2", NoValues::Twice("2".to_owned())),
            ("a..3", NoValues::NoEnd("a".to_owned())),
            ("1..", NoValues::NoEnd(String::new())),
            ("-1..3", NoValues::NoEnd("-1".to_owned())),
            ("1..3s", NoValues::Unlike("1..3s".to_owned())),
            ("1s..3s/1", NoValues::Unlike("1s..3s/1".to_owned())),
            ("1s..3s", NoValues::NoStep("1s..3s".to_owned())),
            ("1..3/0", NoValues::StandsStill("1..3/0".to_owned())),
            ("3..1", NoValues::Backwards("3..1".to_owned())),
            ("1..1000001", NoValues::TooMany("1..1000001".to_owned())),
        ] {
            assert_eq!(text.parse::<Values>(), Err(refusal), "{text}");
        }
    }
}
