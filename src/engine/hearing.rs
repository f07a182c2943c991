//! What a replica says by itself, and what its silence comes to.

use super::pulse::{Pulse, Turned};
use super::replica::{Replica, runs};
use super::{Policy, Presence, Time};

/// What came of a beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Beaten {
    /// With it the replica has finished starting.
    pub(super) starts: bool,
}

impl Replica {
    /// Brings the pulse in line with the policy's heartbeat rule and the container that beats.
    pub(super) fn reconcile_pulse(&mut self, policy: Option<&Policy>) {
        let heartbeat = policy.and_then(|policy| policy.heartbeat);
        let container = self.beating().map(|container| container.incarnation);
        let Some((heartbeat, container)) = heartbeat.zip(container) else {
            self.pulse = None;
            if policy.is_some() && heartbeat.is_none() {
                // What was seen may be older than the policy.
                self.seen.heartbeat = None;
            }
            return;
        };
        self.pulse.take_if(|pulse| pulse.container != container);
        let pulse = self.pulse.get_or_insert_with(|| Box::new(Pulse::new(container, heartbeat.time_to_live)));
        pulse.time_to_live = heartbeat.time_to_live;
    }

    /// Concludes from its silence, if there is a heartbeat rule. Beats until `deaf_until` may not have reached us.
    pub(super) fn listen(&mut self, deaf_until: Time, now: Time) {
        if self.pulse.is_none() {
            return;
        }
        let expected = self.is_to_beat().then_some(now);
        let Some(pulse) = &mut self.pulse else { return };
        pulse.expect(expected, deaf_until);
        let turned = pulse.conclude(now);
        self.turned(turned);
    }

    /// Takes a beat; `None` if it is void: nothing runs that it could speak for.
    pub(super) fn beat(&mut self, now: Time) -> Option<Beaten> {
        let runs = self.is_live() && self.beating().is_some_and(|container| runs(container.state));
        let turned = self.pulse.as_mut().filter(|_| runs)?.beat(now);
        self.turned(turned);
        let starts = self.startup_rule_is_absent() && !self.is_started();
        if starts {
            self.is_settled = false;
            self.started = self.lead().map(|lead| lead.incarnation);
        }
        Some(Beaten { starts })
    }

    /// Counts its silence anew if it is held in the pool in spite of it. Says whether it is.
    pub(super) fn await_anew(&mut self, now: Time) -> bool {
        let is_in = self.decided().is_open();
        let held = self.pulse.as_mut().filter(|pulse| is_in && pulse.presence() == Presence::Missing);
        let is_held = held.is_some();
        if let Some(pulse) = held {
            pulse.await_anew(now);
            self.is_settled = false;
        }
        is_held
    }

    /// Its silence counts from now on only, unless it has beaten.
    pub(super) fn await_first(&mut self, now: Time) {
        if let Some(pulse) = self.pulse.as_mut().filter(|pulse| !pulse.has_beaten()) {
            pulse.await_anew(now);
            self.is_settled = false;
        }
    }

    /// It goes by its own will.
    pub(super) fn deregister(&mut self) {
        if let Some(pulse) = &mut self.pulse {
            let turned = pulse.deregister();
            self.turned(turned);
        }
    }

    /// Nobody who is starting, down, paused or being ended is expected to beat.
    fn is_to_beat(&self) -> bool {
        let runs = self.beating().is_some_and(|container| runs(container.state));
        let others = self.is_started() || self.startup_rule_is_absent();
        self.is_followed() && runs && others
    }

    fn turned(&mut self, turned: Turned) {
        match turned {
            Turned::Yes => self.is_settled = false,
            Turned::No => {}
        }
    }
}
