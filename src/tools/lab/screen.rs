//! Where people watch: standard error, since the figures go to standard output.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// A terminal with lines that change, below those that stay; elsewhere only lines that stay. Copies share it.
#[derive(Clone, Debug, Default)]
pub struct Screen {
    lines: MultiProgress,
}

impl Screen {
    /// Whether there is a terminal.
    pub fn is_live(&self) -> bool {
        !self.lines.is_hidden()
    }

    /// Writes a line that stays.
    pub fn say(&self, text: &str) {
        if !self.is_live() || self.lines.println(text).is_err() {
            eprintln!("{text}");
        }
    }

    /// A line that changes: its text is its message.
    pub fn line(&self) -> ProgressBar {
        let style = ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar());
        self.lines.add(ProgressBar::no_length().with_style(style))
    }

    /// Takes the lines that change away.
    pub fn clear(&self) {
        // What cannot be taken away from a terminal that is gone does not matter.
        let _ = self.lines.clear();
    }
}
