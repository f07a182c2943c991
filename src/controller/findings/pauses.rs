//! Who is paused.

use super::{Claim, list};
use crate::api::conditions::{PAUSE_INVALID, PAUSED};
use crate::cluster::Index;
use crate::cluster::records::PolicyRecord;
use crate::engine::{Pause, PolicyReport};

pub(super) fn paused(index: &Index, record: &PolicyRecord, report: &PolicyReport) -> Claim {
    match report.pause {
        Some(Pause::Mode) => {
            return Claim::holds(PAUSED, "Mode", "no attempts are made until the mode is another".to_owned());
        }
        Some(Pause::Policy { .. } | Pause::Replica { .. }) => {
            let note = record.pause.as_ref().and_then(|note| note.as_ref().ok());
            let message = note.map_or_else(|| "no attempts are made".to_owned(), |note| format!("no attempts {note}"));
            return Claim::holds(PAUSED, "Policy", message);
        }
        None => {}
    }
    let paused = report.replica_reports.iter().filter(|replica| replica.pause.is_some()).filter_map(|replica| {
        let pod = index.pod(replica.replica)?;
        let note = pod.pause.as_deref()?.as_ref().ok()?;
        Some(format!("{} {note}", pod.name.name))
    });
    let paused = list(paused);
    if paused.is_empty() {
        return Claim::fails(PAUSED, "None", "nobody is paused");
    }
    Claim::holds(PAUSED, "Pods", format!("no attempts at {paused}"))
}

pub(super) fn pause_invalid(index: &Index, record: &PolicyRecord, report: &PolicyReport) -> Claim {
    let of_policy = record.pause.as_ref().and_then(|pause| pause.as_ref().err()).map(ToString::to_string);
    let of_pods = report.replica_reports.iter().filter_map(|replica| {
        let pod = index.pod(replica.replica)?;
        let error = pod.pause.as_deref()?.as_ref().err()?;
        Some(format!("{}: {error}", pod.name.name))
    });
    let invalid = list(of_policy.into_iter().chain(of_pods));
    if invalid.is_empty() {
        return Claim::fails(PAUSE_INVALID, "None", "every pause that is asked for can be read");
    }
    Claim::holds(PAUSE_INVALID, "NoInstant", format!("not paused, since {invalid}"))
}
