//! An object's labels.

use std::collections::BTreeMap;

/// An object's labels, in no more room than they need: there are some for every pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Box<[(Box<str>, Box<str>)]>);

impl Labels {
    /// The value of the label of that key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| &**other == key).map(|(_, value)| &**value)
    }
}

impl From<BTreeMap<String, String>> for Labels {
    fn from(labels: BTreeMap<String, String>) -> Self {
        Self(labels.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}
