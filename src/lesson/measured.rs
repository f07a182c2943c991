//! What was measured of a lesson's settings, all of them at the same time.

use std::num::NonZeroU32;

use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use super::LessonError;

/// Rows, and what went wrong.
pub struct Measured<Row> {
    /// One for each setting that was measured, in their order.
    pub rows: Vec<Row>,
    /// The first thing that went wrong, if anything did.
    pub done: Result<(), LessonError>,
}

/// Runs so often, or until a run goes wrong or somebody wants it to stop: the runs before that, and what went wrong.
pub async fn repeated<Run>(
    times: NonZeroU32,
    stop: &CancellationToken,
    mut run: impl AsyncFnMut() -> Result<Run, LessonError>,
) -> (Vec<Run>, Result<(), LessonError>) {
    let mut runs = Vec::new();
    while runs.len() < times.get() as usize && !stop.is_cancelled() {
        match run().await {
            Ok(run) => runs.push(run),
            Err(error) => return (runs, Err(error)),
        }
    }
    (runs, Ok(()))
}

impl<Row> Measured<Row> {
    /// Nothing, since this went wrong before.
    pub fn nothing(error: LessonError) -> Self {
        Self { rows: Vec::new(), done: Err(error) }
    }

    /// Measures all settings at the same time: a row of each for which there is one, whatever went wrong.
    pub async fn of<F>(settings: impl Iterator<Item = F>) -> Self
    where
        F: Future<Output: Into<Self>>,
    {
        let mut measured = Self { rows: Vec::new(), done: Ok(()) };
        for setting in join_all(settings).await {
            measured = measured.and(setting.into(), |rows, more| rows.extend(more));
        }
        measured
    }

    /// Puts what was measured in another world beside it.
    #[must_use]
    pub fn and(mut self, others: Measured<Row>, join: impl FnOnce(&mut Vec<Row>, Vec<Row>)) -> Self {
        join(&mut self.rows, others.rows);
        self.done = self.done.and(others.done);
        self
    }

    /// The same, if nobody wanted it to stop.
    #[must_use]
    pub fn unless_stopped(mut self, stop: &CancellationToken) -> Self {
        if stop.is_cancelled() {
            self.done = self.done.and(Err(LessonError::Interrupted));
        }
        self
    }

    /// The same, after what came of it before.
    #[must_use]
    pub fn after(mut self, done: Result<(), LessonError>) -> Self {
        self.done = done.and(self.done);
        self
    }

    /// Shows what there is, and then says what went wrong.
    ///
    /// # Errors
    /// The first thing that went wrong.
    pub fn show(self, show: impl FnOnce(&[Row]) -> Result<(), LessonError>) -> Result<(), LessonError> {
        if !self.rows.is_empty() {
            show(&self.rows)?;
        }
        self.done
    }
}

impl<Row> From<Result<Option<Row>, LessonError>> for Measured<Row> {
    fn from(row: Result<Option<Row>, LessonError>) -> Self {
        match row {
            Ok(row) => Self { rows: row.into_iter().collect(), done: Ok(()) },
            Err(error) => Self::nothing(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE: NonZeroU32 = NonZeroU32::new(5).unwrap();

    #[tokio::test]
    async fn a_run_that_goes_wrong_costs_nothing_that_was_finished_before() {
        let mut run = 0;
        let (runs, done) = repeated(FIVE, &CancellationToken::new(), async || {
            run += 1;
            if run < 4 { Ok(run) } else { Err(LessonError::Program(std::io::ErrorKind::NotFound.into())) }
        })
        .await;
        assert_eq!((runs, done.is_err()), (vec![1, 2, 3], true));
    }

    #[tokio::test]
    async fn who_wants_it_to_stop_waits_for_no_further_run() {
        let stop = CancellationToken::new();
        let run = async || {
            stop.cancel();
            Ok(())
        };
        let (runs, done) = repeated(FIVE, &stop, run).await;
        assert_eq!((runs.len(), done.is_ok()), (1, true));
    }

    #[test]
    fn what_was_finished_is_shown_before_what_went_wrong_is_told() {
        let measured = Measured { rows: vec![1], done: Ok(()) }.after(Err(LessonError::Interrupted));
        let mut shown = Vec::new();
        let done = measured.show(|rows| {
            shown.extend_from_slice(rows);
            Ok(())
        });
        assert_eq!((shown, done.is_err()), (vec![1], true));
    }
}
