//! What the endpoints of the scripted app answer, which is all that a rule can see of a replica.

use super::TrueState;

/// An endpoint of the scripted app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `/started`: is startup over?
    Started,
    /// `/live`: does the process answer? (process scope)
    Live,
    /// `/ready`: does it serve? (dependency scope)
    Ready,
    /// `/request`: the work itself.
    Request,
    /// A TCP connection, which the process accepts whatever state it is in.
    Connection,
}

impl Endpoint {
    /// The endpoint at a path, if there is one; a query does not matter.
    pub fn at(path: &str) -> Option<Self> {
        match path.split('?').next() {
            Some("/started") => Some(Self::Started),
            Some("/live") => Some(Self::Live),
            Some("/ready") => Some(Self::Ready),
            Some("/request") => Some(Self::Request),
            Some(_) | None => None,
        }
    }

    /// Whether a replica in that state says yes.
    pub const fn says_yes(self, state: TrueState) -> bool {
        match self {
            Self::Connection => true,
            Self::Started => !matches!(state, TrueState::Starting),
            Self::Live => !matches!(state, TrueState::Starting | TrueState::Stuck),
            Self::Ready | Self::Request => matches!(state, TrueState::Healthy),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_endpoint_sees_only_its_own_scope() {
        let failing = |endpoint: Endpoint| TrueState::ALL.into_iter().filter(move |state| !endpoint.says_yes(*state));
        assert_eq!(failing(Endpoint::Connection).count(), 0);
        assert_eq!(failing(Endpoint::Started).collect::<Vec<_>>(), [TrueState::Starting]);
        assert_eq!(failing(Endpoint::Live).collect::<Vec<_>>(), [TrueState::Starting, TrueState::Stuck]);
        assert_eq!(failing(Endpoint::Ready).count(), 3);
    }

    #[test]
    fn a_path_is_found_whatever_its_query() {
        assert_eq!(Endpoint::at("/live?deep=1"), Some(Endpoint::Live));
        assert_eq!(Endpoint::at("/lively"), None);
    }
}
