//! What is run, and what everybody is told.

use k8s_openapi::jiff::Timestamp;

use super::process::{Program, Role};
use super::replica::name;
use super::{PacedPolicy, Script};
use crate::engine::Span;
use crate::fake_app::load::{Connections, Load, Plan, Requests, Route};
use crate::registry::Resolve;
use crate::scenario::Speed;

/// What is run.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// What happens.
    pub script: Script,
    /// The policy that is in force from the beginning.
    pub policy: PacedPolicy,
    /// What decides over that which is random in it.
    pub seed: u64,
    /// How fast everything runs.
    pub speed: Speed,
    /// How requests know the replicas where the scenario has no registry for that.
    pub listing: Listing,
}

/// How requests know the replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    /// They go to whoever is in the pool.
    #[default]
    Followed,
    /// They go to those who were there in the beginning, whatever becomes of them.
    Fixed,
}

/// Where the processes are that others use.
#[derive(Clone, Debug, Default)]
pub(super) struct Addresses {
    pub stores: Option<String>,
    pub registry: Option<String>,
}

/// How long a request may take. No speed shortens it.
const TIMEOUT: Span = Span::from_secs(1);

impl Experiment {
    /// The process of the shared stores, if the scenario or the policy has any use for them.
    pub(super) fn stores(&self, program: &Program) -> Option<Role> {
        let is_used = self.script.scenario.uses_stores() || !self.policy.policy.dependencies.is_empty();
        is_used.then(|| self.role(program, "stores".to_owned(), vec!["store".to_owned()]))
    }

    /// The process of the registry, if the scenario has one.
    pub(super) fn registry(&self, program: &Program) -> Option<Role> {
        self.script.scenario.registry()?;
        Some(self.role(program, "registry".to_owned(), vec!["registry".to_owned()]))
    }

    /// The processes of the replicas, in their order.
    pub(super) fn replicas(&self, program: &Program, addresses: &Addresses) -> Vec<Role> {
        let Addresses { stores, registry } = addresses;
        let role = |replica: usize| {
            let mut arguments = vec!["serve".to_owned(), format!("--replica={replica}")];
            arguments.extend(stores.iter().map(|address| format!("--stores={address}")));
            arguments.extend(registry.iter().map(|address| format!("--registry={address}")));
            self.role(program, name(replica), arguments)
        };
        (0..self.script.scenario.replicas()).map(role).collect()
    }

    /// The load, from `start` on.
    pub(super) fn load(&self, start: Timestamp, addresses: Addresses) -> Load {
        let scenario = &self.script.scenario;
        let cache = |turns| self.speed.shorten(scenario.turn() * u64::from(turns));
        let route = match (addresses.registry, scenario.resolve(), self.listing) {
            (Some(address), Resolve::Registry, _) => Route::Registry { address, cache: None },
            (Some(address), Resolve::Cached(turns), _) => Route::Registry { address, cache: Some(cache(turns.get())) },
            (_, _, Listing::Fixed) => Route::Fixed,
            (_, _, Listing::Followed) => Route::Endpoints,
        };
        Load {
            plan: Plan {
                start: Some(start),
                turn: scenario.turn(),
                turns: scenario.turns(),
                requests: Requests::PerTurn {
                    kinds: scenario.requests(scenario.requests_from()),
                    from: scenario.requests_from() - scenario.first_turn(),
                },
                speed: self.speed,
            },
            route,
            rotation: scenario.rotation(),
            connections: Connections::OnePerRequest,
            timeout: TIMEOUT.into(),
            stores: addresses.stores,
        }
    }

    fn role(&self, program: &Program, name: String, mut arguments: Vec<String>) -> Role {
        arguments.extend([
            "--script=-".to_owned(),
            "--listen=127.0.0.1:0".to_owned(),
            format!("--speed={}", self.speed),
            format!("--seed={}", self.seed),
        ]);
        Role { program: program.clone(), name, arguments, script: self.script.text.clone() }
    }
}
