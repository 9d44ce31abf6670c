//! What a flow sees: [`Ctx`] and the durable futures that its calls return.
//! Nothing happens here: a call becomes a request to the machine when it is first polled.

mod ctx;
mod decide;
mod part;
mod place;
mod run;
mod sleep;
mod suspend;

pub use ctx::{Ctx, Uuid};
pub use decide::Decide;
pub use part::PartRun;
pub use run::Run;
pub use sleep::Sleep;
pub use suspend::Suspend;
