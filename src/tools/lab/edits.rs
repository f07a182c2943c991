//! A policy's file, which people edit while the policy is in force.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::screen::Screen;
use crate::api::yaml::{self, YamlError};
use crate::api::{ParsedPolicy, policy_from_str};
use crate::engine::{Phase, Time};
use crate::local::PacedPolicy;
use crate::scenario::Speed;

/// From one look at the file to the next. What stays the same for two looks has been written to its end.
const LOOK: Duration = Duration::from_millis(200);

/// A policy's file.
#[derive(Clone, Debug)]
pub struct PolicyFile {
    path: PathBuf,
    speed: Speed,
    /// What it said when it was last acted on.
    known: Content,
}

/// What the file says, or why it says nothing.
type Content = Result<String, String>;

impl PolicyFile {
    /// Reads the file.
    ///
    /// # Errors
    /// If there is no policy in it that can be run at that speed.
    pub fn open(path: &Path, speed: Speed) -> Result<(Self, ParsedPolicy, PacedPolicy), YamlError> {
        let text = yaml::read_text(path)?;
        let (parsed, paced) = parse(path, &text, speed)?;
        Ok((Self { path: path.to_owned(), speed, known: Ok(text) }, parsed, paced))
    }

    /// Looks for edits for as long as somebody wants them. A valid one is passed on; of an invalid one people are told,
    /// and the last valid policy stays in force.
    pub async fn follow(mut self, edits: UnboundedSender<PacedPolicy>, screen: Screen) {
        let mut seen = self.known.clone();
        while !edits.is_closed() {
            tokio::time::sleep(LOOK).await;
            let now = yaml::read_text(&self.path).map_err(|error| error.to_string());
            if now != seen {
                seen = now;
            } else if seen != self.known {
                self.known.clone_from(&seen);
                match self.policy() {
                    Ok(policy) => {
                        screen.say(&format!("{}: in force", self.path.display()));
                        // Nobody wants it any more only when the run is over.
                        let _ = edits.send(policy);
                    }
                    Err(why) => screen.say(&format!("{why}; the last valid policy stays in force")),
                }
            }
        }
    }

    fn policy(&self) -> Result<PacedPolicy, String> {
        let (_, paced) = parse(&self.path, self.known.as_ref()?, self.speed).map_err(|error| in_a_line(&error))?;
        Ok(paced)
    }
}

fn parse(path: &Path, text: &str, speed: Speed) -> Result<(ParsedPolicy, PacedPolicy), YamlError> {
    let file = path.display().to_string();
    let spec = policy_from_str(&file, text)?.spec;
    let parsed = spec.parse(1, Phase::Aligned { origin: Time::ZERO });
    let paced = parsed.and_then(|parsed| Ok((PacedPolicy::new(&parsed, speed)?, parsed)));
    let (paced, parsed) = paced.map_err(|error| yaml::refuse(&file, text, &error.path, &error.sentence))?;
    Ok((parsed, paced))
}

/// The sentence without the line of the file that it is about.
fn in_a_line(error: &YamlError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
