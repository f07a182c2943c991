//! What a process costs, seen from outside.

use std::fs;
use std::process::Child;
use std::time::Duration;

/// A process that ends with the value.
pub struct Watched(pub Child);

impl Watched {
    /// What its threads have used of the processors.
    pub fn cpu(&self) -> Duration {
        let threads = fs::read_dir(format!("/proc/{}/task", self.0.id())).unwrap();
        let used = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("schedstat")).ok());
        used.filter_map(|line| line.split(' ').next()?.parse().ok()).map(Duration::from_nanos).sum()
    }

    /// A figure of its memory: `VmRSS` now, `VmHWM` at most.
    pub fn mib(&self, figure: &str) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':')).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
