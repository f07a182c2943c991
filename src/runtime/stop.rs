//! How a process is told to end.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Told to end once, and again by those who do not want to wait.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Cancelled by the first signal: whatever was begun is brought to its end in good order.
    pub once: CancellationToken,
    /// Cancelled by the second: it ends at once.
    pub again: CancellationToken,
}

/// A token that is cancelled by SIGTERM or SIGINT.
///
/// # Errors
/// If the system does not let the process listen for signals.
pub fn stop_on_signal() -> io::Result<CancellationToken> {
    Ok(stop_on_signals()?.once)
}

/// The same, for a process that also hears the second signal.
///
/// # Errors
/// If the system does not let the process listen for signals.
pub fn stop_on_signals() -> io::Result<Stop> {
    let stop = Stop::default();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let Stop { once, again } = stop.clone();
    tokio::spawn(async move {
        for told in [once, again] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            told.cancel();
        }
    });
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    #[tokio::test]
    async fn the_second_signal_is_heard_too() {
        let stop = stop_on_signals().unwrap();
        kill_process(getpid(), Signal::INT).unwrap();
        stop.once.cancelled().await;
        assert!(!stop.again.is_cancelled());
        kill_process(getpid(), Signal::TERM).unwrap();
        stop.again.cancelled().await;
    }
}
