//! What people see while they wait.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a sweep shows itself before the bar appears: about a second.
const PATIENCE: u32 = 10;

/// A bar on a terminal, for a sweep that takes longer than a moment; elsewhere nothing. On standard error.
pub struct Progress {
    bar: ProgressBar,
    shown: u32,
}

impl Progress {
    /// The progress of a sweep over so many policies.
    pub fn new(policies: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(policies as u64), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("[{bar:40}] {pos}/{len} policies, {eta} left") {
            bar.set_style(style.progress_chars("=> "));
        }
        Self { bar, shown: 0 }
    }

    /// So many are done.
    pub fn show(&mut self, done: usize) {
        self.shown += 1;
        if self.shown == PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.set_position(done as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
