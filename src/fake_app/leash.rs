//! What ties a process to the one that started it: a pipe on standard input, which the system closes when that other
//! process is gone, whatever ended it.

use std::io;
use std::os::fd::AsFd;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe::Receiver;

/// The near end of the pipe.
#[derive(Debug)]
pub(super) struct Leash(BufReader<Receiver>);

impl Leash {
    /// Takes standard input.
    ///
    /// # Errors
    /// If that is no pipe.
    pub fn from_stdin() -> io::Result<Self> {
        let stdin = io::stdin().as_fd().try_clone_to_owned()?;
        Ok(Self(BufReader::new(Receiver::from_file(stdin.into())?)))
    }

    /// The next thing that the other process says; `None` if it is gone.
    pub async fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).await?;
        line.truncate(line.trim_end().len());
        Ok((read > 0).then_some(line))
    }

    /// Returns when the other process is gone.
    pub async fn end(&mut self) {
        while let Ok(Some(_)) = self.line().await {}
    }
}
