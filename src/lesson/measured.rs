//! What was measured of a lesson's settings, all of them at the same time.

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
