//! The process of a container, which the machine that runs the nodes can see.

use std::fs;
use std::process::Command;

/// A process that a test may stop or kill. A stopped one goes on when this is dropped.
pub struct Process {
    pid: String,
}

impl Process {
    /// The process of a container, by an ID such as `containerd://5f0c...`.
    pub fn of_container(id: &str) -> Self {
        let id = id.rsplit('/').next().unwrap();
        let in_container =
            |pid: &String| fs::read_to_string(format!("/proc/{pid}/cgroup")).is_ok_and(|c| c.contains(id));
        let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let pid = processes.filter(|name| name.parse::<u32>().is_ok()).find(in_container);
        Self { pid: pid.unwrap_or_else(|| panic!("this machine sees no process of container {id}")) }
    }

    /// Kills it without warning.
    pub async fn kill(&self) {
        self.signal("KILL").await;
    }

    /// Freezes it.
    pub async fn stop(&self) {
        self.signal("STOP").await;
    }

    /// Lets it go on.
    pub async fn resume(&self) {
        self.signal("CONT").await;
    }

    /// Drops what its pod sends to these addresses, until that is dropped.
    pub fn cut_off_from(&self, addresses: Vec<String>) -> Cut {
        let cut = Cut { pid: self.pid.clone(), addresses };
        cut.change("-I");
        cut
    }

    async fn signal(&self, signal: &str) {
        as_root(&format!("kill -{signal} {}", self.pid)).unwrap();
    }
}

/// Addresses that the pod of a process cannot reach for as long as this lives.
pub struct Cut {
    pid: String,
    addresses: Vec<String>,
}

impl Cut {
    fn change(&self, change: &str) {
        for address in &self.addresses {
            as_root(&format!("nsenter -t {} -n iptables -w {change} OUTPUT -d {address} -j DROP", self.pid)).unwrap();
        }
    }
}

impl Drop for Cut {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.change("-D");
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = as_root(&format!("kill -CONT {}", self.pid));
    }
}

/// Runs a command as this user, or else as root.
fn as_root(command: &str) -> Result<(), String> {
    let either = format!("{command} 2>/dev/null || sudo -n {command} 2>/dev/null");
    let status = Command::new("sh").args(["-c", &either]).status().map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("no right to run {command}")) }
}
