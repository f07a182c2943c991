//! The one strict reader for what users write, and the writer whose text every YAML reader takes alike.
//!
//! Strict: duplicate and unknown keys are refused, `yes` is no boolean, an unquoted number is no string, and one
//! file holds one document. Errors name file, line, column and field, and show the line.

use std::borrow::Cow;
use std::fmt;
use std::io::Read as _;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_yaml::{DefaultMessageFormatter, Error, MessageFormatter, Options};

/// The largest file that is read, in bytes: 16 MiB.
pub const MAX_BYTES: u64 = 16 << 20;

/// A file that users write could not be read.
#[derive(Debug, thiserror::Error)]
pub enum YamlError {
    /// The system would not give it.
    #[error("{file}: cannot be read: {source}")]
    Io {
        /// Which file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is too large to be meant.
    #[error("{file}: larger than {} MiB", MAX_BYTES >> 20)]
    TooLarge {
        /// Which file.
        file: String,
    },
    /// It says something that cannot be taken.
    #[error(transparent)]
    Content(Box<ContentError>),
}

/// What cannot be taken, and where it stands.
#[derive(Debug)]
pub struct ContentError {
    /// Which file.
    pub file: String,
    /// The field, from the document's root, such as `spec.liveness.period`; empty if it is the document itself.
    pub path: String,
    error: Error,
}

/// A value cannot be written as YAML.
#[derive(Debug, thiserror::Error)]
#[error("cannot be written as YAML: {0}")]
pub struct WriteError(#[from] serde_yaml::ser_error::Error);

/// Reads the one document in a file.
pub fn from_path<T: DeserializeOwned>(path: &Path) -> Result<T, YamlError> {
    from_str(&path.display().to_string(), &read_text(path)?)
}

/// Reads the one document in `text`; errors speak of it as `file`.
pub fn from_str<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, YamlError> {
    let mut path = String::new();
    serde_yaml::with_deserializer_from_str_with_options(text, options(), |deserializer| {
        serde_path_to_error::deserialize(deserializer).map_err(|error| {
            path = error.path().to_string();
            error.into_inner()
        })
    })
    .map_err(|error| content(file, path, error))
}

/// The text of a file, if it is not larger than [`MAX_BYTES`].
pub fn read_text(path: &Path) -> Result<String, YamlError> {
    let file = path.display().to_string();
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|opened| opened.take(MAX_BYTES + 1).read_to_string(&mut text));
    match read {
        Ok(bytes) if bytes as u64 > MAX_BYTES => Err(YamlError::TooLarge { file }),
        Ok(_) => Ok(text),
        Err(source) => Err(YamlError::Io { file, source }),
    }
}

/// YAML in which every string that some reader would take for something else is quoted.
pub fn to_string<T: Serialize>(value: &T) -> Result<String, WriteError> {
    Ok(serde_yaml::to_string(value)?)
}

fn content(file: &str, path: String, error: Error) -> YamlError {
    YamlError::Content(Box::new(ContentError { file: file.to_owned(), path, error }))
}

fn options() -> Options {
    serde_yaml::options! { strict_booleans: true, no_schema: true }
}

impl ContentError {
    /// Line and column, both from 1, where they are known.
    pub fn place(&self) -> Option<(u64, u64)> {
        self.error.location().map(|location| (location.line(), location.column()))
    }
}

impl std::error::Error for ContentError {}

impl fmt::Display for ContentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let formatter = WithPath(&self.path);
        let mut options = serde_yaml::RenderOptions::new(&formatter);
        options.source_name = Some(&self.file);
        f.write_str(&self.error.render_with_options(options))
    }
}

/// Puts the field before what is said of it.
struct WithPath<'a>(&'a str);

impl MessageFormatter for WithPath<'_> {
    fn format_message<'a>(&self, error: &'a Error) -> Cow<'a, str> {
        let message = DefaultMessageFormatter.format_message(error);
        match self.0 {
            "" | "." => message,
            path => Cow::Owned(format!("{path}: {message}")),
        }
    }
}
