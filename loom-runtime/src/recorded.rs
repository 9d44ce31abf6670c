//! What a type needs to be kept in a log, or to come in from outside, as one bound each: for what the compiler says of a
//! type that lacks some of it. Not for anybody to implement: whatever has the parts has the whole.

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

/// What can be written into a log, read from it and described: inputs, outputs and failures of steps and flows, events,
/// states of projections.
///
/// ```
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
/// struct Receipt {
///     total: u64,
/// }
///
/// fn is_recorded<T: loom_runtime::Recorded>() {}
/// is_recorded::<Receipt>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be recorded: it needs `Serialize`, `Deserialize` and `JsonSchema`",
    label = "this is kept in the log",
    note = "help: derive what it lacks: `#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]`"
)]
pub trait Recorded: Serialize + DeserializeOwned + JsonSchema {}

// Else the compiler names the first part that is missing, and lists who has it.
#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + JsonSchema> Recorded for T {}

/// What can be read from outside and described to whoever is asked: the answer to a gate, a message.
///
/// ```
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Approval {
///     approved: bool,
/// }
///
/// fn is_received<T: loom_runtime::Received>() {}
/// is_received::<Approval>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot come from outside: it needs `Deserialize` and `JsonSchema`",
    label = "nobody could be told what to send",
    note = "help: derive what it lacks: `#[derive(serde::Deserialize, schemars::JsonSchema)]`"
)]
pub trait Received: DeserializeOwned + JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Received for T {}
