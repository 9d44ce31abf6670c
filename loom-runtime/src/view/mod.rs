//! What programs read of executions: the JSON shapes of the command line's `--json` and of the HTTP service, and how
//! they are put together. Fields are added, never renamed or removed.
//! Not the log's own formats, which payloads and meta are in; and not words for people.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! # let app = loom_runtime::App::builder().build().unwrap();
//! use loom_runtime::view::{Execution, Look, Standing};
//! # async fn of(app: &loom_runtime::App) -> Result<String, loom_runtime::ports::StoreError> {
//! let id = "order-7".parse().expect("an id");
//! let (row, look) = (app.row(&id).await?, Look::at(app, &id).await?);
//! let standing = Standing::of(Execution::of(&row, app.registry()), &look);
//! Ok(serde_json::to_string(&standing).expect("views are JSON"))
//! # }
//! # assert!(of(&app).await.is_err(), "there is no such execution");
//! # });
//! ```

mod branch;
mod event;
mod execution;
mod folded;
mod gate;
mod instant;
mod lane;
mod look;
mod pending;
mod received;
mod wait;

pub use branch::{Branch, Branches};
pub use event::{Event, Stored};
pub use execution::{Execution, Executions, NamedFrame, Standing, Whole, waited_code};
pub use folded::{Folded, in_order};
pub use gate::{Gate, Gates, unanswered};
pub use lane::{Lane, Rate};
pub use look::{Look, pending};
pub use pending::Pending;
pub use received::Received;
pub use wait::Wait;
