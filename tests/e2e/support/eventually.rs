//! Waiting for what must come, and for what must not.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use tokio::time::{Instant, sleep};

const POLL: Duration = Duration::from_millis(100);
/// How long a slow machine may take for what it should do in seconds.
const PATIENCE: Duration = Duration::from_secs(90);

/// Looks again and again until `check` gives what is waited for. In the end the test fails with what was seen last.
pub async fn eventually<T>(what: &str, mut check: impl AsyncFnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match check().await {
            Ok(found) => return found,
            Err(last) if Instant::now() >= deadline => panic!("{what}: not within {PATIENCE:?}; last seen: {last}"),
            Err(_) => sleep(POLL).await,
        }
    }
}

/// Lets so many periods of a second pass, in which something that must not happen would have happened.
pub async fn let_pass(periods: u64) {
    sleep(seconds(periods)).await;
}

/// Waits for an instant of the script.
pub async fn until(instant: Timestamp) {
    let left = instant.duration_since(Timestamp::now());
    sleep(Duration::try_from(left).unwrap_or_default()).await;
}

/// So many seconds.
pub fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}
