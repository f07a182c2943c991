//! The worlds that a lesson can be run in, one after the other.

use clap::ValueEnum;
use tokio_util::sync::CancellationToken;

use super::cluster_world::ClusterError;
use super::measured::Measured;
use crate::report::Compared;

/// A world that a lesson can be run in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum World {
    /// Simulated replicas in logical time
    Model,
    /// Processes on this machine
    Local,
    /// Pods of the current kubeconfig's cluster
    Cluster,
    /// The model, processes, and pods if there is a cluster, beside each other
    All,
}

impl World {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Local => "local",
            Self::Cluster => "cluster",
            Self::All => "all",
        }
    }
}

/// What was measured on processes, and then on pods, unless somebody wants it to stop. If there is no cluster, that is
/// said on standard error and nothing is missing.
pub async fn everywhere(
    local: Measured<Compared>,
    cluster: impl Future<Output = Result<Measured<Compared>, ClusterError>>,
    stop: &CancellationToken,
) -> Measured<Compared> {
    if stop.is_cancelled() {
        return local.unless_stopped(stop);
    }
    let cluster = match cluster.await {
        Ok(cluster) => cluster,
        Err(error) if error.is_no_cluster() => {
            eprintln!("without a cluster: {error}");
            return local;
        }
        Err(error) => Measured::nothing(error.into()),
    };
    local.and(cluster, Compared::join)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Cell, beside_the_model};

    fn measured(world: &'static str, figure: u64) -> Measured<Compared> {
        let row = Compared::new("one".to_owned(), vec![Cell::Count(1)], world, vec![Cell::Count(figure)]);
        Measured { rows: vec![row], done: Ok(()) }
    }

    async fn with(cluster: Result<Measured<Compared>, ClusterError>) -> (String, Result<(), String>) {
        let Measured { rows, done } =
            everywhere(measured("local", 2), async { cluster }, &CancellationToken::new()).await;
        let json = beside_the_model(&["figure"], &rows).unwrap().json().to_string();
        (json, done.map_err(|error| error.to_string()))
    }

    #[tokio::test]
    async fn worlds_stand_beside_each_other() {
        let (json, done) = with(Ok(measured("cluster", 3))).await;
        assert!(json.contains("local") && json.contains("cluster"), "{json}");
        assert_eq!(done, Ok(()));
    }

    #[tokio::test]
    async fn a_cluster_without_a_controller_is_an_error_and_costs_nothing_that_was_measured() {
        let (json, done) = with(Err(ClusterError::NoCrd)).await;
        assert!(json.contains("local") && !json.contains("cluster"), "{json}");
        assert_eq!(done, Err(ClusterError::NoCrd.to_string()));
    }

    #[tokio::test]
    async fn who_wants_it_to_stop_waits_for_no_cluster() {
        let stop = CancellationToken::new();
        stop.cancel();
        let stopped = everywhere(measured("local", 2), std::future::pending(), &stop).await;
        assert_eq!(stopped.rows.len(), 1);
        assert!(matches!(stopped.done, Err(crate::lesson::LessonError::Interrupted)));
    }
}
