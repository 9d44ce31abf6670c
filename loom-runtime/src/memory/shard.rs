//! The in-memory store as one of several: places of slots, parcels, and what a claim would find.
//! Not the choice where a slot is.

use async_trait::async_trait;
use kernel::{ExecutionId, Timestamp};

use super::{Execution, Memory, Posting, Tables};
use crate::ports::{
    ClaimRequest, Due, InboxId, InboxItem, LaneUse, Membership, PackedExecution, PackedItem, PackedSnapshot,
    Parcel, Place, PlaceChange, SLOTS, Shard, Slot, Standing, StoreError,
};

#[async_trait]
impl Shard for Memory {
    async fn membership(&self) -> Result<Option<Membership>, StoreError> {
        Ok(self.tables().member.clone())
    }

    async fn join(
        &self,
        member: &Membership,
        founds: bool,
        above: InboxId,
    ) -> Result<Membership, StoreError> {
        let mut tables = self.tables();
        if tables.member.is_none() {
            tables.inbox = tables.inbox.max(above);
            let standing = if founds { Standing::Here } else { Standing::Away };
            tables.places = vec![Place { standing, ..Place::default() }; usize::from(SLOTS)];
        }
        Ok(tables.member.get_or_insert_with(|| member.clone()).clone())
    }

    async fn newest(&self) -> Result<InboxId, StoreError> {
        Ok(self.tables().inbox)
    }

    async fn places(&self) -> Result<Vec<Place>, StoreError> {
        Ok(self.tables().places.clone())
    }

    async fn place(&self, slot: Slot) -> Result<Option<Place>, StoreError> {
        Ok(self.tables().places.get(usize::from(slot.number())).cloned())
    }

    async fn set_places(&self, changes: &[PlaceChange]) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        let at = |slot: &Slot| usize::from(slot.number());
        if !changes.iter().all(|(slot, from, _)| tables.places.get(at(slot)) == Some(from)) {
            return Ok(changes.iter().all(|(slot, _, to)| tables.places.get(at(slot)) == Some(to)));
        }
        changes.iter().for_each(|(slot, _, to)| tables.places[at(slot)] = to.clone());
        Ok(true)
    }

    async fn due(&self, request: &ClaimRequest) -> Result<Vec<Due>, StoreError> {
        let tables = self.tables();
        let found = tables.choose(request).into_iter().filter_map(|(_, id)| tables.executions.get(&id));
        Ok(found.map(|found| Due { row: found.row.clone(), begins: found.fence == 0 }).collect())
    }

    async fn lanes(
        &self,
        asked: &[(Option<String>, i64)],
        now: Timestamp,
    ) -> Result<Vec<LaneUse>, StoreError> {
        let tables = self.tables();
        let used = |(lane, within): &(Option<String>, i64)| {
            let held = tables.executions.values().filter(|Execution { row, .. }| {
                row.turn.lane.as_ref().map(|lane| &lane.key) == lane.as_ref()
                    && row.lease.as_ref().is_some_and(|lease| lease.until >= now)
                    && tables.is_seen(&row.id)
            });
            let since = now.as_micros().saturating_sub(*within);
            let begun = lane.as_ref().and_then(|lane| tables.begins.get(lane)).into_iter().flatten();
            let begun = begun.filter(|at| at.as_micros() > since);
            LaneUse { held: held.count() as u64, begun: begun.count() as u64 }
        };
        Ok(asked.iter().map(used).collect())
    }

    async fn pack(
        &self,
        slots: &[Slot],
        after: Option<&ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Parcel>, StoreError> {
        let tables = self.tables();
        let mut ids: Vec<&ExecutionId> = tables.executions.keys().chain(tables.early.keys()).collect();
        ids.retain(|id| after.is_none_or(|after| *id > after) && slots.contains(&Slot::of(id.as_str())));
        ids.sort_unstable();
        Ok(ids.into_iter().take(limit).map(|id| tables.pack(id)).collect())
    }

    async fn unpack(&self, parcels: &[Parcel], mover: &str) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        let comes = |parcel: &Parcel| {
            let place = &tables.places[usize::from(Slot::of(parcel.id.as_str()).number())];
            place.standing == Standing::Coming && place.mover == mover
        };
        if tables.places.is_empty() || !parcels.iter().all(comes) {
            return Ok(false);
        }
        for parcel in parcels {
            tables.forget(&parcel.id);
            tables.unpack(parcel.clone());
        }
        Ok(true)
    }

    async fn clear(&self, slots: &[Slot], mover: &str) -> Result<bool, StoreError> {
        let mut tables = self.tables();
        let free = |slot: &Slot| match tables.places.get(usize::from(slot.number())) {
            Some(place) if place.standing == Standing::Away => true,
            Some(place) => place.standing == Standing::Coming && place.mover == mover,
            None => false,
        };
        if !slots.iter().all(free) {
            return Ok(false);
        }
        let ids = tables.executions.keys().chain(tables.early.keys());
        let ids: Vec<_> = ids.filter(|id| slots.contains(&Slot::of(id.as_str()))).cloned().collect();
        ids.iter().for_each(|id| tables.forget(id));
        Ok(true)
    }

    async fn early(&self, prefix: &str) -> Result<Vec<(ExecutionId, InboxItem)>, StoreError> {
        let tables = self.tables();
        let early = tables.early.iter().filter(|(id, _)| id.as_str().starts_with(prefix));
        let mut found: Vec<_> = early
            .flat_map(|(id, items)| items.iter().map(|posting| (id.clone(), posting.item.clone())))
            .collect();
        found.sort_by_key(|(_, item)| item.id);
        Ok(found)
    }

    async fn forget_early(&self, of: &ExecutionId, items: &[InboxId]) -> Result<(), StoreError> {
        let mut tables = self.tables();
        if let Some(early) = tables.early.get_mut(of) {
            early.retain(|posting| !items.contains(&posting.item.id));
            if early.is_empty() {
                tables.early.remove(of);
            }
        }
        Ok(())
    }
}

impl Tables {
    /// Whether an execution is in use: here, or as it was frozen.
    fn is_seen(&self, id: &ExecutionId) -> bool {
        let place = self.places.get(usize::from(Slot::of(id.as_str()).number()));
        place.is_none_or(|place| matches!(place.standing, Standing::Here | Standing::Leaving))
    }

    fn pack(&self, id: &ExecutionId) -> Parcel {
        let execution = self.executions.get(id);
        let items = execution.map_or_else(|| self.early.get(id), |found| Some(&found.inbox));
        let items = items.into_iter().flatten().map(|posting| PackedItem {
            item: posting.item.clone(),
            content: posting.content,
            consumed: posting.consumed,
        });
        let snapshots = self.snapshots.iter().filter(|((of, _), _)| of == id).flat_map(|((_, of), kept)| {
            kept.iter().map(|(sequence, body)| PackedSnapshot {
                of: of.clone(),
                sequence: *sequence,
                body: body.clone(),
            })
        });
        Parcel {
            id: id.clone(),
            execution: execution.map(|found| PackedExecution {
                row: found.row.clone(),
                fence: found.fence,
                seen: found.seen,
                first: found.first,
                last: found.last,
                records: found.records.clone(),
                gates: found.gates.clone(),
                snapshots: snapshots.collect(),
                unfit: found.unfit.iter().copied().collect(),
            }),
            items: items.collect(),
            newest: self.inbox,
        }
    }

    fn unpack(&mut self, Parcel { id, execution, items, newest }: Parcel) {
        self.inbox = self.inbox.max(newest);
        let items = items.into_iter().map(|PackedItem { item, content, consumed }| Posting {
            item,
            content,
            consumed,
        });
        let inbox: Vec<Posting> = items.collect();
        let Some(packed) = execution else {
            self.early.insert(id, inbox);
            return;
        };
        for PackedSnapshot { of, sequence, body } in packed.snapshots {
            self.snapshots.entry((id.clone(), of)).or_default().insert(sequence, body);
        }
        let execution = Execution {
            row: packed.row,
            fence: packed.fence,
            seen: packed.seen,
            records: packed.records,
            first: packed.first,
            last: packed.last,
            inbox,
            gates: packed.gates,
            unfit: packed.unfit.into_iter().collect(),
        };
        self.executions.insert(id, execution);
    }

    fn forget(&mut self, id: &ExecutionId) {
        self.executions.remove(id);
        self.early.remove(id);
        self.snapshots.retain(|(of, _), _| of != id);
        self.branches.retain(|_, branch| branch.execution != *id);
    }
}
