//! The picture of a run: lanes over time, and in words what is marked on them.

use std::io::{self, Write};

use super::chart::{self, Series};
use super::html::Text;
use super::mark::{Band, Sign};
use super::scale::{Scale, ticks};
use crate::engine::{Time, TransitionKind};
use crate::report::recording::{Decision, Lane, Membership, Recording, Stretch};
use crate::scenario::TrueState;

/// Lanes that a run shows at most, those with the lowest numbers.
const LANES: usize = 200;
/// Decisions that the list of a lane holds at most, the earliest.
const DECISIONS: usize = 500;
/// Pixels from the top of a lane: what it really is; below it, whether the pool believes in it.
const STATE: (f64, f64) = (8.0, 20.0);
const POOL: (f64, f64) = (30.0, 5.0);
const HEIGHT: f64 = 40.0;
/// Pixels that the last number on the axis may need beyond the lanes.
const LAST_NUMBER: f64 = 40.0;
/// Pixels that a letter takes, about.
const LETTER: f64 = 6.6;

/// A run.
pub fn write(out: &mut impl Write, number: usize, name: &str, recording: &Recording) -> io::Result<()> {
    let scale = Scale::of(recording);
    writeln!(out, "<section>\n<h2>{}</h2>", Text(name))?;
    writeln!(out, "<div class=\"lanes\" tabindex=\"0\" role=\"group\" aria-label=\"Lanes of {}\">", Text(name))?;
    write_axis(out, recording, scale)?;
    for (replica, lane) in recording.lanes().take(LANES) {
        write_lane(out, &Row { run: number, replica, lane, recording, scale })?;
    }
    let losses = recording.losses();
    let failed: Vec<_> = losses.iter().map(|turn| turn.failed).collect();
    let silent: Vec<_> = losses.iter().map(|turn| turn.silent).collect();
    chart::write(out, recording, scale, Series { name: "failed", class: "failed", counts: &failed })?;
    if silent.iter().any(|count| *count > 0) {
        chart::write(out, recording, scale, Series { name: "lost silently", class: "lost", counts: &silent })?;
    }
    writeln!(out, "</div>")?;
    write_left_out(out, recording)?;
    writeln!(out, "<div class=\"words\">")?;
    for (replica, lane) in recording.lanes().take(LANES) {
        write_words(out, &Row { run: number, replica, lane, recording, scale })?;
    }
    writeln!(out, "</div>\n</section>")
}

/// A lane and what it takes to draw it.
struct Row<'a> {
    run: usize,
    replica: usize,
    lane: &'a Lane,
    recording: &'a Recording,
    scale: Scale,
}

fn write_axis(out: &mut impl Write, recording: &Recording, scale: Scale) -> io::Result<()> {
    write!(
        out,
        "<div class=\"row\"><span class=\"name\">turn</span><svg width=\"{}\" height=\"22\" aria-hidden=\"true\">",
        scale.width() + LAST_NUMBER
    )?;
    for (number, at) in ticks(recording) {
        let x = scale.at(at);
        write!(out, "<path class=\"tick\" d=\"M{x} 16v6\"/><text x=\"{}\" y=\"12\">{number}</text>", x + 2.0)?;
    }
    writeln!(out, "</svg></div>")
}

fn write_lane(out: &mut impl Write, row: &Row<'_>) -> io::Result<()> {
    let Row { run, replica, lane, recording, scale } = row;
    write!(
        out,
        "<div class=\"row\"><span class=\"name\"><a href=\"#run{run}-replica{replica}\">replica {replica}</a></span>\
         <svg width=\"{}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"replica {replica}: {}\">",
        scale.width(),
        Text(in_brief(lane))
    )?;
    for Stretch { from, to, what } in lane.states(recording.end()) {
        let Some(what) = what else { continue };
        let (left, right) = (scale.at(from), scale.at(to));
        let band = Band { class: what.name(), left, width: right - left, top: STATE.0, height: STATE.1 };
        write!(out, "<g><title>{what}, {}</title>{band}", between(recording, from, to))?;
        if right - left > LETTER * what.name().len() as f64 + 8.0 && what != TrueState::Healthy {
            write!(out, "<text class=\"word\" x=\"{}\" y=\"{}\">{what}</text>", left + 4.0, STATE.0 + 14.0)?;
        }
        write!(out, "</g>")?;
    }
    for Stretch { from, to, .. } in lane.memberships(recording.end()).iter().filter(|m| m.what == Membership::In) {
        let (left, right) = (scale.at(*from), scale.at(*to));
        let pool = Band { class: "in", left, width: right - left, top: POOL.0, height: POOL.1 };
        write!(out, "<g><title>in the pool, {}</title>{pool}</g>", between(recording, *from, *to))?;
    }
    for (number, decision) in lane.decisions().iter().enumerate().take(DECISIONS) {
        if let Some(sign) = Sign::of(decision) {
            write!(
                out,
                "<a href=\"#run{run}-replica{replica}-{number}\"><title>{}</title>{}</a>",
                Text(sentence(recording, decision)),
                sign.at(scale.at(decision.at))
            )?;
        }
    }
    writeln!(out, "</svg></div>")
}

fn write_left_out(out: &mut impl Write, recording: &Recording) -> io::Result<()> {
    let mut quiet = Vec::new();
    let mut next = 0;
    for replica in recording.lanes().map(|(replica, _)| replica).chain([recording.replicas()]) {
        match replica.saturating_sub(next) {
            0 => {}
            1 => quiet.push(format!("{next}")),
            _ => quiet.push(format!("{next} to {}", replica - 1)),
        }
        next = replica + 1;
    }
    if !quiet.is_empty() {
        let count = recording.replicas() - recording.lanes().len();
        let more = quiet.len().saturating_sub(LANES);
        quiet.truncate(LANES);
        let more = if more > 0 { format!(" and {more} ranges more") } else { String::new() };
        writeln!(out, "<p>Nothing happened to {count} replicas: {}{more}.</p>", quiet.join(", "))?;
    }
    match recording.lanes().len().saturating_sub(LANES) {
        0 => Ok(()),
        more => writeln!(out, "<p>Something happened to {more} more replicas than are shown.</p>"),
    }
}

fn write_words(out: &mut impl Write, row: &Row<'_>) -> io::Result<()> {
    let Row { run, replica, lane, recording, .. } = row;
    write!(
        out,
        "<details id=\"run{run}-replica{replica}\"><summary>Replica {replica}: {}</summary>\n<ol>\n",
        Text(in_brief(lane))
    )?;
    for (number, decision) in lane.decisions().iter().enumerate().take(DECISIONS) {
        let words = Text(sentence(recording, decision));
        writeln!(out, "<li id=\"run{run}-replica{replica}-{number}\">{words}</li>")?;
    }
    writeln!(out, "</ol>")?;
    match lane.decisions().len().saturating_sub(DECISIONS) {
        0 => {}
        more => writeln!(out, "<p>{more} later decisions are left out.</p>")?,
    }
    writeln!(out, "</details>")
}

/// What a lane shows, for those who do not see it.
fn in_brief(lane: &Lane) -> String {
    let count = |sign: Sign| lane.decisions().iter().filter(|decision| Sign::of(decision) == Some(sign)).count();
    let (needed, needless, ejected) = (count(Sign::Needed), count(Sign::Needless), count(Sign::Ejected));
    format!("restarts {}, needless {needless}, ejections {ejected}", needed + needless)
}

/// A decision in words.
fn sentence(recording: &Recording, decision: &Decision) -> String {
    let Decision { at, kind, reason, state } = decision;
    format!("Turn {}: {}, because {reason}. It was {state}.", recording.turn_at(*at), words(*kind))
}

fn between(recording: &Recording, from: Time, to: Time) -> String {
    format!("turns {} to {}", recording.turn_at(from), recording.turn_at(to).saturating_sub(1))
}

const fn words(kind: TransitionKind) -> &'static str {
    match kind {
        TransitionKind::Started => "finished starting",
        TransitionKind::Admitted => "admitted",
        TransitionKind::Ejected => "ejected",
        TransitionKind::RestartDecided => "a restart was decided",
        TransitionKind::Restarted => "restarted",
        TransitionKind::RestartRefused => "a restart was held",
        TransitionKind::LoopBegan => "in a loop",
        TransitionKind::LoopEnded => "no longer in a loop",
        TransitionKind::Returned => "returned",
        TransitionKind::DidNotReturn => "did not return",
        TransitionKind::WouldHaveRestarted => "would have been restarted",
        TransitionKind::WouldHaveEjected => "would have been ejected",
        TransitionKind::WouldHaveAdmitted => "would have been admitted",
        TransitionKind::WouldHaveHeld => "would have been held",
    }
}
