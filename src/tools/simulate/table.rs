//! The reports of simulations.

use std::iter;

use serde::{Serialize, Serializer};

use super::parting::Parting;
use crate::engine::WouldHave;
use crate::report::{Picture, Recording, Report, Table};
use crate::tools::outcome::{Columns, Outcome, OutcomeDifference};

/// Decisions of one policy that people are told of, where the two part.
const PARTED: usize = 10;

/// A policy and what came of it.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its file.
    pub policy: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What costs it capacity in the end, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<String>,
    /// What enforcing it would have done, if it was observed.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "by_name")]
    pub would_have: Option<WouldHave>,
}

/// A policy, what came of it, and what happened.
#[derive(Debug)]
pub struct Recorded {
    /// What came of it.
    pub row: Row,
    /// What happened.
    pub recording: Recording,
}

/// One policy.
pub fn single(row: &Row, columns: Columns) -> Result<Report, serde_json::Error> {
    let report = Report::new(Table::new(header(columns), [row.cells(columns)]), &[row])?;
    let csv = Table::new(header(Columns::All), [row.cells(Columns::All)]);
    Ok(report.with_csv(csv.csv()).with_preamble(row.remark()))
}

/// One policy, and a picture of what happened.
pub fn pictured(recorded: Recorded, columns: Columns) -> Result<Report, serde_json::Error> {
    Ok(single(&recorded.row, columns)?.with_picture(recorded.picture()))
}

/// Two policies, what the second has more than the first, where they part, and pictures of what happened.
pub fn comparison(first: Recorded, second: Recorded, columns: Columns) -> Result<Report, serde_json::Error> {
    let parting = Parting::of(&first.recording, &second.recording);
    let (left, right) = (&first.row, &second.row);
    let preamble = in_words(parting.as_ref(), &left.policy, &right.policy) + &left.remark() + &right.remark();
    let difference = right.outcome.minus(&left.outcome);
    let table = |columns| {
        let last = iter::once("difference".to_owned()).chain(difference.cells(columns)).collect();
        Table::new(header(columns), [left.cells(columns), right.cells(columns), last])
    };
    let value = Comparison { policies: [left, right], difference: &difference, parting: parting.as_ref() };
    let report = Report::new(table(columns), &value)?.with_csv(table(Columns::All).csv()).with_preamble(preamble);
    Ok(report.with_picture(first.picture()).with_picture(second.picture()))
}

#[derive(Serialize)]
struct Comparison<'a> {
    policies: [&'a Row; 2],
    difference: &'a OutcomeDifference,
    parting: Option<&'a Parting>,
}

impl Row {
    /// A line on the capacity that it loses, if it does; two on what it would have done, if it is observed.
    fn remark(&self) -> String {
        let policy = &self.policy;
        let loss = self.loss.as_ref().map(|loss| format!("{policy} loses capacity: {loss}.\n"));
        let would_have = self.would_have.as_ref().map(|would_have| {
            format!(
                "{policy} only observes: it restarts nobody and ejects nobody.\nEnforced, it would have {would_have}.\n"
            )
        });
        loss.into_iter().chain(would_have).collect()
    }

    fn cells(&self, columns: Columns) -> Vec<String> {
        iter::once(self.policy.clone()).chain(self.outcome.cells(columns)).collect()
    }
}

impl Recorded {
    fn picture(self) -> Picture {
        Picture::Run { name: self.row.policy, recording: self.recording }
    }
}

fn by_name<S: Serializer>(would_have: &Option<WouldHave>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(would_have.iter().flat_map(WouldHave::counts))
}

fn header(columns: Columns) -> impl Iterator<Item = &'static str> {
    iter::once("policy").chain(columns.names())
}

/// A line for each decision that only one of them takes.
fn in_words(parting: Option<&Parting>, first: &str, second: &str) -> String {
    let Some(Parting { turn, first: left, second: right }) = parting else {
        return "Both decide the same.\n".to_owned();
    };
    let mut words = format!("Their decisions first part in turn {turn}.\n");
    for (policy, decided) in [(first, left), (second, right)] {
        for decided in decided.iter().take(PARTED) {
            words.push_str(&format!("Only {policy}: {decided}.\n"));
        }
        match decided.len().saturating_sub(PARTED) {
            0 => {}
            more => words.push_str(&format!("Only {policy}: {more} decisions more.\n")),
        }
    }
    words
}
