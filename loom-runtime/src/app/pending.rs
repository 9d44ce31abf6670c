//! What was said to an execution that its owner has not taken in yet: the inbox, with types.
//! Not how it is said: that is `answer.rs`; and not the log, which has what was taken in.

use kernel::{
    ExecutionId, FrameId, Message, Payload, Timestamp,
    machine::{Input, Verdict},
};

use super::App;
use crate::{inbox_item::Item, ports::StoreError};

/// Something that is in an execution's inbox, and not in its log.
#[derive(Clone, Debug, PartialEq)]
pub struct Pending {
    /// When it was said.
    pub at: Timestamp,
    /// What was said.
    pub said: Said,
}

/// What was said to an execution.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Said {
    /// An answer to a gate, that is open or will be.
    Answer {
        /// The gate's frame.
        frame: FrameId,
        /// The answer.
        answer: Payload,
        /// By whom.
        by: String,
    },
    /// That it is to be cancelled.
    Cancel {
        /// Why.
        reason: String,
        /// By whom.
        by: String,
    },
    /// How a step ended that is in doubt.
    Verdict {
        /// The step's frame.
        frame: FrameId,
        /// The verdict.
        verdict: Verdict,
        /// By whom.
        by: String,
    },
    /// A message, from outside or from another execution.
    Message {
        /// Its topic.
        topic: String,
        /// What it says.
        body: Payload,
        /// By whom.
        by: String,
        /// Whether it is an update, whose sender waits for a reply.
        expects_reply: bool,
    },
    /// That it is to be tried again, though it is parked.
    Retry,
}

impl App {
    /// What was said to an execution and is not in its log yet, in order. What a newer build said in its own words is
    /// left out. Nothing for an execution that there is not.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let app = loom_runtime::App::builder().build().unwrap();
    /// assert!(app.pending(&"order-7".parse().unwrap()).await.unwrap().is_empty());
    /// # });
    /// ```
    ///
    /// # Errors
    /// The store fails.
    pub async fn pending(&self, execution: &ExecutionId) -> Result<Vec<Pending>, StoreError> {
        let items = self.engine.store.pending(execution, 0).await?;
        let typed = items.iter().filter_map(|item| {
            let said = match Item::read(item)? {
                Input::Answer { frame, answer, by, .. } => Said::Answer { frame, answer, by },
                Input::Cancel { reason, by, .. } => Said::Cancel { reason, by },
                Input::Verdict { frame, verdict, by, .. } => Said::Verdict { frame, verdict, by },
                Input::Message { message: Message { topic, body, by, reply_to }, .. } => {
                    Said::Message { topic, body, by, expects_reply: reply_to.is_some() }
                }
                Input::Noted { .. } => Said::Retry,
                _ => return None,
            };
            Some(Pending { at: item.at, said })
        });
        Ok(typed.collect())
    }
}
