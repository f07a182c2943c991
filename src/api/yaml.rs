//! The one strict reader for what users write, and the writer whose text every YAML reader takes alike.
//!
//! Strict: duplicate and unknown keys are refused, `yes` is no boolean, an unquoted number is no string, and one
//! file holds one document. Errors name file, line, column and field, and show the line.

use std::fmt;
use std::io::Read as _;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_yaml::{DefaultMessageFormatter, Error, MessageFormatter, Options};

use super::place::place_of;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentError {
    /// Which file.
    pub file: String,
    /// Where in it, if that is known.
    pub place: Option<Place>,
    /// The field, from the document's root, such as `spec.liveness.period`; empty if it is the document itself.
    pub path: String,
    /// What is wrong.
    pub sentence: String,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, counted from 1.
    pub line: u64,
    /// The character in that line, counted from 1.
    pub column: u64,
    /// The line itself.
    pub text: String,
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
    .map_err(|error| {
        let place = error.location().map(|location| (location.line(), location.column()));
        // A key that could not be read is a question mark in the path.
        content(file, text, place, path.trim_end_matches(['.', '?']), &sentence(&error))
    })
}

/// The error that says `sentence` of the field at `path`, where that field stands in `text`, or else where the nearest
/// field around it stands.
pub fn refuse(file: &str, text: &str, path: &str, sentence: &str) -> YamlError {
    content(file, text, place_of(text, path), path, sentence)
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

fn content(file: &str, text: &str, place: Option<(u64, u64)>, path: &str, sentence: &str) -> YamlError {
    let place = place.map(|(line, column)| {
        let index = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        Place { line, column, text: text.lines().nth(index).unwrap_or_default().to_owned() }
    });
    YamlError::Content(Box::new(ContentError {
        file: file.to_owned(),
        place,
        path: printable(path),
        sentence: printable(sentence),
    }))
}

/// What is wrong, in terms of the file and not of the library that read it.
fn sentence(error: &Error) -> String {
    if let Error::MultipleDocuments { .. } = error {
        "a second document begins here, but one file holds one document".to_owned()
    } else if let Error::DuplicateMappingKey { key: Some(key), .. } = error {
        format!("`{key}` is here for the second time")
    } else if let Error::QuotingRequired { value, .. } = error {
        format!("{value} must be in quotes to be text")
    } else if let Error::Eof { .. } = error {
        "the file ends here, but something is missing".to_owned()
    } else if let Error::InvalidScalar { ty, .. } = error {
        format!("must be {}", in_words(ty))
    } else if let Error::Unexpected { expected, .. } = error {
        format!("must be {}", in_words(expected))
    } else if let Error::SerdeInvalidValue { expected, .. } = error {
        format!("must be {}", in_words(expected))
    } else {
        DefaultMessageFormatter.format_message(error).into_owned()
    }
}

/// What is expected, where the library says it in terms of its own or of Rust.
fn in_words(expected: &str) -> &str {
    match expected {
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "i32" => "a whole number from -2147483648 to 2147483647",
        "u64" | "i64" => "a whole number",
        "a nonzero u32" => "a whole number from 1 to 4294967295",
        "floating point" => "a number",
        "mapping start" => "a mapping of names to values",
        "sequence start" => "a list",
        "string scalar" => "text",
        other => other,
    }
}

/// A file may hold what a terminal would obey.
fn printable(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn options() -> Options {
    serde_yaml::options! { strict_booleans: true, no_schema: true, with_snippet: false }
}

impl std::error::Error for ContentError {}

/// `file:line:column: path: sentence`, then the line with a mark under the column.
impl fmt::Display for ContentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(Place { line, column, .. }) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        if !self.path.is_empty() {
            write!(f, ": {}", self.path)?;
        }
        write!(f, ": {}", self.sentence)?;
        match &self.place {
            Some(place) => place.fmt(f),
            None => Ok(()),
        }
    }
}

/// The line with a mark under the column, if it is short enough to be looked at.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.text.trim().is_empty() || self.text.chars().count() > 160 {
            return Ok(());
        }
        let indent = usize::try_from(self.column.saturating_sub(1)).unwrap_or_default();
        let line = printable(&self.text);
        write!(f, "\n  {line}\n  {:indent$}^", "")
    }
}
