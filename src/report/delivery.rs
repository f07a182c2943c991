//! Where a report goes.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;

use clap::Args;

use super::{Output, Report};

/// The form of a report and where it goes.
#[derive(Clone, Debug, Args)]
pub struct Delivery {
    /// How to print what was found
    #[arg(long, value_enum, default_value_t)]
    output: Output,
    /// Write that to this file, and the table for people to standard output
    #[arg(long, value_name = "PATH")]
    output_file: Option<PathBuf>,
}

/// A report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum NotDelivered {
    /// To standard output.
    #[error("cannot print the figures")]
    Printing(#[source] io::Error),
    /// To a file; it was printed before.
    #[error("{}: cannot be written: {why}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// What the system said.
        why: io::Error,
    },
}

impl Delivery {
    /// The form that was asked for.
    pub const fn form(&self) -> Output {
        self.output
    }

    /// The form in which the report is printed; the file has its own.
    pub const fn printed(&self) -> Output {
        if self.output_file.is_some() { Output::Table } else { self.output }
    }

    /// Prints the report, and then writes the file, if there is to be one. That nobody reads on is no error.
    pub fn deliver(&self, report: &Report) -> Result<(), NotDelivered> {
        self.save_after(write(report, self.printed(), io::stdout().lock()), report)
    }

    /// The same, but prints the figures as one line of JSON, after others.
    pub fn deliver_after_lines(&self, report: &Report) -> Result<(), NotDelivered> {
        let figures = serde_json::json!({"event": "figures", "figures": report.json()});
        self.save_after(writeln!(io::stdout().lock(), "{figures}"), report)
    }

    /// Writes the file whatever came of the printing.
    fn save_after(&self, printed: io::Result<()>, report: &Report) -> Result<(), NotDelivered> {
        if let Some(file) = &self.output_file {
            File::create(file)
                .and_then(|opened| write(report, self.output, opened))
                .map_err(|why| NotDelivered::File { file: file.clone(), why })?;
        }
        printed.or_else(ignore_closed_pipe).map_err(NotDelivered::Printing)
    }
}

/// That whoever reads what is printed has seen enough is no error.
pub fn ignore_closed_pipe(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

fn write(report: &Report, output: Output, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    report.write(output, &mut out)?;
    out.flush()
}
