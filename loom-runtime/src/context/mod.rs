//! What a flow sees: [`Ctx`] and the durable futures that its calls return.
//! Nothing happens here: a call becomes a request to the machine when it is first polled.

mod background;
mod call_dynamic;
mod cancelled;
mod child;
mod ctx;
mod decide;
mod execute;
mod negotiate;
mod parallel;
mod part;
mod place;
mod receive;
mod run;
mod sleep;
mod suspend;
mod timeout;

pub(crate) use background::Root;
pub use call_dynamic::CallDynamic;
pub use cancelled::Cancellation;
pub use child::{Child, ChildCall, Spawn};
pub use ctx::{Ctx, Uuid};
pub(crate) use decide::Choices;
pub use decide::Decide;
pub use execute::{Execute, ExecuteError};
pub use negotiate::NegotiateBudget;
pub use parallel::{Drain, FailFast, Failures, Parallel, Scope};
pub use part::PartRun;
pub use receive::{Receive, ReceiveUpdate, Update};
pub use run::Run;
pub use sleep::Sleep;
pub use suspend::Suspend;
pub use timeout::Timeout;
