//! What executions tell those of other slots: kept with the append, delivered after it.
//! Not messages from outside, which go where they belong at once.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use loom_runtime::{
    ExecutionId,
    ports::{Append, Inbox, InboxId, NewItem, Slot, StoreError},
};

use crate::{Shards, reserved};

/// The kind of an item in an outbox.
const POST: &str = "post";

/// What the keys begin with that items get which were given none: by them a second delivery is recognised.
const OWN_KEY: char = '\u{1}';

/// A key for an item without one.
pub(crate) fn own_key(of: &str) -> String {
    format!("{OWN_KEY}{of}")
}

/// The key that an item was given.
pub(crate) fn given_key(key: Option<String>) -> Option<String> {
    key.filter(|key| !key.starts_with(OWN_KEY))
}

/// An append as its database takes it, and whether it leaves something to deliver. What it says depends on the append alone,
/// not on where anything is, so that a retry says the same.
pub(crate) fn as_stored(append: &Append) -> Result<(Append, bool), StoreError> {
    let slot = Slot::of(append.execution.as_str());
    let (mut stored, mut leaves) = (append.clone(), false);
    for (n, post) in stored.posts.iter_mut().enumerate() {
        if Slot::of(post.execution.as_str()) == slot {
            continue;
        }
        leaves = true;
        let mut item = post.clone();
        item.key.get_or_insert_with(|| own_key(&format!("{}/{n}", append.batch)));
        let payload = serde_json::to_string(&item).map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let (execution, at) = (reserved::outbox(slot).clone(), item.at);
        *post = NewItem { execution, key: None, kind: POST.into(), payload, at, early: true };
    }
    Ok((stored, leaves))
}

impl Shards {
    /// Delivers what a slot's outbox has, to each target in order. What cannot be delivered now stays, and so does what comes
    /// after it for the same target.
    pub(crate) async fn deliver(&self, slot: Slot) -> Result<(), StoreError> {
        let _one = self.0.outboxes[usize::from(slot.number())].lock().await;
        let outbox = reserved::outbox(slot);
        let items = self.read_of(outbox.as_str(), |store| store.early(outbox.as_str())).await?;
        let mut targets: BTreeMap<ExecutionId, Vec<(InboxId, NewItem)>> = BTreeMap::new();
        for (_, item) in items {
            let damaged = |error| StoreError::Corrupt(format!("item {} of `{outbox}`: {error}", item.id));
            let post: NewItem = serde_json::from_str(&item.payload).map_err(damaged)?;
            targets.entry(post.execution.clone()).or_default().push((item.id, post));
        }
        let delivered = join_all(targets.into_values().map(|items| self.deliver_to_one(items))).await;
        let (mut done, mut failed) = (Vec::new(), None);
        for (ids, error) in delivered {
            done.extend(ids);
            failed = failed.or(error);
        }
        if !done.is_empty() {
            self.touch(outbox.as_str(), |store| {
                let done = done.clone();
                Box::pin(async move { store.forget_early(outbox, &done).await })
            })
            .await?;
        }
        failed.map_or(Ok(()), Err)
    }

    async fn deliver_to_one(&self, items: Vec<(InboxId, NewItem)>) -> (Vec<InboxId>, Option<StoreError>) {
        let mut done = Vec::with_capacity(items.len());
        for (id, item) in items {
            match self.post(item).await {
                // What nobody takes is dropped: that is the contract.
                Ok(_) | Err(StoreError::Unknown(_) | StoreError::Terminal { .. }) => done.push(id),
                Err(error) => return (done, Some(error)),
            }
        }
        (done, None)
    }

    /// Delivers what whoever has put it into an outbox did not come to deliver.
    pub(crate) async fn sweep(&self) -> Result<(), StoreError> {
        let (found, map) = self.everywhere(|store| store.early(reserved::OUTBOXES)).await?;
        let left = found.iter().enumerate().flat_map(|(n, items)| items.iter().map(move |(id, _)| (n, id)));
        let left = left.filter(|(n, id)| map.has(*n, id.as_str()));
        let mut slots: Vec<Slot> = left.map(|(_, id)| Slot::of(id.as_str())).collect();
        slots.dedup();
        for slot in slots {
            self.deliver(slot).await?;
        }
        Ok(())
    }
}
