//! What came of a run, in any world, and how it is shown: figures, tables and the forms they are printed in.

mod figures;
mod output;
mod table;

pub use figures::{COLUMNS, Difference, Figures, Restart, Traffic};
pub use output::{Output, Report};
pub use table::Table;
