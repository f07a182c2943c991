//! Where a field stands in a YAML text, for what is wrong with a value that could be read.

use std::fmt;

use serde::Deserialize as _;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_yaml::Spanned;

/// Line and column, both from 1, of the field at a path such as `faults[2].replica`, or else of the innermost field
/// around it that is there. `None` for a text that cannot be read.
pub fn place_of(text: &str, path: &str) -> Option<(u64, u64)> {
    let mut names = names(path);
    loop {
        if let Some(place) = find(text, &names) {
            return Some(place);
        }
        names.pop()?;
    }
}

/// A path in its parts; what stands in brackets is one part, dots included.
fn names(path: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (index, part) in path.split(['[', ']']).enumerate() {
        match index % 2 {
            0 => names.extend(part.split('.').filter(|name| !name.is_empty())),
            _ => names.push(part),
        }
    }
    names
}

fn find(text: &str, names: &[&str]) -> Option<(u64, u64)> {
    let mut found = None;
    let walk = Walk { names, found: &mut found };
    serde_yaml::with_deserializer_from_str(text, |deserializer| walk.deserialize(deserializer)).ok()?;
    found
}

/// Goes down by the names of keys and the numbers of items.
struct Walk<'a> {
    names: &'a [&'a str],
    found: &'a mut Option<(u64, u64)>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.names.is_empty() {
            let here = Spanned::<IgnoredAny>::deserialize(deserializer)?.referenced;
            *self.found = Some((here.line(), here.column()));
            Ok(())
        } else {
            deserializer.deserialize_any(self)
        }
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a mapping or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match self.names {
                [name, names @ ..] if key == *name => map.next_value_seed(Walk { names, found: self.found })?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Some((number, names)) = self.names.split_first() else { return Ok(()) };
        for index in 0.. {
            let item = if number.parse() == Ok(index) {
                list.next_element_seed(Walk { names, found: self.found })?
            } else {
                list.next_element::<IgnoredAny>()?.map(|_| ())
            };
            if item.is_none() {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
turn: 1s
replicas: {count: 3, exceptions: {2: 5}}
faults:
  - {replica: 0, at: 3}
  - replica: 1
    dependencyLost:
      for: 2
";

    #[test]
    fn a_field_is_found_by_its_path() {
        assert_eq!(place_of(TEXT, "turn"), Some((2, 7)));
        assert_eq!(place_of(TEXT, "replicas.exceptions.2"), Some((3, 38)));
        assert_eq!(place_of(TEXT, "replicas.exceptions[2]"), Some((3, 38)));
        assert_eq!(place_of("a: {b.c/d: 1}", "a[b.c/d]"), Some((1, 12)));
        assert_eq!(place_of(TEXT, "faults[0].at"), Some((5, 22)));
        assert_eq!(place_of(TEXT, "faults[1].dependencyLost.for"), Some((8, 12)));
    }

    #[test]
    fn a_field_that_is_not_there_stands_where_it_is_missing() {
        assert_eq!(place_of(TEXT, "faults[1].at"), place_of(TEXT, "faults[1]"));
        assert_eq!(place_of(TEXT, "faults[0].stuck.x"), Some((5, 5)));
        assert_eq!(place_of(TEXT, "nothing.at.all"), Some((2, 1)));
        assert_eq!(place_of(TEXT, "turn.x"), Some((2, 7)));
    }

    #[test]
    fn nothing_stands_in_a_text_that_cannot_be_read() {
        assert_eq!(place_of("[", "turn"), None);
    }
}
