//! Branches: every setting of one is an early item under the slot of its name, and the last is what it is.
//! Not the rule of a change: that is [`SetBranch::on`].

use std::collections::BTreeMap;

use async_trait::async_trait;
use loom_runtime::ports::{
    BranchRegistry, BranchRow, EventStore, InboxItem, NewItem, Posted, SetBranch, Slot, StoreError,
};

use crate::{Shards, reserved};

/// The kind of such an item.
const SET: &str = "branch";

/// The setting that makes the row what it is. Its key is used once: so of two who set a branch at once one is told.
fn setting(row: &BranchRow) -> Result<NewItem, StoreError> {
    let payload = serde_json::to_string(row).map_err(|error| StoreError::Corrupt(error.to_string()))?;
    Ok(NewItem {
        execution: reserved::branches(Slot::of(&row.name)).clone(),
        key: Some(format!("{}#{}", row.version, row.name)),
        kind: SET.into(),
        payload,
        at: row.set_at,
        early: true,
    })
}

/// The newest setting of each branch.
fn newest(items: impl IntoIterator<Item = InboxItem>) -> Result<BTreeMap<String, BranchRow>, StoreError> {
    let mut rows: BTreeMap<String, BranchRow> = BTreeMap::new();
    for item in items {
        let damaged = |error| StoreError::Corrupt(format!("the setting {} of a branch: {error}", item.id));
        let row: BranchRow = serde_json::from_str(&item.payload).map_err(damaged)?;
        if rows.get(&row.name).is_none_or(|known| known.version < row.version) {
            rows.insert(row.name.clone(), row);
        }
    }
    Ok(rows)
}

/// Takes over what a database had of branches before it was a member.
pub(crate) async fn adopt(shards: &Shards) -> Result<(), StoreError> {
    for member in &shards.0.members {
        for row in member.store.branches().await? {
            let item = setting(&row)?;
            shards.write(item.execution.clone().as_str(), |store| store.post(item.clone())).await?;
        }
    }
    Ok(())
}

#[async_trait]
impl BranchRegistry for Shards {
    async fn branch(&self, name: &str) -> Result<Option<BranchRow>, StoreError> {
        let of = reserved::branches(Slot::of(name)).as_str();
        let items = self.read_of(of, |store| store.early(of)).await?;
        Ok(newest(items.into_iter().map(|(_, item)| item))?.remove(name))
    }

    async fn branches(&self) -> Result<Vec<BranchRow>, StoreError> {
        let (found, map) = self.everywhere(|store| store.early(reserved::BRANCHES)).await?;
        let items = found.into_iter().enumerate().flat_map(|(n, items)| {
            let map = &map;
            items.into_iter().filter(move |(id, _)| map.has(n, id.as_str())).map(|(_, item)| item)
        });
        Ok(newest(items)?.into_values().collect())
    }

    async fn set_branch(&self, set: &SetBranch) -> Result<BranchRow, StoreError> {
        if self.get(&set.execution).await?.is_none() {
            return Err(StoreError::Unknown(set.execution.clone()));
        }
        loop {
            let (row, fresh) = set.on(self.branch(&set.name).await?.as_ref())?;
            if !fresh {
                return Ok(row);
            }
            let item = setting(&row)?;
            let post = self.write(item.execution.as_str(), |store| store.post(item.clone()));
            match post.await? {
                Posted::Accepted(_) | Posted::Duplicate { same: true } => return Ok(row),
                Posted::Duplicate { same: false } => {} // somebody else was faster: what holds now?
            }
        }
    }
}
