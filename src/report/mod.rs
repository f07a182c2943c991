//! What came of a run, in any world, and how it is shown: figures, tables and the forms they are printed in.

mod cell;
mod compared;
mod delivery;
mod figures;
mod observe;
mod output;
mod page;
mod recording;
mod table;

pub use cell::{Cell, decimals, minus, of_cells};
pub use compared::{Compared, beside_the_model, median};
pub use delivery::{Delivery, NotDelivered, ignore_closed_pipe};
pub use figures::{COLUMNS, Figures, Restart, Traffic};
pub use output::{Output, Report};
pub use page::{Map, Mapped, Metric, Picture, Worse};
pub use recording::{Decision, Lane, Losses, Membership, Recording, Stretch};
pub use table::Table;
