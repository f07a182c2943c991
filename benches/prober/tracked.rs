//! How many entries of the kernel's connection tracking attempts keep.

use std::time::Duration;
use std::{fs, thread};

use super::Task;
use super::measure::Targets;
use super::peers::Peer;

/// Longer than the kernel keeps any entry of a connection that is over.
const WINDOW: Duration = Duration::from_secs(130);
/// A line for each entry that has not run out. The kernel's own count holds those too that it has yet to sweep.
const TABLE: &str = "/proc/net/nf_conntrack";

/// Runs a prober until as many entries go as come, and says how many there are for every attempt a second: how long one
/// stays, in seconds. `None` where connections are not tracked.
pub fn seconds_kept(task: Task, peer: &Peer) -> Option<f64> {
    let mut targets = Targets::start(task);
    let _prober = peer.start(task);
    thread::sleep(WINDOW);
    let arrivals = targets.arrivals();
    let entries = fs::read_to_string(TABLE).ok()?.lines().count();
    (entries > 0).then(|| entries as f64 * arrivals.seconds / arrivals.arrived as f64)
}
