//! What the endpoints of the scripted app answer, which is all that a rule can see of a replica.

use super::{Condition, Store, Stores, TrueState};
use crate::api::Handler;

/// A rule asks what the scripted app cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswerable {
    /// The field of the rule.
    pub field: &'static str,
    /// What is wrong with it.
    pub sentence: String,
}

/// An endpoint of the scripted app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `/started`: is startup over?
    Started,
    /// `/live`: does the process answer? (process scope)
    Live,
    /// `/shallow`: the same question, as a health endpoint is often written.
    Shallow,
    /// `/ready`: does it serve? (dependency scope)
    Ready,
    /// `/deep-local`: and does its own write path work?
    DeepLocal,
    /// `/deep-shared`: and is the store up that all replicas write to?
    DeepShared,
    /// `/deep-all`: and is the billing store up?
    DeepAll,
    /// `/request`: the work itself.
    Request,
    /// A TCP connection, which the process accepts whatever state it is in.
    Connection,
}

impl Endpoint {
    /// Every endpoint that has a path.
    pub const WITH_PATH: [Self; 8] = [
        Self::Started,
        Self::Live,
        Self::Shallow,
        Self::Ready,
        Self::DeepLocal,
        Self::DeepShared,
        Self::DeepAll,
        Self::Request,
    ];

    /// The endpoint at a path, if there is one; a query does not matter.
    pub fn at(path: &str) -> Option<Self> {
        let path = path.split('?').next();
        Self::WITH_PATH.into_iter().find(|endpoint| endpoint.path() == path)
    }

    /// The endpoint that a handler asks.
    pub fn asked_by(handler: &Handler) -> Result<Self, Unanswerable> {
        let Some(path) = asked_path(handler)? else { return Ok(Self::Connection) };
        Self::at(path).ok_or_else(|| {
            let paths: Vec<_> = Self::WITH_PATH.into_iter().filter_map(Self::path).collect();
            let sentence = format!("the scripted app has no endpoint {path}; it has {}", paths.join(", "));
            Unanswerable { field: "httpGet.path", sentence }
        })
    }

    /// Its path; a connection has none.
    pub const fn path(self) -> Option<&'static str> {
        match self {
            Self::Started => Some("/started"),
            Self::Live => Some("/live"),
            Self::Shallow => Some("/shallow"),
            Self::Ready => Some("/ready"),
            Self::DeepLocal => Some("/deep-local"),
            Self::DeepShared => Some("/deep-shared"),
            Self::DeepAll => Some("/deep-all"),
            Self::Request => Some("/request"),
            Self::Connection => None,
        }
    }

    /// Whether a replica in that condition says yes, with the shared stores as they are. A stuck process that has
    /// started counts as started here; a real one answers nothing at all.
    pub const fn says_yes(self, condition: Condition, stores: Stores) -> bool {
        match self {
            Self::Connection => !condition.is(TrueState::Stopped),
            Self::Started => {
                !condition.is(TrueState::Starting)
                    && !condition.is(TrueState::Stopped)
                    && !condition.is(TrueState::Silent)
            }
            Self::Live | Self::Shallow => condition.is_up(),
            Self::Ready | Self::Request => condition.can_read(),
            Self::DeepLocal => condition.can_read() && !condition.is(TrueState::HalfDown),
            Self::DeepShared => Self::DeepLocal.says_yes(condition, stores) && stores.up(Store::State),
            Self::DeepAll => Self::DeepShared.says_yes(condition, stores) && stores.up(Store::Billing),
        }
    }
}

/// The path that a handler asks, if the scripted app can be asked so; `None` for a mere connection.
pub(super) fn asked_path(handler: &Handler) -> Result<Option<&str>, Unanswerable> {
    let refuse = |field, sentence: &str| Err(Unanswerable { field, sentence: sentence.to_owned() });
    match handler {
        Handler::Tcp(_) => Ok(None),
        Handler::Exec(_) => refuse("exec", "the scripted app runs no commands"),
        Handler::Grpc(_) => refuse("grpc", "the scripted app has no gRPC health service"),
        Handler::Http(get) if get.tls().is_some() => refuse("httpGet.scheme", "the scripted app speaks no TLS"),
        Handler::Http(get) if !get.expects(200) || get.expects(503) => {
            refuse("httpGet.expectedStatuses", "the scripted app says yes with 200 and no with 503")
        }
        Handler::Http(get) if get.health().is_some() => refuse("httpGet.health", "the scripted app has no health body"),
        Handler::Http(get) => Ok(Some(get.path())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::test_support::handler;

    #[test]
    fn each_endpoint_sees_only_its_own_scope() {
        let failing = |endpoint: Endpoint| {
            let no = |state: &TrueState| !endpoint.says_yes((*state).into(), Stores::UP);
            TrueState::ALL.into_iter().filter(no).collect::<Vec<_>>()
        };
        let [starting, stuck, stopped, silent, warming, lost, half_down, _] = TrueState::ALL;
        assert_eq!(failing(Endpoint::Connection), [stopped]);
        assert_eq!(failing(Endpoint::Started), [starting, stopped, silent]);
        assert_eq!(failing(Endpoint::Live), [starting, stuck, stopped, silent]);
        assert_eq!(failing(Endpoint::Shallow), failing(Endpoint::Live));
        assert_eq!(failing(Endpoint::Ready), [starting, stuck, stopped, silent, warming, lost]);
        assert_eq!(failing(Endpoint::Request), failing(Endpoint::Ready));
        for deep in [Endpoint::DeepLocal, Endpoint::DeepShared, Endpoint::DeepAll] {
            assert_eq!(failing(deep), [starting, stuck, stopped, silent, warming, lost, half_down]);
        }
    }

    #[test]
    fn only_the_deeper_endpoints_see_the_shared_stores() {
        let seeing = |store| {
            let no = move |endpoint: &Endpoint| !endpoint.says_yes(Condition::HEALTHY, Stores::without(store));
            Endpoint::WITH_PATH.into_iter().filter(no).collect::<Vec<_>>()
        };
        assert_eq!(seeing(Store::State), [Endpoint::DeepShared, Endpoint::DeepAll]);
        assert_eq!(seeing(Store::Billing), [Endpoint::DeepAll]);
    }

    #[test]
    fn a_rule_may_ask_only_what_the_app_can_answer() {
        for (rule, endpoint) in [
            (json!({"tcpSocket": {"port": 80}}), Ok(Endpoint::Connection)),
            (json!({"httpGet": {"port": 80, "path": "/live"}}), Ok(Endpoint::Live)),
            (json!({"httpGet": {"port": 80, "path": "/healthz"}}), Err("httpGet.path")),
            (json!({"grpc": {"port": 80}}), Err("grpc")),
            (json!({"exec": {"command": ["true"]}}), Err("exec")),
            (json!({"httpGet": {"port": 80, "path": "/live", "scheme": "HTTPS"}}), Err("httpGet.scheme")),
            (
                json!({"httpGet": {"port": 80, "path": "/live", "expectedStatuses": ["200-599"]}}),
                Err("httpGet.expectedStatuses"),
            ),
        ] {
            let found = Endpoint::asked_by(&handler(rule.clone())).map_err(|refused| refused.field);
            assert_eq!(found, endpoint, "{rule}");
        }
    }

    #[test]
    fn a_path_is_found_whatever_its_query() {
        assert_eq!(Endpoint::at("/live?deep=1"), Some(Endpoint::Live));
        assert_eq!(Endpoint::at("/deep-all"), Some(Endpoint::DeepAll));
        assert_eq!(Endpoint::at("/lively"), None);
    }
}
