//! The command line that users have.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// What a command said.
#[derive(Debug)]
pub struct Answer {
    pub succeeded: bool,
    pub stdout: String,
    pub stderr: String,
}

/// Runs kubectl in the repository's folder; it must succeed.
pub async fn kubectl(args: &[&str]) -> String {
    let answer = kubectl_with(args, "").await;
    assert!(answer.succeeded, "kubectl {args:?}: {}{}", answer.stdout, answer.stderr);
    answer.stdout
}

/// Runs kubectl in the repository's folder with this on its standard input.
pub async fn kubectl_with(args: &[&str], stdin: &str) -> Answer {
    let mut child = Command::new("kubectl")
        .args(args)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("kubectl is in the PATH");
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).await.unwrap();
    let output = child.wait_with_output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Answer { succeeded: output.status.success(), stdout: text(output.stdout), stderr: text(output.stderr) }
}
