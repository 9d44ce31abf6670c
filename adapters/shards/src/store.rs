//! The fleet as a store: every port, each by way of the database that has the execution, or of all.
//! Not the finding of it, the choice of a claim, nor branches: those have their files.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures_util::future::{join_all, select_all};
use loom_runtime::{
    ExecutionId, Timestamp,
    kernel::{Record, Snapshot},
    ports::{
        Append, BranchRegistry, Caveat, ClaimRequest, Claimed, Created, EventStore, ExecutionRow, GateIndex,
        GateRow, Inbox, InboxId, InboxItem, LeaseStore, ListFilter, NewExecution, NewItem, Posted, Removal,
        Renewal, Slot, SnapshotStore, StoreError, WorkerId,
    },
};

use crate::{Shards, outbox, reserved};

/// How many rows are asked for at a time when there is no limit.
const PAGE: usize = 1_000;

#[async_trait]
impl EventStore for Shards {
    async fn create(&self, new: NewExecution) -> Result<Created, StoreError> {
        if reserved::is_taken(&new.id) {
            let said =
                format!("`{}` is an id that a fleet of databases keeps for itself: choose another", new.id);
            return Err(StoreError::Corrupt(said));
        }
        let id = new.id.clone();
        self.write(id.as_str(), |store| store.create(new.clone())).await
    }

    async fn append(&self, append: &Append) -> Result<(), StoreError> {
        let (stored, leaves) = outbox::as_stored(append)?;
        let id = append.execution.as_str();
        self.write(id, |store| {
            let stored = stored.clone();
            Box::pin(async move { store.append(&stored).await })
        })
        .await?;
        if leaves && let Err(error) = self.deliver(Slot::of(id)).await {
            tracing::warn!(execution = id, %error, "what it has told others is delivered later");
        }
        Ok(())
    }

    async fn read(
        &self,
        execution: &ExecutionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let read = self.read_of(execution.as_str(), |store| store.read(execution, from, limit));
        read.await
    }

    async fn get(&self, execution: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        self.read_of(execution.as_str(), |store| store.get(execution)).await
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
        let wanted = if filter.limit == 0 { usize::MAX } else { filter.limit };
        let mut page = ListFilter { limit: wanted.min(PAGE), ..filter.clone() };
        let mut rows = Vec::new();
        loop {
            let (found, map) = self
                .everywhere(|store| {
                    let page = page.clone();
                    Box::pin(async move { store.list(&page).await })
                })
                .await?;
            // Up to where every database has told all that it has, the order is known.
            let full = |rows: &&Vec<ExecutionRow>| rows.len() == page.limit;
            let until =
                found.iter().filter(full).filter_map(|rows| rows.last()).map(|row| row.id.clone()).min();
            let mut ordered = BTreeMap::new();
            for (n, found) in found.into_iter().enumerate() {
                let here = found.into_iter().filter(|row| map.has(n, row.id.as_str()));
                ordered.extend(here.map(|row| (row.id.clone(), row)));
            }
            let known =
                ordered.into_values().filter(|row| until.as_ref().is_none_or(|until| row.id <= *until));
            rows.extend(known.take(wanted - rows.len()));
            match until {
                Some(until) if rows.len() < wanted => page.after = Some(until),
                _ => return Ok(rows),
            }
        }
    }

    async fn remove(&self, removal: &Removal) -> Result<bool, StoreError> {
        let points_to = |set: &loom_runtime::ports::BranchRow| set.execution == removal.execution;
        if removal.status.is_terminal() && self.branches().await?.iter().any(points_to) {
            return Ok(false);
        }
        self.touch(removal.execution.as_str(), |store| store.remove(removal)).await
    }

    async fn caveats(&self) -> Result<Vec<Caveat>, StoreError> {
        // Each is a part, and together they are none.
        let mut all = Vec::new();
        for member in &self.0.members {
            all.extend(member.store.caveats().await?.into_iter().filter_map(|caveat| match caveat {
                Caveat::ReadOnly { why } => {
                    Some(Caveat::ReadOnly { why: format!("`{}`: {why}", member.name) })
                }
                _ => None,
            }));
        }
        Ok(all)
    }
}

#[async_trait]
impl LeaseStore for Shards {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        self.claim_any(request).await
    }

    async fn renew(
        &self,
        worker: &WorkerId,
        until: Timestamp,
    ) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        let Renewal { held, missing } = self.renew_what_answers(worker, until).await?;
        missing.map_or(Ok(held), Err)
    }

    async fn renew_what_answers(&self, worker: &WorkerId, until: Timestamp) -> Result<Renewal, StoreError> {
        self.renew_any(worker, until).await
    }

    async fn release(&self, execution: &ExecutionId, fence: u64) -> Result<(), StoreError> {
        self.touch(execution.as_str(), |store| store.release(execution, fence)).await
    }

    async fn inbox_waiting(&self, worker: &WorkerId) -> Result<Vec<ExecutionId>, StoreError> {
        // Asked all the time, and again soon: what moves meanwhile is found then.
        let waiting = self.0.members.iter().map(|member| member.store.inbox_waiting(worker));
        let (mut all, mut told, mut failed) = (Vec::new(), false, None);
        for answer in join_all(waiting).await {
            match answer {
                Ok(waiting) => (told, all) = (true, [all, waiting].concat()),
                Err(error) => failed = Some(error),
            }
        }
        // One that is away has nothing to tell, and must not keep the others from telling.
        if let Some(error) = failed.filter(|_| !told) {
            return Err(error);
        }
        all.sort_unstable();
        all.dedup();
        Ok(all)
    }

    async fn news(&self) {
        select_all(self.0.members.iter().map(|member| member.store.news())).await;
    }
}

#[async_trait]
impl Inbox for Shards {
    async fn post(&self, mut item: NewItem) -> Result<Posted, StoreError> {
        // One without a key gets one, so that what a move interrupts can be asked again.
        let own = item.key.is_none();
        item.key.get_or_insert_with(|| outbox::own_key(&uuid::Uuid::now_v7().to_string()));
        let id = item.execution.clone();
        let posted = self.write(id.as_str(), |store| store.post(item.clone())).await?;
        Ok(match posted {
            // It is in since the first attempt, whose answer was lost: at a position that nobody asks for.
            Posted::Duplicate { .. } if own => Posted::Accepted(0),
            posted => posted,
        })
    }

    async fn pending(&self, execution: &ExecutionId, after: InboxId) -> Result<Vec<InboxItem>, StoreError> {
        let items = self.read_of(execution.as_str(), |store| store.pending(execution, after)).await?;
        let show = |item: InboxItem| InboxItem { key: outbox::given_key(item.key), ..item };
        Ok(items.into_iter().map(show).collect())
    }

    async fn prune_early(&self, before: Timestamp, rehearsal: bool) -> Result<u64, StoreError> {
        let mut sum = 0;
        for member in &self.0.members {
            sum += member.store.prune_early(before, rehearsal).await?;
        }
        Ok(sum)
    }
}

#[async_trait]
impl GateIndex for Shards {
    async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError> {
        if let Some(id) = execution {
            return self.read_of(id.as_str(), |store| store.gates(execution)).await;
        }
        let (found, map) = self.everywhere(|store| store.gates(None)).await?;
        let mut all = Vec::new();
        for (n, gates) in found.into_iter().enumerate() {
            all.extend(gates.into_iter().filter(|gate| map.has(n, gate.execution.as_str())));
        }
        // Stable: those of one execution stay in order of opening.
        all.sort_by(|a, b| a.execution.cmp(&b.execution));
        Ok(all)
    }
}

#[async_trait]
impl SnapshotStore for Shards {
    async fn put_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.touch(snapshot.execution.as_str(), |store| store.put_snapshot(snapshot)).await
    }

    async fn newest_snapshot(
        &self,
        execution: &ExecutionId,
        of: &str,
        at_most: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        let newest = self.read_of(execution.as_str(), |store| store.newest_snapshot(execution, of, at_most));
        newest.await
    }

    async fn mark_snapshot_bad(
        &self,
        execution: &ExecutionId,
        of: &str,
        sequence: u64,
    ) -> Result<(), StoreError> {
        self.touch(execution.as_str(), |store| store.mark_snapshot_bad(execution, of, sequence)).await
    }

    async fn prune_snapshots(
        &self,
        execution: &ExecutionId,
        of: &str,
        keep: usize,
    ) -> Result<(), StoreError> {
        self.touch(execution.as_str(), |store| store.prune_snapshots(execution, of, keep)).await
    }
}
