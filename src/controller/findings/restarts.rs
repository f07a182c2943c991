//! Which restarts wait, and which do not help.

use k8s_openapi::jiff::Unit;

use super::{Claim, list};
use crate::api::conditions::{BREAKER_OPEN, GAVE_UP, LOOPING, RESTART_HELD};
use crate::cluster::Index;
use crate::engine::{Among, BreakerReport, Obstacle, PolicyKey, PolicyReport, Reason, Refusal, SeatReport, Trial};
use crate::runtime::timestamp;

pub(super) fn restart_held(index: &Index, report: &PolicyReport) -> Claim {
    let held: Vec<_> = report
        .replica_reports
        .iter()
        .filter_map(|replica| {
            let (rule, by) = replica.wants_restart?;
            let pod = index.pod(replica.replica)?;
            Some((pod.name.name.to_string(), rule, by?))
        })
        .collect();
    let Some(&(_, rule, by)) = held.first() else {
        return Claim::fails(RESTART_HELD, "None", "no restart waits");
    };
    let pods = list(held.into_iter().map(|(pod, ..)| pod));
    Claim::holds(RESTART_HELD, by.name(), format!("{pods}: {}{}", Reason::Held { rule, by }, course(by)))
}

/// What becomes of it, where that is not plain.
fn course(by: Obstacle) -> String {
    if let Obstacle::RestartBudget { next, .. } = by {
        let next = timestamp(next);
        return format!(", the next is at {}", next.round(Unit::Second).unwrap_or(next));
    }
    if by == Obstacle::Refused(Refusal::Budget) {
        return "; pods that are not Ready use it up, unless it has unhealthyPodEvictionPolicy: AlwaysAllow".to_owned();
    }
    String::new()
}

pub(super) fn breaker_open(index: &Index, policy: PolicyKey, report: &PolicyReport) -> Claim {
    let BreakerReport::Open { suspect, judged, trial } = report.breaker else {
        return Claim::fails(BREAKER_OPEN, "Closed", "restarts do not wait for suspects");
    };
    let breaker = index.in_force(policy).and_then(|spec| spec.policy.fleet.breaker);
    let (reason, course) = match trial {
        Trial::Waits { .. } => match breaker.and_then(|breaker| breaker.trial) {
            Some(after) => ("Waiting", format!("restarts wait; one is tried after {after}")),
            None => ("Waiting", "restarts wait until fewer are, and none is tried".to_owned()),
        },
        Trial::Runs { seat, .. } => {
            let seat = index.seat_label(seat).unwrap_or_else(|| "one".to_owned());
            ("Trying", format!("restarts wait for what comes of the one of {seat}"))
        }
        Trial::Helped => ("Restarting", "the restart that was tried has helped, so restarts go on".to_owned()),
    };
    Claim::holds(
        BREAKER_OPEN,
        reason,
        format!("{}: {course}", Reason::Suspects { among: Among::Fleet, suspect, judged }),
    )
}

pub(super) fn looping(index: &Index, report: &PolicyReport) -> Claim {
    let looping: Vec<&SeatReport> = report.seats.iter().filter(|seat| seat.in_loop).collect();
    if looping.is_empty() {
        return Claim::fails(LOOPING, "None", "no seat is in a restart loop");
    }
    let seats = list(looping.iter().filter_map(|seat| index.seat_label(seat.seat)));
    let loss = report.capacity.loss.map(|loss| format!(": {loss}")).unwrap_or_default();
    Claim::holds(LOOPING, "RestartLoop", format!("{seats}{loss}"))
}

pub(super) fn gave_up(index: &Index, report: &PolicyReport) -> Claim {
    let seats: Vec<&SeatReport> = report.seats.iter().filter(|seat| seat.gave_up).collect();
    let Some(first) = seats.first() else {
        return Claim::fails(GAVE_UP, "None", "no seat is left to itself");
    };
    let told = Obstacle::GaveUp { times: first.memory.futile };
    let seats = list(seats.iter().filter_map(|seat| index.seat_label(seat.seat)));
    Claim::holds(GAVE_UP, "RestartsDoNotHelp", format!("{seats}: {told}; no more restarts until its rules pass again"))
}
