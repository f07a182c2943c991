//! Envoy's health checks, on one worker thread.

use std::process::Command;

use serde_json::json;

use super::super::process::Watched;
use super::super::{PORT, Task, measure};
use super::{program, write};

/// Checks every target, and serves nothing.
pub fn start(task: Task) -> Watched {
    let period = format!("{}s", task.period_ms as f64 / 1e3);
    let check = json!({
        "timeout": "1s",
        "interval": period,
        "no_traffic_interval": period,
        "initial_jitter": period,
        "unhealthy_threshold": 3,
        "healthy_threshold": 1,
        "reuse_connection": false,
        "http_health_check": {"path": "/healthz", "host": "x"},
    });
    let endpoint = |index| {
        let address = json!({"address": Task::address(index).ip().to_string(), "port_value": PORT});
        json!({"endpoint": {"address": {"socket_address": address}}})
    };
    let endpoints: Vec<_> = (0..task.targets).map(endpoint).collect();
    let cluster = json!({
        "name": "targets",
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": {"cluster_name": "targets", "endpoints": [{"lb_endpoints": endpoints}]},
        "health_checks": [check],
    });
    let config = json!({"static_resources": {"clusters": [cluster]}});
    let mut command = Command::new(program("envoy"));
    command.arg("-c").arg(write("envoy.json", &config.to_string()));
    command.args(["--concurrency", "1", "-l", "off", "--disable-hot-restart"]);
    measure::start(command)
}
