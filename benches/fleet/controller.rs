//! The program itself, as a process of its own.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::process::Watched;

const LISTEN: &str = "127.0.0.1:18090";
/// The environment that `deploy/04-controller.yaml` gives it.
const ALLOCATOR: [(&str, &str); 2] = [("MALLOC_ARENA_MAX", "1"), ("MALLOC_MMAP_THRESHOLD_", "131072")];

/// A controller that ends with the value.
pub struct Controller(pub Watched);

impl Controller {
    /// Starts one, which reaches the API server through that address, if there is one.
    pub fn start(through: Option<SocketAddr>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probe-policy"));
        command.args(["controller", "--listen", LISTEN]).envs(ALLOCATOR).stdout(Stdio::null()).stderr(Stdio::null());
        if let Some(address) = through {
            let path = env::temp_dir().join("probe-policy-bench-kubeconfig");
            let cluster = format!("{{name: c, cluster: {{server: \"http://{address}\"}}}}");
            let context = "{name: c, context: {cluster: c, user: u}}";
            let config = format!(
                "apiVersion: v1\nkind: Config\nclusters: [{cluster}]\nusers: [{{name: u, user: {{}}}}]\n\
                 contexts: [{context}]\ncurrent-context: c\n"
            );
            fs::write(&path, config).unwrap();
            command.env("KUBECONFIG", path);
        }
        Self(Watched(command.spawn().unwrap()))
    }

    /// Waits until it leads and keeps so many pods.
    pub async fn ready(&self, pods: usize) {
        figures(&[("probe_policy_leader", 1), ("probe_policy_replicas", pods)]).await;
    }

    /// Waits until it has judged so many pods, and written what is to be remembered of them.
    pub async fn settled(&self, pods: usize) {
        figures(&[("probe_policy_applied", pods), ("probe_policy_gates_unwritten", 0)]).await;
    }
}

/// Waits until these metrics stand so, under whatever labels.
async fn figures(wanted: &[(&str, usize)]) {
    loop {
        let text = get("/metrics").await.unwrap_or_default();
        let figure = |name: &str| text.lines().find_map(|line| value(line.strip_prefix(name)?));
        if wanted.iter().all(|(name, value)| figure(name) == Some(*value)) {
            return;
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// What follows a metric's name and labels.
fn value(rest: &str) -> Option<usize> {
    let value = rest.strip_prefix('{').map_or(Some(rest), |rest| Some(rest.split_once('}')?.1));
    value?.strip_prefix(' ')?.parse().ok()
}

async fn get(path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(LISTEN).await?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text)
}
