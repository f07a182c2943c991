//! Carries an [`Election`] out on a `Lease` object, and tells the rest of the process whether it leads.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::lease::{Claim, Election, Record, Tenure, Terms};
use crate::engine::{Span, Time};
use crate::runtime::{Clock, timestamp};

/// The name of the lease object.
pub const LEASE: &str = "probe-policy";

/// What everybody may know of the election.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// When this process may act.
    pub tenure: Option<Tenure>,
    /// Who holds the lease, as last read.
    pub holder: Option<String>,
}

/// Tells whether this process leads.
#[derive(Clone, Debug)]
pub struct Leadership {
    clock: Clock,
    standing: watch::Receiver<Standing>,
}

/// The right to act in one stretch of leadership. It is void for good once that stretch has ended, and says so by the
/// time, not by a flag: a process that was frozen past its lease finds it void on the first look.
#[derive(Clone, Debug)]
pub struct Permit {
    term: u64,
    leadership: Leadership,
}

/// One process that stands for election.
pub struct Candidate {
    api: Api<Lease>,
    identity: String,
    terms: Terms,
    clock: Clock,
    election: Election,
    standing: watch::Sender<Standing>,
}

/// Why a claim was not acknowledged.
#[derive(Debug, thiserror::Error)]
enum ClaimError {
    #[error("no answer within {0}")]
    TimedOut(Span),
    #[error(transparent)]
    Kube(#[from] kube::Error),
}

impl Leadership {
    /// The right to act now, if this process leads.
    pub fn permit(&self) -> Option<Permit> {
        let tenure = self.standing.borrow().tenure?;
        (self.clock.now() < tenure.until).then(|| Permit { term: tenure.term, leadership: self.clone() })
    }

    /// What is known of the election.
    pub fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    /// Returns when there is something to look at again: with `held`, when that permit has become void; without,
    /// when there may be one to get.
    pub async fn changed(&mut self, held: Option<&Permit>) {
        loop {
            let until = held.and_then(|permit| permit.until());
            if held.is_some() && until.is_none_or(|until| self.clock.now() >= until) {
                return;
            }
            tokio::select! {
                () = self.clock.sleep_until(until) => {}
                changed = self.standing.changed() => {
                    if changed.is_err() {
                        return std::future::pending().await;
                    }
                    if held.is_none() && self.permit().is_some() {
                        return;
                    }
                }
            }
        }
    }
}

impl Permit {
    /// Whether this stretch of leadership still lasts. To be asked immediately before each write.
    pub fn holds(&self) -> bool {
        self.until().is_some_and(|until| self.leadership.clock.now() < until)
    }

    /// A permit that is void from `until` on.
    #[cfg(test)]
    pub(super) fn for_test(clock: Clock, until: Time) -> Self {
        let standing = Standing { tenure: Some(Tenure { term: 1, until }), holder: None };
        let leadership = Leadership { clock, standing: watch::channel(standing).1 };
        Self { term: 1, leadership }
    }

    fn until(&self) -> Option<Time> {
        let tenure = self.leadership.standing.borrow().tenure?;
        (tenure.term == self.term).then_some(tenure.until)
    }
}

impl Candidate {
    /// A candidate under a name of its own that no other living process has.
    pub fn new(api: Api<Lease>, identity: String, terms: Terms, clock: Clock) -> Self {
        let election = Election::new(identity.clone(), terms);
        Self { api, identity, terms, clock, election, standing: watch::Sender::default() }
    }

    /// Tells whether this candidate leads.
    pub fn leadership(&self) -> Leadership {
        Leadership { clock: self.clock, standing: self.standing.subscribe() }
    }

    /// Claims and renews the lease until `stop`, then releases it if it is held.
    /// `stop` must come after the last effect of this process.
    pub async fn run(mut self, stop: CancellationToken) {
        while stop.run_until_cancelled(self.turn()).await.is_some() {}
        self.release().await;
    }

    async fn turn(&mut self) {
        let next = self.clock.now() + self.terms.retry();
        if let Err(error) = self.claim().await {
            warn!(%error, "could not claim the lease");
        }
        let holder = self.election.record().and_then(|record| record.holder.clone());
        let standing = Standing { tenure: self.election.tenure(), holder };
        self.standing.send_if_modified(|old| {
            if old.holder != standing.holder {
                info!(holder = standing.holder.as_deref().unwrap_or("nobody"), "the lease changed hands");
            }
            let modified = *old != standing;
            *old = standing;
            modified
        });
        self.clock.sleep_until(Some(next)).await;
    }

    async fn claim(&mut self) -> Result<(), ClaimError> {
        let held = matches!(self.election.claim(self.clock.now()), Claim::Renew { .. });
        if !held {
            self.read().await?;
        }
        let sent = self.clock.now();
        let written = match self.election.claim(sent) {
            Claim::Wait => return Ok(()),
            Claim::Create => self.create(sent).await,
            Claim::Take { version, transitions } => {
                let spec = LeaseSpec {
                    acquire_time: Some(micro(sent)),
                    lease_transitions: Some(transitions),
                    ..self.spec(sent)
                };
                self.write(&version, &spec).await
            }
            Claim::Renew { version } => self.write(&version, &self.spec(sent)).await,
        };
        match written {
            Ok(lease) => self.election.acknowledged(sent, self.clock.now(), record(lease)),
            Err(error) if held => {
                // Somebody else may hold it by now, and who that is decides whether we may still act.
                self.election.forget();
                self.read().await?;
                return Err(error);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn read(&mut self) -> Result<(), ClaimError> {
        match self.answer(self.api.get_opt(LEASE)).await? {
            Some(lease) => self.election.observe(self.clock.now(), record(lease)),
            None => self.election.forget(),
        }
        Ok(())
    }

    async fn create(&self, now: Time) -> Result<Lease, ClaimError> {
        let spec = LeaseSpec { acquire_time: Some(micro(now)), lease_transitions: Some(0), ..self.spec(now) };
        let metadata = ObjectMeta { name: Some(LEASE.to_owned()), ..ObjectMeta::default() };
        let lease = Lease { metadata, spec: Some(spec) };
        self.answer(self.api.create(&PostParams::default(), &lease)).await
    }

    /// A compare-and-swap: refused with 409 if the object is no longer at `version`.
    async fn write(&self, version: &str, spec: &LeaseSpec) -> Result<Lease, ClaimError> {
        let patch = json!({"metadata": {"resourceVersion": version}, "spec": spec});
        self.answer(self.api.patch(LEASE, &PatchParams::default(), &Patch::Merge(patch))).await
    }

    async fn release(mut self) {
        let Some(version) = self.election.release() else { return };
        self.standing.send_replace(Standing::default());
        let patch = json!({"metadata": {"resourceVersion": version}, "spec": {"holderIdentity": null}});
        match self.answer(self.api.patch(LEASE, &PatchParams::default(), &Patch::Merge(patch))).await {
            Ok(_) => info!("released the lease"),
            Err(error) => warn!(%error, "could not release the lease; it will run out"),
        }
    }

    fn spec(&self, now: Time) -> LeaseSpec {
        let seconds = self.terms.duration().as_nanos() / 1_000_000_000;
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(i32::try_from(seconds).unwrap_or(i32::MAX)),
            renew_time: Some(micro(now)),
            ..LeaseSpec::default()
        }
    }

    async fn answer<T>(&self, request: impl Future<Output = kube::Result<T>>) -> Result<T, ClaimError> {
        let timeout = self.terms.request_timeout();
        match tokio::time::timeout(Duration::from(timeout), request).await {
            Ok(answer) => Ok(answer?),
            Err(_) => Err(ClaimError::TimedOut(timeout)),
        }
    }
}

fn micro(time: Time) -> MicroTime {
    MicroTime(timestamp(time))
}

fn record(lease: Lease) -> Record {
    let spec = lease.spec.unwrap_or_default();
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok()).unwrap_or(0);
    Record {
        version: lease.metadata.resource_version.unwrap_or_default(),
        holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
        duration: Span::from_secs(seconds),
        transitions: spec.lease_transitions.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::playground::Playground;

    #[tokio::test]
    #[ignore = "needs a cluster"]
    async fn bob_takes_over_at_once_when_alice_releases_and_she_has_stopped_before() {
        let place = Playground::open("lease").await;
        let (alice, stop_alice, alice_ran) = stand(&place, "alice");
        let permit = leading(alice).await;
        let (bob, stop_bob, bob_ran) = stand(&place, "bob");
        stop_alice.cancel();
        alice_ran.await.unwrap();
        assert!(!permit.holds());
        assert!(leading(bob).await.holds());
        stop_bob.cancel();
        bob_ran.await.unwrap();
        place.close().await;
    }

    #[tokio::test]
    #[ignore = "needs a cluster"]
    async fn when_alice_dies_her_permit_is_void_before_bob_leads() {
        let place = Playground::open("lease-death").await;
        let (alice, _, alice_ran) = stand(&place, "alice");
        let permit = leading(alice).await;
        let (bob, stop_bob, bob_ran) = stand(&place, "bob");
        alice_ran.abort();
        assert!(leading(bob).await.holds() && !permit.holds());
        stop_bob.cancel();
        bob_ran.await.unwrap();
        place.close().await;
    }

    fn stand(place: &Playground, name: &str) -> (Leadership, CancellationToken, tokio::task::JoinHandle<()>) {
        let terms = Terms::new(Span::from_secs(6), Span::from_secs(4), Span::from_millis(500)).unwrap();
        let api = Api::namespaced(place.clients.actor.clone(), &place.namespace);
        let candidate = Candidate::new(api, name.to_owned(), terms, Clock::start());
        let (leadership, stop) = (candidate.leadership(), CancellationToken::new());
        (leadership, stop.clone(), tokio::spawn(candidate.run(stop)))
    }

    async fn leading(mut leadership: Leadership) -> Permit {
        let permit = async {
            loop {
                if let Some(permit) = leadership.permit() {
                    return permit;
                }
                leadership.changed(None).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), permit).await.expect("it should lead by now")
    }
}
